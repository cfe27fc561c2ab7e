"""`pitstop`: the table of commands."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated

import typer

from pitstop import __version__

# In the order of the manual. Each module has `register(app)`.
_ROOMS = (
    "demo",
    "setup",
    "engines",
    "bench",
    "compare",
    "trial",
    "report",
    "guard",
    "watch",
    "plan",
    "host",
    "gateway",
)

# EX_SOFTWARE of sysexits.h: a fault of pitstop's own, which no documented exit code may stand for.
_FAULT = 70

app = typer.Typer(
    name="pitstop",
    help=__doc__,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"pitstop {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Change the engine under a live LLM server: measured honestly, guarded, and always put back."""


for _room in _ROOMS:
    importlib.import_module(f"pitstop.cli.{_room}").register(app)


def main() -> None:
    """Run the command line; a reader that went away is no error, a fault of our own says so."""
    try:
        app()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception:  # noqa: BLE001 - the last stop: whatever arrives here is our own fault
        sys.stderr.write("pitstop: this is a defect in pitstop itself; please report the lines below.\n")
        import traceback

        traceback.print_exc()
        sys.exit(_FAULT)
