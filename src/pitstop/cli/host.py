"""`pitstop host`: check the box, render what keeps it up, install it and take it back."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.home import Home
    from pitstop.services.host.render import RenderedFile

_ROOT = typer.Option("--root", metavar="DIR", help="Install below this folder, as for an image of a disk.")


def register(app: typer.Typer) -> None:
    host = typer.Typer(help="Check the box, render what keeps it up, install it, take it back.", no_args_is_help=True)
    host.command("check")(check)
    host.command("render")(render)
    host.command("apply")(apply)
    host.command("undo")(undo)
    app.add_typer(host, name="host")


@guarded
def check(
    accept: Annotated[bool, typer.Option("--accept", help="Make the listeners of now the known ones.")] = False,
    procfs: Annotated[str, typer.Option(metavar="DIR", help="Read the kernel's files below this folder.")] = "/proc",
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Find what lets a box of models freeze, fail or stand open; each finding with remedy and undo (exit 1)."""
    import asyncio
    from dataclasses import asdict

    from pitstop.core.errors import ExitCode
    from pitstop.decisions.host import Severity, findings
    from pitstop.services.host.look import look, remember_ports

    shell = Shell(json_output, config_file)
    home = shell.home()
    box = asyncio.run(look(shell.config_or_empty(), home, procfs=Path(procfs)))
    found = findings(box)
    if accept or box.known_ports is None:
        remember_ports(home, box.ports)
    if not box.may_see_all:
        shell.note("Not run as root: holders of ports and firewall rules may be invisible.")
    shell.document({"schema": "pitstop.host", "version": 1, "findings": [asdict(one) for one in found]})
    for one in found:
        shell.say(
            f"{one.severity}: {one.text}\n  seen: {one.evidence}\n  remedy: {one.remedy}\n  undo: {one.undo}",
        )
    if not found:
        shell.say("Nothing was found.")
    if any(one.severity is Severity.PROBLEM for one in found):
        shell.finish(ExitCode.WORSE)


@guarded
def render(
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where to write the files.")],
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Write sysctl file, drop-ins and units into a folder, for a look."""
    from pitstop.services.host.apply import write_below

    shell = Shell(json_output, config_file)
    files = _rendered(shell)
    written = write_below(files, Path(out))
    shell.document({"files": [str(path) for path in written]})
    shell.say("\n".join(map(str, written)))


@guarded
def apply(
    root: Annotated[str, _ROOT] = "/",
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: ConfigFile = None,
) -> None:
    """Install what `render` shows, keeping an undo record; units are not enabled, the commands for it are shown."""
    from pitstop.services.host.apply import apply as install
    from pitstop.services.host.apply import changes

    shell = Shell(json_output, config_file)
    files = _rendered(shell)
    wanted = changes(files, Path(root))
    if not dry_run:
        install(wanted, Path(root), shell.home())
    shell.document(
        {
            "dry_run": dry_run,
            "changes": [{"path": one.file.path, "does": one.verb, "text": one.file.text} for one in wanted],
            "undo": "pitstop host undo",
        }
    )
    for one in wanted:
        shell.say(f"{'would ' if dry_run else ''}{one.verb} {one.file.path}")
    if not wanted:
        shell.say("Everything is as it should be.")
        return
    if not dry_run and root == "/":
        _activate(shell)
    shell.say(_next_steps(files))


@guarded
def undo(
    root: Annotated[str, _ROOT] = "/",
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    _config_file: ConfigFile = None,
) -> None:
    """Put back what was there before `apply`."""
    from pitstop.core.errors import ExitCode
    from pitstop.services.host.apply import undo as put_back

    shell = Shell(json_output)
    back, left = put_back(Path(root), shell.home(), dry_run=dry_run)
    shell.document({"dry_run": dry_run, "restored": back, "left": left})
    for path in back:
        shell.say(f"{'would put' if dry_run else 'put'} back {path}")
    for path in left:
        shell.say(f"left alone, because it was changed since: {path}")
    if back and not dry_run and root == "/":
        _activate(shell)
    if left:
        shell.finish(ExitCode.WORSE)


def _rendered(shell: Shell) -> list[RenderedFile]:
    from pitstop.services.host.render import Program, render

    config = shell.config()
    program = Program(
        pitstop=_program(),
        docker=shutil.which("docker") or "/usr/bin/docker",
        podman=shutil.which("podman") or "/usr/bin/podman",
        config=str(shell.config_path.resolve()),
        home=str(_home().root.resolve()),
    )
    return render(config, program)


def _program() -> str:
    """This very pitstop, as an absolute path."""
    beside = Path(sys.executable).parent / "pitstop"
    return str(beside) if beside.exists() else shutil.which("pitstop") or "/usr/local/bin/pitstop"


def _home() -> Home:
    from pitstop.core.home import Home

    return Home.from_environment(os.environ)


def _activate(shell: Shell) -> None:
    """Have the kernel and systemd read the files; a box without systemd reads them at its next start."""
    import subprocess

    from pitstop.decisions.host import SYSCTL_FILE

    for argv in (["sysctl", "--quiet", "--load", SYSCTL_FILE], ["systemctl", "daemon-reload"]):
        if argv[0] == "sysctl" and not Path(SYSCTL_FILE).exists():
            continue
        try:
            done: Any = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
            problem = "" if done.returncode == 0 else (done.stderr or done.stdout).strip()
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
        if problem:
            shell.note(f"{' '.join(argv)}: {problem}")


def _next_steps(files: list[RenderedFile]) -> str:
    units = [Path(one.path).name for one in files if one.applied and one.path.endswith(".service")]
    return (
        f"To start them now and at every boot:\n  systemctl enable --now {' '.join(units)}\n"
        f"To take everything back:\n  systemctl disable --now {' '.join(units)}\n  pitstop host undo"
    )
