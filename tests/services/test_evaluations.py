"""Logs of lm-eval and inspect_ai, paired answer by answer."""

import io
import json
import random
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


def asked(told, questions):
    """The same log, with a question for each of its samples."""
    for sample, question in zip(told["samples"], questions, strict=True):
        sample |= {"input": question, "target": "x"}
    return told


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
    marks = {name.split()[0]: each for name, each in figure.detail["marks"].items()}
    assert marks == {"1": [1, 1], "2": [1, 0], "4": [1, 0], "x3": [1, 1]}


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


def packed(told, *, twice=False):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({k: v for k, v in told.items() if k != "samples"}))
        for sample in told["samples"] * (1 + twice):
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    return content.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_attempt_that_an_archive_holds_twice_counts_once(tmp_path):
    path = tmp_path / "log.eval"
    path.write_bytes(packed(inspect_log(30), twice=True))
    [figure] = read(path).figures.values()
    assert all(len(marks) == 1 for marks in figure.detail["marks"].values())


def test_no_damaged_archive_does_worse_than_being_refused(tmp_path):
    whole, draw = packed(inspect_log(30)), random.Random(4)
    path = tmp_path / "log.eval"
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(draw.choice([1, 3, 20])):
            damaged[draw.randrange(2, len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged)
        try:
            read(path)
        except UsageError as refused:
            assert refused.hint


def test_samples_are_paired_by_what_was_asked_and_not_by_their_place(tmp_path):
    """inspect_ai numbers samples that have no id, after it has shuffled them."""
    questions = [f"question {i}" for i in range(40)]
    one = written(tmp_path / "a.json", asked(inspect_log(20), questions))
    other = written(tmp_path / "b.json", asked(inspect_log(40), [f"another {i}" for i in range(40)]))
    record = verdict_of(one, other)
    assert record.verdict is Verdict.UNDECIDED
    assert "no task was answered by both arms" in record.reason
    same = written(tmp_path / "c.json", asked(inspect_log(40), questions))
    assert verdict_of(one, same).verdict is Verdict.BETTER


def test_messages_are_the_same_question_whatever_their_ids(tmp_path):
    logs = []
    for name in "ab":
        messages = [[{"id": f"{name}{i}", "role": "user", "content": f"q{i}"}] for i in range(40)]
        logs.append(written(tmp_path / f"{name}.json", asked(inspect_log(38 if name == "a" else 12), messages)))
    assert verdict_of(*logs).verdict is Verdict.WORSE


def test_attempts_that_ended_in_an_error_leave_the_score_in_doubt(tmp_path):
    told = inspect_log(40)
    for sample in told["samples"][20:]:
        sample |= {"scores": None, "error": {"message": "HTTP 500\nand more"}}
    one, other = written(tmp_path / "a.json", inspect_log(9)), written(tmp_path / "b.json", told)
    [figure] = read(other).figures.values()
    assert (figure.status, figure.n) == (Status.UNVERIFIED, 20)
    assert "20 of 40 attempts have no score, such as 'HTTP 500'" in figure.reason
    assert verdict_of(one, other).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("unscored", [None, float("nan")])
def test_an_attempt_that_was_left_unscored_is_no_grade(tmp_path, unscored):
    told = inspect_log(30)
    told["samples"][0]["scores"]["match"]["value"] = unscored
    [figure] = read(written(tmp_path / "a.json", told)).figures.values()
    assert (figure.status, figure.n) == (Status.UNVERIFIED, 39)
    assert "1 of 40 attempts have no score" in figure.reason
    for sample in told["samples"]:
        sample["scores"]["match"]["value"] = unscored
    with pytest.raises(UsageError, match="holds no answer that was scored"):
        read(written(tmp_path / "b.json", told))


@pytest.mark.parametrize(
    ("values", "score"),
    [("CIIN", 0.25), (["yes", "no"], 0.5), ([True, False], 0.5), (["1", "0.0"], 0.5), (["True", "NO"], 0.5)],
)
def test_right_and_wrong_in_every_form_of_inspect_ai_are_read(tmp_path, values, score):
    told = inspect_log(0, samples=len(values))
    for sample, value in zip(told["samples"], values, strict=True):
        sample["scores"]["match"]["value"] = value
    assert next(iter(read(written(tmp_path / "a.json", told)).figures.values())).value == score


def test_the_first_version_of_the_log_has_one_score_a_sample(tmp_path):
    told = inspect_log(10, version=1, results={"scorer": {"name": "includes"}})
    for sample in told["samples"]:
        sample["score"] = sample.pop("scores")["match"]
    [figure] = read(written(tmp_path / "a.json", told)).figures.values()
    assert (figure.case, figure.value) == ("arith includes", 0.25)


def test_another_temperature_is_not_comparable_and_another_number_of_connections_is(tmp_path):
    logs = {}
    for name, config in (("a", {}), ("b", {"max_connections": 9}), ("c", {"temperature": 1.0})):
        logs[name] = written(tmp_path / f"{name}.json", inspect_log(30, plan={"config": {**config}, "name": name}))
    assert verdict_of(logs["a"], logs["b"]).verdict is not None
    with pytest.raises(UsageError, match="other generation settings"):
        verdict_of(logs["a"], logs["c"])


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


def rewritten(results, change):
    """The samples beside these results, each changed."""
    [samples] = results.parent.glob("samples_*")
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    samples.write_text("\n".join(json.dumps(change(line)) for line in lines))
    return results


def test_other_shots_in_the_prompts_are_not_comparable(tmp_path):
    """Another system instruction, other shots or a template change what was sent, and the settings may not tell."""
    one = rewritten(lm_eval(tmp_path / "a", 38), lambda line: line | {"prompt_hash": f"p{line['doc_id']}"})
    same = rewritten(lm_eval(tmp_path / "b", 37), lambda line: line | {"prompt_hash": f"p{line['doc_id']}"})
    other = rewritten(lm_eval(tmp_path / "c", 10), lambda line: line | {"prompt_hash": f"x{line['doc_id']}"})
    assert verdict_of(one, same).verdict is not Verdict.WORSE
    with pytest.raises(UsageError, match="other prompts hash"):
        verdict_of(one, other)


def test_documents_without_a_hash_are_told_apart_by_what_they_hold(tmp_path):
    def without(prefix):
        return lambda line: {k: v for k, v in line.items() if k != "doc_hash"} | {"doc": f"{prefix}{line['doc_id']}"}

    one = rewritten(lm_eval(tmp_path / "a", 38), without("x"))
    other = rewritten(lm_eval(tmp_path / "b", 10), without("y"))
    assert "no task was answered by both arms" in verdict_of(one, other).reason


def test_a_metric_of_which_less_is_better_is_never_called_better_for_more(tmp_path):
    one, other = lm_eval(tmp_path / "a", 5), lm_eval(tmp_path / "b", 40)
    for path in (one, other):
        told = json.loads(path.read_text())
        path.write_text(json.dumps(told | {"higher_is_better": {"gsm": {"exact_match": False}}}))
    record = verdict_of(one, other)
    assert record.verdict is Verdict.UNDECIDED
    assert "less is better with exact_match" in record.reason


def test_samples_of_other_runs_in_the_folder_are_left_alone(tmp_path):
    path = lm_eval(tmp_path / "a", 10)
    results, samples = tmp_path / "a/results.json", tmp_path / "a/samples_gsm.jsonl"
    results.write_text(path.read_text())
    samples.write_text(next((tmp_path / "a").glob("samples_*")).read_text().replace("1.0", "0.0"))
    [figure] = read(results).figures.values()
    assert (figure.value, figure.n) == (0.0, 40)


def test_a_filter_is_called_by_its_whole_name(tmp_path):
    path = rewritten(lm_eval(tmp_path / "a", 10), lambda line: line | {"filter": "nonempty"})
    assert next(iter(read(path).figures.values())).case == "gsm exact_match nonempty"


def test_results_of_before_version_0_4_say_what_is_missing(tmp_path):
    with pytest.raises(UsageError) as refused:
        read(written(tmp_path / "a.json", {"results": {"t": {"acc": 0.5}}, "versions": {"t": 0}}))
    assert "--log_samples" in refused.value.hint


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
