"""`pitstop`: the table of commands."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from pitstop import __version__
from pitstop.cli.shell import print_error
from pitstop.cli.streams import steady_streams
from pitstop.core.stopping import heeded, interrupt

# In the order of the manual. Each module has `register(app)`, which gives the commands beside it.
ROOMS = {
    "demo": ("demo",),
    "setup": ("init", "doctor", "config"),
    "engines": ("up", "down", "restart", "status", "logs"),
    "bench": ("bench",),
    "compare": ("compare",),
    "trial": ("trial",),
    "report": ("report",),
    "guard": ("guard",),
    "watch": ("watch",),
    "plan": ("plan",),
    "host": ("host",),
    "incidents": ("incidents",),
    "pins": ("pins",),
    "patch": ("patch",),
    "gateway": ("gateway",),
}

# EX_SOFTWARE of sysexits.h: a fault of pitstop's own, which no documented exit code may stand for.
_FAULT = 70

# ExitCode.USAGE, whose module is not worth its import here: where the output goes is the person's choice.
_UNWRITTEN = 2


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"pitstop {__version__}\n")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Change the engine under a live LLM server: measured honestly, guarded, and always put back."""


def command_line(words: Sequence[str] = ()) -> typer.Typer:
    """The command line; of all its rooms only the one that `words` call on, because the rest cost a tenth of a second.

    Where the first word names no command, all of them: for help, and for the nearest name.
    """
    app = typer.Typer(
        name="pitstop",
        help=__doc__,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    called = [room for room, commands in ROOMS.items() if words and words[0] in commands]
    for room in called or ROOMS:
        importlib.import_module(f"pitstop.cli.{room}").register(app)
    return app


def main() -> None:
    """Run the command line; a reader that went away is no error, a fault of our own says so."""
    out, _err = steady_streams()
    for number in heeded():
        signal.signal(number, interrupt)
    code = _code()
    sys.stdout.flush()
    if out.lost:
        print_error(f"the output could not be written: {out.lost}.", "Make room there, or send it elsewhere.")
        code = code or _UNWRITTEN
    sys.exit(code)


def _code() -> int:
    try:
        command_line(sys.argv[1:])()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except Exception:  # noqa: BLE001 - the last stop: whatever arrives here is our own fault
        import traceback

        sys.stderr.write("pitstop: this is a defect in pitstop itself; please report the lines below.\n")
        traceback.print_exc()
        return _FAULT
    return 0
