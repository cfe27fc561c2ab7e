"""What other programs get: CSV, Markdown, llama-benchy's form."""

from __future__ import annotations

import csv
import io
import json

import pytest

from pitstop.core.documents import Status, encode
from pitstop.report import exports
from pitstop.report.llama_benchy import benchy_report
from support import documents as made


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_one_row_per_sample_with_every_digit() -> None:
    run = made.run(figures=[made.figure("decode", "prose", "decode_tok_s", "tok/s", (78.123456789012, 1 / 3))])
    rows = _rows(exports.csv(run))
    assert [float(row["value"]) for row in rows] == [78.123456789012, 1 / 3]
    assert [row["sample"] for row in rows] == ["1", "2"]
    assert rows[0]["status"] == "ok"


def test_a_figure_without_samples_still_has_its_row_and_its_reason() -> None:
    rows = _rows(exports.csv(made.run(figures=made.awkward_figures())))
    assert [(row["case"], row["value"], row["reason"]) for row in rows][-1] == (
        "code/en/think-off",
        "",
        "the server sent no usage",
    )


def test_csv_of_a_trial_names_arm_and_boot() -> None:
    rows = _rows(exports.csv(made.trial()))
    assert {(row["arm"], row["run"]) for row in rows} >= {("production", "production-0"), ("k4", "k4-1")}


def test_markdown_says_the_verdict_before_the_tables_and_ends_with_the_method() -> None:
    text = exports.markdown(made.trial())
    assert text.index("k2 is worse") < text.index("### verdicts")
    assert "not back" not in text
    assert text.rstrip().endswith("every sample kept_")


def test_llama_benchy_gets_its_names_its_units_and_only_what_is_proved() -> None:
    run = made.run(figures=[*made.figures(), *made.awkward_figures()])
    told = json.loads(encode(benchy_report(run)))
    by_size = {each["prompt_size"]: each for each in told["benchmarks"] if each["pp_throughput"]}
    assert set(by_size) == {8000, 30000}
    assert 782114.0 not in by_size[8000]["pp_throughput"]["values"]
    decode = next(each for each in told["benchmarks"] if each["tg_throughput"])
    assert (decode["prompt_size"], decode["response_size"], decode["concurrency"]) == (48, 512, 1)
    assert decode["e2e_ttft"]["mean"] == pytest.approx(62, rel=0.1)  # milliseconds
    assert told["model"] == "qwen3.6-35b"


def test_the_standard_deviation_is_the_population_one_as_llama_benchy_has_it() -> None:
    run = made.run(figures=[made.figure("prefill", "pp8000", "prefill_tok_s", "tok/s", (1.0, 3.0))])
    assert benchy_report(run).benchmarks[0].pp_throughput is not None
    assert benchy_report(run).benchmarks[0].pp_throughput.std == 1.0  # type: ignore[union-attr]


def test_throughput_with_prefill_is_not_passed_off_as_decode() -> None:
    told = benchy_report(made.run())
    assert all(each.concurrency == 1 for each in told.benchmarks)


@pytest.mark.parametrize("status", [Status.UNVERIFIED, Status.INVALID, Status.UNAVAILABLE])
def test_a_figure_that_is_not_ok_is_left_out_where_no_status_can_be_said(status: Status) -> None:
    run = made.run(figures=[made.figure("prefill", "pp8000", "prefill_tok_s", "tok/s", (1.0,), status=status)])
    assert benchy_report(run).benchmarks == []


def test_impossible_numbers_do_not_stop_an_export() -> None:
    run = made.run(
        figures=[made.figure("prefill", "pp8000", "prefill_tok_s", "tok/s", (1e308, 1e308, float("nan"), 5.0))]
    )
    assert encode(benchy_report(run))
    assert "1e+308" in exports.csv(run)
