"""`python -m pitstop.cli`."""

from pitstop.cli.main import main

main()
