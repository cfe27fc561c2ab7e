"""First steps: `init`, `doctor` and `config check/show/schema`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pitstop.cli.shell import ConfigFile, DryRun, JsonFlag, Shell, guarded

_SIGNS = {"ok": "✓", "warning": "!", "failed": "✗"}


def register(app: typer.Typer) -> None:
    app.command("init")(init)
    app.command("doctor")(doctor)
    config = typer.Typer(help="Check, show and describe pitstop.toml.", no_args_is_help=True)
    config.command("check")(check)
    config.command("show")(show)
    config.command("schema")(schema)
    app.add_typer(config, name="config")


@guarded
def init(
    path: Annotated[Path | None, typer.Argument(help="Where to write it; ./pitstop.toml when left out.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    config_file: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The same as PATH.", show_default=False)
    ] = None,
) -> None:
    """Write a commented pitstop.toml to start from."""
    shell, path = Shell(json_output), path or config_file or Path("pitstop.toml")
    _write_example(path, force=force, dry_run=dry_run)
    shell.document({"path": str(path), "dry_run": dry_run})
    if dry_run:
        shell.say(f"would write {path}")
    else:
        shell.say(f"Wrote {path}. Edit it, then: pitstop config check, pitstop doctor.")


def _write_example(path: Path, *, force: bool, dry_run: bool) -> None:
    from importlib.resources import files

    from pitstop.core.durable import write_durably
    from pitstop.core.errors import UsageError

    if path.exists() and not force:
        raise UsageError(f"{path} exists already.", hint="Edit it, choose another name, or replace it with --force.")
    example = files("pitstop.core.config").joinpath("example.toml").read_text("utf-8")
    if dry_run:
        return
    try:
        write_durably(path, example.encode(), mode=0o644)  # whole or not at all: --force must not cost a file
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", hint="Choose another folder.") from error


@guarded
def doctor(json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
    """Check what a trial will need, each finding with its remedy."""
    import os

    from pitstop.cli.ledger import opened_ledger
    from pitstop.client.loop import run
    from pitstop.core.errors import ExitCode
    from pitstop.services.doctor import Finding, Health, examine

    shell = Shell(json_output, config_file)
    config, home = shell.config_or_empty(), shell.home()

    async def examined() -> list[Finding]:
        return [finding async for finding in examine(config, home, os.environ, lambda: opened_ledger(shell))]

    findings = run(examined())
    shell.document({"findings": findings})
    for finding in findings:
        shell.say(f"{_SIGNS[finding.health]} {finding.check}: {finding.found}")
        if finding.remedy:
            shell.say(f"    {finding.remedy}")
    failed = any(finding.health is Health.FAILED for finding in findings)
    shell.finish(ExitCode.WORSE if failed else ExitCode.DONE)


@guarded
def check(json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
    """Say whether the configuration can work, and if not, where and why."""
    from pitstop.rulers.quality.task_set import own_set

    shell = Shell(json_output, config_file)
    config = shell.config()
    for quality in (config.quality, *(trial.quality for trial in config.trial.values())):
        if quality is not None and quality.tasks:
            own_set(quality)
    engines, trials = list(config.engine), list(config.trial)
    shell.document({"path": str(shell.config_path), "ok": True, "engines": engines, "trials": trials})
    shell.say(f"{shell.config_path} is fine: {len(engines)} engine(s), {len(trials)} trial(s).")


@guarded
def show(json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
    """Print the configuration as it is understood, in JSON: defaults filled in, secrets left out."""
    from pitstop.core.config.masked import without_secrets

    shell = Shell(json_output, config_file)
    _print(without_secrets(shell.config()))


@guarded
def schema(_json_output: JsonFlag = False, _config_file: ConfigFile = None) -> None:
    """Print the JSON Schema of pitstop.toml; no file is read."""
    from pitstop.core.config.schema import json_schema

    _print(json_schema())


def _print(document: Any) -> None:
    """JSON on stdout, with --json or without, in UTF-8 whatever the locale."""
    from pitstop.core.documents import encode

    sys.stdout.buffer.write(encode(document))
