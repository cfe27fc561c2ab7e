"""A trial reads its own tasks before it touches production."""

import pytest

from pitstop.cli import trial_stage
from pitstop.cli.shell import Shell

CONFIG = """
[engine.tiny]
kind = "llamacpp"
model = "tiny"
base_url = "http://127.0.0.1:1/v1"
production = true
[engine.tiny.launch]
with = "process"
command = ["serve", "{port}"]
[engine.tiny.knob.HOT]
args = ["--hot", "{value}"]
[trial.t]
engine = "tiny"
rulers = ["RULER"]
[trial.t.quality]
tasks = "own"
[trial.t.variant.hot]
HOT = "1"
"""


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Why a trial of this ruler would be refused, were all else well."""

    async def nothing_else_is_wrong(*_):
        pass

    def why(ruler):
        monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "home"))
        monkeypatch.setattr(trial_stage, "refuse_what_cannot_work", nothing_else_is_wrong)
        monkeypatch.chdir(tmp_path)
        (tmp_path / "pitstop.toml").write_text(CONFIG.replace("RULER", ruler))
        shell = Shell(False, None)
        return trial_stage.why_refused(shell, *trial_stage.drawn_up(shell, "t"))

    return why


def test_a_task_that_cannot_be_read_refuses_the_trial_while_production_is_up(said, tmp_path):
    assert "own is no folder of tasks" in said("quality")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/a.toml").write_text('prompt = "?"\n[answer]\nnumbre = 7')
    assert "own/a.toml" in said("quality")
    assert "numbre" in said("quality")
    (tmp_path / "own/a.toml").write_text('prompt = "?"\n[answer]\nnumber = 7')
    assert said("quality") == ""


def test_a_trial_that_asks_no_tasks_needs_none(said):
    assert said("decode") == ""
