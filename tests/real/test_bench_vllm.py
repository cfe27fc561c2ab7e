"""`pitstop bench` on real vLLM that speculates, and beside real llama.cpp: the commands of docs/examples."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pitstop.core.documents import RunDocument, Status
from real.vllm_env import DEFAULT_VERSION, huggingface_model, vllm_environment
from support.benches import figure_of
from support.embedded import free_port, model_file

pytestmark = pytest.mark.real
EXAMPLES = Path(__file__).parents[2] / "docs/examples"
PITSTOP = Path(sys.executable).with_name("pitstop")


class Folder:
    """A folder as the README has it made, with ports that are free here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = (EXAMPLES / "pitstop.toml").read_text("utf-8")
        path.joinpath("pitstop.toml").write_text(re.sub(r":321\d\d/", lambda _: f":{free_port()}/", text), "utf-8")
        shutil.copy(EXAMPLES / "think.jinja", path)
        path.joinpath("model").symlink_to(huggingface_model())
        path.joinpath("model.gguf").symlink_to(model_file())
        tools = f"{vllm_environment() / 'bin'}:{os.environ['PATH']}"
        self._environ = {**os.environ, "PATH": tools, "PITSTOP_HOME": str(path / "state")}

    def pitstop(self, *words: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(PITSTOP), *words], cwd=self.path, env=self._environ, timeout=timeout, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    def bench(self, name: str, *words: str) -> RunDocument:
        done = self.pitstop("bench", *words, "--out", name)
        assert done.returncode in (0, 4), done.stderr
        return msgspec.json.decode(self.path.joinpath(name).read_bytes(), type=RunDocument)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = Folder(tmp_path_factory.mktemp("examples"))
    up = made.pitstop("up", "smol", timeout=700)
    try:
        assert up.returncode == 0, up.stderr
        yield made
    finally:
        made.pitstop("down", "smol")
        made.pitstop("down", "smollm2")


@pytest.fixture(scope="module")
def run(folder):
    return folder.bench(
        "run.json", "smol", "--ruler", "decode,prefill,speculation", "--tg", "48", "--runs", "1", "--pp", "400",
        "--case", "code/de/*",
    )  # fmt: skip


def test_the_run_says_which_engine_it_was(run):
    engine = run.engine
    assert (engine.kind, engine.model, engine.version) == ("vllm", "smol", DEFAULT_VERSION)
    assert engine.fingerprint
    assert engine.pid
    assert engine.started_at
    assert not [figure for figure in run.figures if figure.status is Status.INVALID]


def test_nobody_else_was_seen_and_the_box_was_looked_at(run):
    assert run.conditions["foreign_requests"] == 0
    assert run.conditions["before"]["memory"]["available_bytes"] > 0
    assert "foreign-requests" not in {notice.code for notice in run.warnings}


def test_tokens_are_counted_by_the_server_with_every_event(run):
    for state in ("off", "on"):
        rate = figure_of(run, f"code/de/think-{state}", "decode_tok_s")
        assert rate.value > 0
        assert "usage+continuous" in rate.source
        assert "counter" not in rate.reason
    thinking = [one for one in run.requests if one.case == "code/de/think-on"]
    assert all(one.reasoning_tokens or one.ttfa_s is None for one in thinking)


def test_a_size_is_met_and_computed(run):
    prefill = figure_of(run, "pp400", "prefill_tok_s")
    assert abs(prefill.detail["prompt_tokens"] - 400) <= 8
    assert prefill.status in (Status.OK, Status.UNVERIFIED)
    assert "cache" not in prefill.reason


def test_acceptance_comes_from_the_counters_and_depends_on_the_text(run):
    repeated = figure_of(run, "repeated", "acceptance_rate")
    assert 0.3 < repeated.value <= 1
    assert repeated.detail["counted_by"] == "server counters, after minus before"
    assert figure_of(run, "repeated", "acceptance_length").value > 1
    assert {figure.case for figure in run.figures if figure.ruler == "speculation"} == {"prose", "code", "repeated"}


def test_a_thinking_budget_is_kept_under_speculation(folder):
    swept = folder.bench(
        "thinking.json", "smol", "--ruler", "thinking", "--budgets", "none,24", "--thinking-max-tokens", "64"
    )
    advice = figure_of(swept, "budgets", "recommended_budget_tok")
    assert advice.detail["enforced"] == "enforced", advice.detail
    assert figure_of(swept, "budget24", "reasoning_tok").value <= 24 + 16


def test_a_run_goes_on_where_it_was_and_not_after_a_restart_of_another_question(folder, run):
    more = ("--tg", "48", "--runs", "1", "--pp", "400", "--case", "code/de/*", "--concurrency", "2")
    refused = folder.pitstop("bench", "smol", "--ruler", "concurrency", *more, "--out", "run.json", "--resume")
    assert refused.returncode == 2
    assert "settings.concurrency: [1, 8, 16] then, [2] now" in refused.stderr


def test_two_real_engines_share_the_box(folder):
    up = folder.pitstop("up", "smollm2")
    assert up.returncode == 0, up.stderr
    words = ("--ruler", "mutual-load", "--concurrency", "2", "--tg", "24", "--runs", "1")
    shared = folder.bench("mutual.json", "smol", "--with", "smollm2", *words)
    for model in ("smol", "smollm2"):  # what is left is this machine's affair; that it is what it says is ours
        alone, beside = (figure_of(shared, f"{model}/c2/{how}", "throughput_tok_s") for how in ("alone", "shared"))
        kept = figure_of(shared, f"{model}/c2", "retention")
        assert kept.value == pytest.approx(beside.value / alone.value)
        assert (kept.status is Status.OK) == (kept.value <= 1.1), kept.reason
        requests = [one for one in shared.requests if one.case in (alone.case, beside.case)]
        assert len(requests) == 4
        assert all(1 <= one.completion_tokens <= 24 for one in requests)
    assert [notice.text for notice in shared.warnings if notice.code == "mutual-load"]
    assert shared.conditions["foreign_requests"] == 0
    assert set(shared.conditions["foreign"]) == {"smol", "smollm2"}
