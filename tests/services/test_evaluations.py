"""Logs of lm-eval and inspect_ai, paired answer by answer."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.documents import Status, Verdict
from pitstop.core.errors import UsageError
from pitstop.services.compare.evaluations import read as read_evaluation
from pitstop.services.compare.measured import read
from pitstop.services.compare.verdicts import compare

INSPECT = Path(__file__).parent / "data" / "inspect_ai-0.3.285.json"


def inspect_log(right, task="arith", samples=40, **changes):
    """A log in which the first `right` samples are correct."""
    told = json.loads(INSPECT.read_text())
    told["samples"] = [
        {"id": i, "epoch": 1, "scores": {"match": {"value": "C" if i < right else "I"}}} for i in range(samples)
    ]
    told["eval"] |= {"task": task, "dataset": {"samples": samples}}
    return told | changes


def lm_eval(folder, right, samples=40, date="2026-01-02T03-04-05.678", **settings):
    folder.mkdir()
    results = {"results": {"gsm": {"exact_match,strict": right / samples}}, "configs": {}, "versions": {"gsm": 3.0},
               "n-shot": {"gsm": 5}, "config": {"model": "local", "model_args": "model=qwen", **settings}}  # fmt: skip
    (folder / f"results_{date}.json").write_text(json.dumps(results))
    lines = [
        {"doc_id": i, "doc": {}, "target": "4", "resps": [["4"]], "filtered_resps": ["4"], "filter": "strict",
         "metrics": ["exact_match"], "doc_hash": f"{i:08x}abc", "exact_match": float(i < right)}
        for i in range(samples)
    ]  # fmt: skip
    (folder / f"samples_gsm_{date}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder / f"results_{date}.json"


def written(path, told):
    path.write_text(json.dumps(told))
    return path


def verdict_of(first, second):
    [record] = compare(read(first), read(second), minimum_effect=0.03, noise=lambda *_: None).verdicts
    return record


def test_a_real_log_of_inspect_ai_gives_its_score_and_every_answer():
    run = read(INSPECT)
    [figure] = run.figures.values()
    assert (run.tool, run.model) == ("inspect_ai", "mockllm/model")
    assert (figure.value, figure.n) == (0.75, 4)
    assert figure.detail["marks"] == {"1": [1, 1], "2": [1, 0], "4": [1, 0], "x3": [1, 1]}


def test_two_logs_of_inspect_ai_are_judged_by_their_pairs(tmp_path):
    one = written(tmp_path / "a.json", inspect_log(38))
    assert verdict_of(one, written(tmp_path / "b.json", inspect_log(12))).verdict is Verdict.WORSE
    undecided = verdict_of(one, written(tmp_path / "c.json", inspect_log(35)))
    assert undecided.verdict is Verdict.UNDECIDED
    assert "35 against 38 of 40" in undecided.reason


def test_an_archive_of_inspect_ai_is_read_where_python_can(tmp_path):
    told = inspect_log(30)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({k: v for k, v in told.items() if k != "samples"}))
        for sample in told["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    path = tmp_path / "log.eval"
    path.write_bytes(packed.getvalue())
    assert next(iter(read(path).figures.values())).value == 0.75


@pytest.mark.parametrize("content", [b"PK", b"PK\x03\x04" + b"\0" * 60, b"PK\x05\x06" + b"\0" * 18])
def test_a_broken_archive_is_refused_with_what_to_do(tmp_path, content):
    path = tmp_path / "log.eval"
    path.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        read(path)
    assert "inspect log dump" in refused.value.hint


def test_a_log_that_did_not_finish_is_refused(tmp_path):
    with pytest.raises(UsageError, match="ended as 'error'"):
        read(written(tmp_path / "a.json", inspect_log(3, status="error")))


def test_grades_between_right_and_wrong_are_not_judged(tmp_path):
    told = inspect_log(30)
    told["samples"][0]["scores"]["match"]["value"] = 0.5
    [figure] = read(written(tmp_path / "a.json", told)).figures.values()
    assert figure.status is Status.UNAVAILABLE
    assert "0.5" in figure.reason
    verdict = verdict_of(tmp_path / "a.json", written(tmp_path / "b.json", inspect_log(30)))
    assert verdict.verdict is Verdict.UNDECIDED
    assert "answers are graded" in verdict.reason


def test_results_of_lm_eval_find_their_samples_beside_them(tmp_path):
    one, other = lm_eval(tmp_path / "a", 38), lm_eval(tmp_path / "b", 10)
    record = verdict_of(one, other)
    assert (record.ruler, record.case, record.verdict) == ("lm-eval", "gsm exact_match strict", Verdict.WORSE)
    assert read(one).model == "model=qwen"


def test_the_samples_alone_are_enough(tmp_path):
    lm_eval(tmp_path / "a", 38), lm_eval(tmp_path / "b", 37)
    one, other = (next((tmp_path / name).glob("samples*")) for name in "ab")
    assert verdict_of(one, other).verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT)


def test_results_of_the_python_api_hold_their_samples_themselves(tmp_path):
    told = {
        "results": {"t": {}},
        "configs": {},
        "samples": {"t": [{"doc_id": i, "acc": float(i > 3)} for i in range(9)]},
    }
    [figure] = read(written(tmp_path / "a.json", told)).figures.values()
    assert (figure.case, sum(map(sum, figure.detail["marks"].values()))) == ("t acc", 5)


def test_results_without_samples_say_how_to_get_them(tmp_path):
    path = lm_eval(tmp_path / "a", 38)
    next((tmp_path / "a").glob("samples*")).unlink()
    with pytest.raises(UsageError) as refused:
        read(path)
    assert "--log_samples" in refused.value.hint


def test_other_shots_or_another_task_are_not_comparable(tmp_path):
    one, other = lm_eval(tmp_path / "a", 38), lm_eval(tmp_path / "b", 38, limit=40)
    with pytest.raises(UsageError, match="other limit"):
        verdict_of(one, other)
    first, second = (written(tmp_path / f"{name}.json", inspect_log(9, task=name)) for name in ("x", "y"))
    with pytest.raises(UsageError, match="other task"):
        verdict_of(first, second)


@pytest.mark.parametrize("line", ["{", "[]", '{"a": 1}', "\x00"])
def test_a_line_that_is_no_sample_is_named(tmp_path, line):
    path = tmp_path / "samples_t.jsonl"
    path.write_text('{"doc_id": 1, "acc": 1.0}\n' + line + "\n")
    with pytest.raises(UsageError, match="line 2"):
        read(path)


keys = st.sampled_from(["id", "scores", "value", "doc_id", "acc"])
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner),
    max_leaves=10,
)


@given(json_values, json_values)
def test_no_log_however_odd_does_worse_than_being_refused(samples, about):
    for told in (
        {"eval": about, "status": "success", "samples": samples},
        {"results": about, "configs": {}, "samples": samples},
    ):
        try:
            read_evaluation(b"{}", told, Path("log.json"))
        except UsageError:
            continue
