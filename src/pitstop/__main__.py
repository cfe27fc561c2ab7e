"""`python -m pitstop`."""

from pitstop.cli.main import main

main()
