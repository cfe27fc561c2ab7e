"""What `pitstop trial` says and does beside the trial itself: the edit that it never makes, the steps of a dry run."""

import json
import os
import signal

import msgspec
import pytest

from pitstop.cli.shell import Shell
from pitstop.cli.trial import _tell_promotion, exit_code
from pitstop.core.documents import ArmRecord, ProductionRecord, TrialDocument, Verdict, VerdictRecord
from pitstop.core.errors import ExitCode
from support.box import Box

CONFIG = """
[engine.smol]   # the daily driver
kind = "vllm"
model = "smol"
base_url = "http://127.0.0.1:9/v1"
[engine.smol.launch]
with = "docker"
name = "smol"
image = "reg/vllm:1"
command = ["vllm", "serve", "m"]
[engine.smol.knob.MTP_K]
default = "3"
args = ["--mtp", "{value}"]
"""


def document(verdict=Verdict.BETTER, state="finished", restored=True, primary=True):
    record = VerdictRecord(
        arm="k2", ruler="decode", case="prose", metric="decode_tok_s", verdict=verdict, primary=primary,
        ratio=1.2, interval=(1.1, 1.3), minimum_effect=0.03, noise_floor=0.01, blocks=2, reason="", p_value=0.01,
        blocks_to_decide=None,
    )  # fmt: skip
    production = ProductionRecord(
        engine="smol", fingerprint_before="f", fingerprint_after="f", restored=restored, proved_by="", downtime_s=1.0
    )
    arms = [ArmRecord(name="production", overrides={}, fingerprint="f")]
    arms += [ArmRecord(name="k2", overrides={"MTP_K": "2", "IMAGE": "reg/vllm:2"}, fingerprint="g")]
    return TrialDocument(
        id="T1", name="t", state=state, started_at="2026-11-29T00:00:00+00:00", production=production, arms=arms,
        verdicts=[record],
    )  # fmt: skip


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "pitstop.toml").write_text(CONFIG)
    return Shell(config_file=str(tmp_path / "pitstop.toml"))


def test_the_edit_that_would_make_a_winner_production_is_shown_and_never_made(shell, capsys):
    _tell_promotion(shell, document())
    said = capsys.readouterr().out
    assert '-default = "3"' in said
    assert '+default = "2"' in said
    assert '+image = "reg/vllm:2"' in said
    assert shell.config_path.read_text() == CONFIG


@pytest.mark.parametrize("verdict", [Verdict.UNDECIDED, Verdict.WORSE, Verdict.EQUIVALENT])
def test_nothing_is_suggested_for_what_did_not_win(shell, capsys, verdict):
    _tell_promotion(shell, document(verdict))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (document(), ExitCode.DONE),
        (document(Verdict.EQUIVALENT), ExitCode.DONE),
        (document(Verdict.WORSE), ExitCode.WORSE),
        (document(Verdict.UNDECIDED), ExitCode.INCONCLUSIVE),
        (document(primary=False), ExitCode.INCONCLUSIVE),
        (document(state="gave-up"), ExitCode.INCONCLUSIVE),
        (document(state="failed"), ExitCode.UNREACHABLE),
        (document(state="interrupted"), ExitCode.INTERRUPTED),
        (document(restored=False, state="not-restored"), ExitCode.NOT_RESTORED),
        (document(restored=False, state="interrupted"), ExitCode.NOT_RESTORED),
    ],
)
def test_production_comes_before_interruption_and_that_before_the_verdict(found, code):
    assert exit_code(found) is code


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    return Box.make(tmp_path_factory.mktemp("box"))


def test_a_dry_run_names_every_step_with_what_it_would_run_and_why_it_would_be_refused_now(box):
    done = box.run("trial", "run", "quick", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert [step["step"] for step in plan["steps"]] == [
        "wait-idle", "take-down", "boot", "measure", "stop", "boot", "measure", "stop", "restore", "prove", "finish",
    ]  # fmt: skip
    boots = [step for step in plan["steps"] if step["step"] == "boot"]
    assert [step["arm"] for step in boots] == ["production", "small"]
    assert "--ubatch 16" in boots[1]["runs"][0]
    assert "SIGTERM" in plan["steps"][1]["runs"][0]
    assert "not up" in plan["refused"]
    assert not list((box.root / "state/trials").glob("*"))


def test_recover_needs_no_configuration_and_knows_whom_to_call(box):
    """The promise on disk is all that it reads."""
    config = (box.root / "pitstop.toml").read_text()
    (box.root / "pitstop.toml").write_text(f'[host]\nmin_available = "100 MiB"\nnotify = ["HOOK"]\n{config}')
    assert box.run("up").returncode == 0
    trial = box.begin("trial", "run", "quick")
    while "measuring small" not in trial.stdout.readline():
        assert trial.poll() is None
    os.kill(trial.pid, signal.SIGKILL)
    trial.communicate(timeout=10)
    (box.root / "pitstop.toml").unlink()
    recovered = box.run("trial", "recover", "--json", "--dry-run")
    [owed] = json.loads(recovered.stdout)["open"]
    promise = json.loads((box.root / f"state/trials/{owed}/promise.json").read_text())
    assert promise["notify"] == ["HOOK"]
    assert box.run("trial", "recover").returncode == 0
    (box.root / "pitstop.toml").write_text(config)
    assert box.run("down").returncode == 0
    assert msgspec.json.decode((box.root / f"state/trials/{owed}/trial.json").read_bytes())["production"]["restored"]
