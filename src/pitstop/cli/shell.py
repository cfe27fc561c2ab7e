"""What every command shares: options, where words go, and how an error becomes a sentence and an exit code.

A command module has `register(app)`, imports only the standard library, typer and this module at its top, and fetches
the rest when it runs, so that `pitstop --help` stays quick. A command looks like this:

    def register(app: typer.Typer) -> None:
        app.command("verb")(verb)

    @guarded
    def verb(name: str, json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
        \"\"\"One line of help.\"\"\"
        shell = Shell(json_output, config_file)
        config = shell.config()
        ...
        shell.document(document)      # stdout, with --json only
        shell.say("words for people") # stdout, or stderr under --json
        shell.finish(ExitCode.INCONCLUSIVE)

Words that are not the result (progress, warnings) go to stderr always: `shell.note(...)`, `shell.progress()`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

    from pitstop.core.config.schema import Config
    from pitstop.core.errors import ExitCode
    from pitstop.core.home import Home

JsonFlag = Annotated[bool, typer.Option("--json", help="Print the document alone on stdout, all else on stderr.")]
ConfigFile = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Read this file instead of ./pitstop.toml.", show_default=False),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]

P = ParamSpec("P")
R = TypeVar("R")


class Shell:
    """One invocation of one command."""

    def __init__(self, json_output: bool = False, config_file: str | None = None) -> None:
        self.json_output = json_output
        self._config_file = config_file

    @property
    def config_path(self) -> Path:
        """The file that `config` reads, whether it exists or not."""
        from pitstop.core.config.load import find

        return find(self._config_file, os.environ, Path.cwd())

    def config(self) -> Config:
        """The configuration; ConfigError when there is none or it is wrong."""
        from pitstop.core.config.load import load

        return load(self.config_path)

    def config_or_empty(self) -> Config:
        """The configuration where there is one; an empty one when no file was named and none exists."""
        from pitstop.core.config.schema import Config

        return self.config() if self._config_file or self.config_path.exists() else Config()

    def home(self) -> Home:
        """The state folder, created and known to be writable."""
        from pitstop.core.home import Home

        return Home.from_environment(os.environ).prepared()

    @property
    def on_terminal(self) -> bool:
        """Whether `say` speaks to a terminal, whose width matters; a pipe gets text of any width."""
        return (sys.stderr if self.json_output else sys.stdout).isatty()

    def document(self, document: Any) -> None:
        """Print the document as JSON, if that was asked for."""
        if self.json_output:
            from pitstop.core.documents import encode

            sys.stdout.buffer.write(encode(document))
            sys.stdout.flush()

    def say(self, *renderables: RenderableType) -> None:
        """The result in words and tables: stdout, or stderr when stdout belongs to the document."""
        console = self.console(stderr=self.json_output)
        for renderable in renderables:
            console.print(renderable)

    def note(self, text: str) -> None:
        """A word beside the result, to stderr."""
        self.console(stderr=True).print(text, markup=False, highlight=False)

    def console(self, *, stderr: bool = False) -> Console:
        from rich.console import Console

        return Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())

    @contextlib.contextmanager
    def progress(self) -> Iterator[Progress]:
        """Progress bars on stderr, with elapsed time; plain lines where stderr is no terminal."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console(stderr=True),
            transient=True,
        ) as progress:
            yield progress

    def finish(self, code: ExitCode) -> None:
        """End the command with a documented exit code."""
        raise typer.Exit(int(code))


def guarded(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a PitstopError into its sentence on stderr and its exit code."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from pitstop.core.errors import ExitCode, PitstopError

        try:
            return function(*args, **kwargs)
        except PitstopError as error:
            print_error(error.message, error.hint)
            raise typer.Exit(int(error.exit_code)) from error
        except KeyboardInterrupt as error:
            print_error("Interrupted.", "")
            raise typer.Exit(int(ExitCode.INTERRUPTED)) from error

    return run


def print_error(message: str, hint: str) -> None:
    """The sentence on stderr, and below it what to do next."""
    lines = [f"pitstop: {message}", *([f"  -> {line}" for line in hint.splitlines()])]
    sys.stderr.write("\n".join(lines) + "\n")
