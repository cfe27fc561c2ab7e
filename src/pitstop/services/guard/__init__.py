"""The memory guard. The modules `lean_*` and what they import run in a process of their own of a few MiB."""
