import json
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from pitstop.cli import compare as command
from pitstop.core.documents import RequestRecord, RunDocument, Status, Verdict, encode
from pitstop.core.errors import UsageError
from pitstop.services.compare.measured import of_run, read
from pitstop.services.compare.verdicts import Comparison, compare
from pitstop.stats.noise import NoisePrior
from support.kept import a_figure, a_run, a_trial


def known(_kind, _key):
    return NoisePrior(0.01, 10, "10 A/A pairs")


def unknown(_kind, _key):
    return None


def run(run_id: str, value: float = 80.0, *, status: Status = Status.OK, prompt_tokens: int = 48, **settings):
    document = a_run(run_id)
    figure = a_figure("prose", value)
    reason = "" if status is Status.OK else "measured beside others"
    document.figures = [msgspec.structs.replace(figure, status=status, reason=reason, detail={"prompts_hash": "abc"})]
    document.requests = [RequestRecord(ruler="decode", case="prose", ok=True, prompt_tokens=prompt_tokens)]
    document.settings = {"max_tokens": 512, "temperature": 0.0, "seed": 1, "runs": 3} | settings
    return document


def compared(first: RunDocument, second: RunDocument, noise=known) -> Comparison:
    return compare(of_run(first, "a.json"), of_run(second, "b.json"), minimum_effect=0.03, noise=noise)


def benchy(decode: float, **changes) -> dict:
    row = {
        "concurrency": 1, "context_size": 0, "prompt_size": 2048, "response_size": 32,
        "is_context_prefill_phase": False,
        "tg_throughput": {"mean": decode, "std": 0.1, "values": [decode, decode + 0.2]},
        "e2e_ttft": {"mean": 306.0, "std": 1.0, "values": [306.0]},
    }  # fmt: skip
    head = {"version": "0.4.0", "timestamp": "x", "latency_mode": "api", "latency_ms": 1.0, "model": "q",
            "prefix_caching_enabled": False, "max_concurrency": 1}  # fmt: skip
    return head | {"benchmarks": [row]} | changes


def vllm(throughput: float, **changes) -> dict:
    return {
        "date": "x", "backend": "openai-chat", "model_id": "q", "tokenizer_id": "q", "num_prompts": 10,
        "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 8, "completed": 10, "failed": 0,
        "total_input_tokens": 480, "total_output_tokens": 5120, "request_throughput": 1.0,
        "output_throughput": throughput, "median_ttft_ms": 212.0, "median_tpot_ms": 12.5, "p99_ttft_ms": 300.0,
    } | changes  # fmt: skip


def guide(ttft_ms: float, **changes) -> dict:
    def told(value):
        return {"successful": {"mean": value, "median": value, "count": 9}, "errored": None, "incomplete": None}

    metrics = {
        "request_totals": {"successful": 9, "errored": 0, "incomplete": 0, "total": 9},
        "prompt_token_count": told(256), "output_token_count": told(128), "time_to_first_token_ms": told(ttft_ms),
        "inter_token_latency_ms": told(11.0), "output_tokens_per_second": told(90.0), "request_latency": told(1.6),
    }  # fmt: skip
    config = {"strategy": {"type_": "concurrent", "streams": 8}, "prefer_response_metrics": True}
    report = {"metadata": {"version": 1}, "config": {"data": ["prompt_tokens=256"], "model": "q"}}
    return report | {"benchmarks": [{"type_": "generative_benchmark", "config": config, "metrics": metrics}]} | changes


def kept(folder: Path, name: str, told) -> Path:
    path = folder / name
    path.write_bytes(told if isinstance(told, bytes) else json.dumps(told).encode())
    return path


def test_two_runs_are_one_block_and_need_known_noise():
    assert compared(run("r1"), run("r2", 90.0), unknown).verdicts[0].verdict is Verdict.UNDECIDED
    (record,) = compared(run("r1"), run("r2", 90.0)).verdicts
    assert record.verdict is Verdict.BETTER
    assert record.ratio == pytest.approx(90 / 80)
    assert record.blocks == 1


def test_without_known_noise_the_samples_own_reach_is_told():
    (record,) = compared(run("r1"), run("r2", 90.0), unknown).verdicts
    assert "from sample to sample of these two boots" in record.reason


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_tokens": 256}, "other max_tokens: 512 against 256"),
        ({"temperature": 0.6}, r"other temperature: 0\.0 against 0\.6"),
        ({"text": "werther.txt"}, 'other text: not told against "werther.txt"'),
        ({"prompt_tokens": 61}, "other lengths: decode prose has 48 tokens in one and 61"),
    ],
)
def test_runs_that_measured_something_else_are_refused_by_name_of_the_difference(changes, words):
    with pytest.raises(UsageError, match=words):
        compared(run("r1"), run("r2", **changes))


def test_other_prompts_under_the_same_name_are_refused():
    other = run("r2")
    other.figures = [msgspec.structs.replace(other.figures[0], detail={"prompts_hash": "xyz"})]
    with pytest.raises(UsageError, match="other prompts hash of decode: abc against xyz"):
        compared(run("r1"), other)


def test_a_server_that_was_asked_otherwise_than_defined_is_refused():
    other = run("r2")
    detail = {**other.figures[0].detail, "request": "without temperature"}
    other.figures = [msgspec.structs.replace(other.figures[0], detail=detail)]
    with pytest.raises(UsageError, match="other request of decode: not told against without temperature"):
        compared(run("r1"), other)


def test_how_often_it_was_measured_is_no_difference():
    assert compared(run("r1"), run("r2", runs=9)).verdicts[0].verdict is Verdict.EQUIVALENT


def test_a_run_is_not_compared_with_itself():
    with pytest.raises(UsageError, match="are the same run"):
        compared(run("r1"), run("r1"))


def test_runs_without_a_common_figure_are_refused():
    other = run("r2")
    other.figures = [a_figure("code")]
    with pytest.raises(UsageError, match="no figure in common"):
        compared(run("r1"), other)


@pytest.mark.parametrize("status", [Status.INVALID, Status.UNVERIFIED, Status.UNAVAILABLE])
@pytest.mark.parametrize("which", [0, 1])
def test_a_figure_that_is_not_ok_claims_nothing(status, which):
    pair = [run("r1"), run("r2", 200.0)]
    pair[which] = run(f"r{which + 1}", 200.0, status=status)
    (record,) = compared(*pair).verdicts
    assert record.verdict is Verdict.UNDECIDED
    assert "measured beside others" in record.reason


def test_what_only_one_run_has_is_told():
    both = run("r2")
    both.figures = [*both.figures, a_figure("code")]
    assert [notice.code for notice in compared(run("r1"), both).warnings] == ["figure-missing"]


@pytest.mark.parametrize(
    ("one", "other"), [(benchy(80.0), benchy(90.0)), (vllm(300.0), vllm(330.0)), (guide(200), guide(150))]
)
def test_results_of_another_tool_are_compared_with_their_own_kind(tmp_path, one, other):
    pair = [read(kept(tmp_path, "a.json", one)), read(kept(tmp_path, "b.json", other))]
    found = compare(*pair, minimum_effect=0.03, noise=unknown)
    assert any(record.ratio not in (None, 1.0) for record in found.verdicts)
    assert {record.verdict for record in found.verdicts} == {Verdict.UNDECIDED}


def test_another_tools_run_is_not_compared_with_its_copy(tmp_path):
    pair = [read(kept(tmp_path, name, vllm(300.0))) for name in ("a.json", "b.json")]
    with pytest.raises(UsageError, match="are the same run"):
        compare(*pair, minimum_effect=0.03, noise=unknown)


def test_two_tools_mean_two_things_by_a_word(tmp_path):
    pair = [read(kept(tmp_path, "a.json", benchy(80.0))), read(kept(tmp_path, "b.json", vllm(300.0)))]
    with pytest.raises(UsageError, match="other definitions: one was measured by llama-benchy, the other by vllm"):
        compare(*pair, minimum_effect=0.03, noise=unknown)


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (vllm(300.0), vllm(300.0, tokenizer_id="other"), "other tokenizer: q against other"),
        (vllm(300.0), vllm(300.0, total_input_tokens=960), "other lengths"),
        (vllm(300.0), vllm(300.0, max_concurrency=16), "other maximum concurrency: 8 against 16"),
        (benchy(80.0), benchy(80.0, latency_mode="generation"), "other latency mode: api against generation"),
        (guide(200), guide(200, config={"data": ["prompt_tokens=512"]}), "other data"),
    ],
)
def test_other_tools_runs_are_refused_by_name_too(tmp_path, one, other, words):
    pair = [read(kept(tmp_path, "a.json", one)), read(kept(tmp_path, "b.json", other))]
    with pytest.raises(UsageError, match=words):
        compare(*pair, minimum_effect=0.03, noise=unknown)


def test_failed_requests_of_another_tool_hold_its_figures_back(tmp_path):
    pair = [read(kept(tmp_path, "a.json", vllm(300.0))), read(kept(tmp_path, "b.json", vllm(600.0, failed=3)))]
    found = compare(*pair, minimum_effect=0.03, noise=unknown)
    assert all("3 of 13 requests failed" in record.reason for record in found.verdicts)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b"{}", b'{"schema": 7}', b'{"schema": "pitstop.run"}',
        b'{"benchmarks": 5, "latency_mode": "api"}', b'{"total_input_tokens": "x", "request_throughput": 1}',
        b'{"schema": "pitstop.run", "version": 99}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_run_gets_a_sentence(tmp_path, content):
    with pytest.raises(UsageError, match=r"x\.json"):
        read(kept(tmp_path, "x.json", content))


def test_a_trial_is_sent_to_its_report(tmp_path):
    with pytest.raises(UsageError, match="is a trial"):
        read(kept(tmp_path, "t.json", encode(a_trial("t1"))))


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        read(tmp_path / "missing.json")


@pytest.fixture
def pitstop(monkeypatch, tmp_path):
    monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "home"))
    app = typer.Typer()
    app.callback()(lambda: None)
    command.register(app)
    return lambda *arguments: CliRunner().invoke(app, ["compare", *map(str, arguments)])


def test_the_document_alone_is_on_stdout_and_undecided_ends_with_4(pitstop, tmp_path):
    pair = [kept(tmp_path, f"{name}.json", encode(run(name, value))) for name, value in (("a", 80.0), ("b", 90.0))]
    result = pitstop(*pair, "--json", "--minimum-effect", "5%")
    assert result.exit_code == 4
    document = msgspec.json.decode(result.stdout.encode(), type=Comparison)
    assert (document.schema, document.minimum_effect) == ("pitstop.comparison", 0.05)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("effect", ["3", "-3 %", "many", ""])
def test_a_minimum_effect_without_its_unit_is_refused(pitstop, tmp_path, effect):
    path = kept(tmp_path, "a.json", encode(run("a")))
    result = pitstop(path, path, f"--minimum-effect={effect}")
    assert result.exit_code == 2
    assert "--minimum-effect" in result.stderr
