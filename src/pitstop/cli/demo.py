"""`pitstop demo`: the main job, end to end, on the embedded engine."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pitstop.cli.shell import JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.documents import TrialDocument

_Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where configuration, state and report are written.")]
_Keep = Annotated[bool, typer.Option("--keep", help="Leave the demo's production running at the end.")]


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


@guarded
def demo(out: _Out = Path("demo-out"), keep: _Keep = False, json_output: JsonFlag = False) -> None:
    """Run a real trial of two variants on a real engine: two minutes, no GPU, no Docker, no account.

    Exits 0 whatever the verdict, if the job was done and production is back.
    """
    from pitstop.cli.trial import tell

    shell = _prepared(Shell(json_output), out.absolute())
    began = time.monotonic()
    _production_up(shell)
    document = _trial(shell)
    report = _report(document, out.absolute())
    tell(shell, document)
    shell.say(f"Report: {report} ({time.monotonic() - began:.0f} s). Configuration: {shell.config_path}.")
    if keep:
        shell.say(f"Production goes on running; stop it with: PITSTOP_HOME={out.absolute()}/state pitstop down")
    else:
        _production_down(shell)
    if document.state != "finished" or not document.production.restored:
        from pitstop.cli.trial import exit_code

        shell.finish(exit_code(document))


def _prepared(shell: Shell, out: Path) -> Shell:
    """The demo's own box in DIR, apart from any real one: model, state folder, configuration."""
    from pitstop.core.errors import UsageError
    from pitstop.services.demo import configuration, free_port

    model = _model(shell)
    os.environ["PITSTOP_HOME"] = str(out / "state")
    config = out / "pitstop.toml"
    try:
        out.mkdir(parents=True, exist_ok=True)
        box = Shell(shell.json_output, str(config))
        home = box.home()
        if not config.exists():
            config.write_text(configuration(model, home.root, free_port()), "utf-8")
    except OSError as error:
        raise UsageError(
            f"{out} cannot be written: {error.strerror}.", hint="Choose another folder: --out DIR."
        ) from error
    return box


def _model(shell: Shell) -> Path:
    from pitstop.core.errors import UsageError
    from pitstop.supply.model import cache_folder, embedded_model

    try:
        import xllamacpp  # noqa: F401 - whether the embedded engine is installed
    except ImportError as error:
        raise UsageError(
            "the embedded engine is not installed.", hint="pip install 'pitstop[demo]', or `make demo` in a clone."
        ) from error
    with shell.progress() as bars:
        bar = bars.add_task("model", total=None)
        return embedded_model(
            cache_folder(os.environ),
            progress=lambda what, done, total: bars.update(bar, description=what, completed=done, total=total),
        )


def _production_up(shell: Shell) -> None:
    """Start it as any engine is started; what an earlier, killed demo left is put right first."""
    from pitstop.cli.engines import site_and_spec, waiting
    from pitstop.cli.trial_stage import recovered
    from pitstop.client.loop import run
    from pitstop.services.lifecycle import up
    from pitstop.services.trial.folder import open_trials

    for folder in open_trials(shell.home()):
        shell.note(f"an earlier demo was killed; recovering {folder.id} first")
        recovered(shell, folder)
    site, spec = site_and_spec(shell, None, None)
    with waiting(shell) as say:
        run(up(site, shell.home(), spec, epoch_s=time.time, say=say))
    shell.note(f"production is up: llama.cpp with SmolLM2-135M, {site.endpoint.base_url}")


def _production_down(shell: Shell) -> None:
    from pitstop.cli.engines import site_and_spec, waiting
    from pitstop.client.loop import run
    from pitstop.services.lifecycle import down

    site, _ = site_and_spec(shell, None, None)
    with waiting(shell) as say:
        run(down(site, shell.home(), epoch_s=time.time, say=say))
    shell.note("the demo is over: its production was stopped (--keep leaves it running)")


def _trial(shell: Shell) -> TrialDocument:
    from pitstop.cli.trial_stage import conducted, drawn_up
    from pitstop.services.demo import TRIAL

    promise, site = drawn_up(shell, TRIAL)
    return conducted(shell, promise, site)


def _report(document: TrialDocument, out: Path) -> Path:
    from pitstop.core.documents import encode
    from pitstop.report.page import render_trial

    report = out / "report.html"
    report.write_text(render_trial(document), "utf-8")
    (out / "trial.json").write_bytes(encode(document))
    return report
