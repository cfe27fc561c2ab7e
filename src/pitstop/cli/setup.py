"""First steps: `init`, `doctor` and `config check/show/schema`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pitstop.cli.shell import ConfigFile, JsonFlag, Shell, guarded

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
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("pitstop.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    json_output: JsonFlag = False,
) -> None:
    """Write a commented pitstop.toml to start from."""
    from importlib.resources import files

    from pitstop.core.errors import UsageError

    shell = Shell(json_output)
    if path.exists() and not force:
        raise UsageError(f"{path} exists already.", hint="Edit it, choose another name, or replace it with --force.")
    example = files("pitstop.core.config").joinpath("example.toml").read_text("utf-8")
    try:
        path.write_text(example, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", hint="Choose another folder.") from error
    shell.document({"path": str(path)})
    shell.say(f"Wrote {path}. Edit it, then: pitstop config check, pitstop doctor.")


@guarded
def doctor(json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
    """Check what a trial will need, each finding with its remedy."""
    import os

    from pitstop.cli.trial_stage import ledger_of
    from pitstop.client.loop import run
    from pitstop.core.errors import ExitCode
    from pitstop.services.doctor import Finding, Health, examine

    shell = Shell(json_output, config_file)
    config, home = shell.config_or_empty(), shell.home()

    async def examined() -> list[Finding]:
        return [finding async for finding in examine(config, home, os.environ, lambda: ledger_of(shell))]

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
    shell = Shell(json_output, config_file)
    config = shell.config()
    engines, trials = list(config.engine), list(config.trial)
    shell.document({"path": str(shell.config_path), "ok": True, "engines": engines, "trials": trials})
    shell.say(f"{shell.config_path} is fine: {len(engines)} engine(s), {len(trials)} trial(s).")


@guarded
def show(_json_output: JsonFlag = False, config_file: ConfigFile = None) -> None:
    """Print the configuration as it is understood, in JSON: defaults filled in, secrets left out."""
    from pitstop.core.config.masked import without_secrets
    from pitstop.core.documents import encode

    shell = Shell(config_file=config_file)
    sys.stdout.write(encode(without_secrets(shell.config())).decode())


@guarded
def schema(_json_output: JsonFlag = False) -> None:
    """Print the JSON Schema of pitstop.toml."""
    from pitstop.core.config.schema import json_schema
    from pitstop.core.documents import encode

    sys.stdout.write(encode(json_schema()).decode())
