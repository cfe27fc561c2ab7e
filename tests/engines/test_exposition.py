import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engines.exposition import MAX_LINE_CHARS, MAX_LINES, MAX_TEXT_CHARS, Exposition, parse

WANTED = {"vllm:a", "b"}


def values(text: str, *names: str) -> list[float]:
    return [sample.value for sample in parse(text, WANTED).counted(*names)]


@pytest.mark.parametrize(
    "damage",
    [
        "vllm:a{",
        'vllm:a{x="y} 1',
        'vllm:a{x="y"}',
        'vllm:a{x="y"} one',
        'vllm:a{x="y",x="z"} 2',
        "vllm:a 1_000",
        "vllm:a " + "9" * 400,
        "vllm:a{" + 'x="' + "y" * MAX_LINE_CHARS + '"} 1',
        "vllm:a\x00 1",
        "<html><body>Please log in</body></html>",
        "# TYPE vllm:a",
        '# TYPE "vllm:a counter',
    ],
)
def test_a_damaged_line_costs_that_line_and_not_the_text(damage: str) -> None:
    assert values(f'vllm:a{{e="0"}} 1\n{damage}\nb 2\n', "b") == [2.0]
    assert 1.0 in values(f'vllm:a{{e="0"}} 1\n{damage}\nb 2\n', "vllm:a")


def test_a_lost_line_is_counted() -> None:
    assert parse("b 1\nb{ 2\n", WANTED).lost_lines == 1


def test_a_name_is_found_with_total_and_without() -> None:
    assert values("b_total 3\n", "b") == [3.0]
    assert values("# TYPE b counter\nb 3\n", "b") == [3.0]


def test_both_forms_of_a_name_are_one_counter() -> None:
    assert values("b 3\nb_total 4\n", "b") == [4.0]


def test_a_created_series_is_not_the_counter() -> None:
    text = '# TYPE b counter\nb_total{p="0"} 7\nb_created{p="0"} 1.75673679873e+09\n'
    assert values(text, "b") == [7.0]


def test_a_series_that_is_written_twice_counts_once_with_its_last_value() -> None:
    assert values('b{x="1",y="2"} 3\nb{y="2",x="1"} 4\n', "b") == [4.0]


def test_not_a_number_and_infinity_are_read_as_such() -> None:
    assert math.isnan(values("b NaN\n", "b")[0])
    assert values("b +Inf\n", "b") == [math.inf]


def test_exemplars_timestamps_crlf_and_openmetrics_end_do_not_disturb() -> None:
    text = 'b_total 5 # {trace_id="x"} 0.67\r\nvllm:a 6 1700000000000\r\n# EOF\r\n'
    assert values(text, "b") == [5.0]
    assert values(text, "vllm:a") == [6.0]


def test_a_label_may_hold_braces_hashes_quotes_and_line_separators() -> None:
    found = parse('b{x="}, # \\" \u2028 {"} 8\n', WANTED).samples
    assert [(sample.labels["x"], sample.value) for sample in found] == [('}, # " \u2028 {', 8.0)]


def test_names_of_all_series_are_kept_for_telling_the_dialect() -> None:
    assert "other_total" in parse("other_total 1\n", WANTED).names


@pytest.mark.parametrize("text", ["b 1\n" * (MAX_LINES + 1), "b 1\n" + "#" * MAX_TEXT_CHARS])
def test_a_text_without_end_is_not_read_in_part(text: str) -> None:
    assert parse(text, WANTED) == Exposition()


@given(st.text(max_size=300))
def test_no_text_at_all_makes_it_raise(text: str) -> None:
    parse(text, WANTED)


@given(st.text(alphabet='b{}",=\\ \t1.eE+-#N\x1f_x', max_size=60))
def test_no_text_of_its_own_alphabet_makes_it_raise(line: str) -> None:
    parse(f"b{line}", WANTED)


@given(
    st.dictionaries(st.text("xyz", min_size=1, max_size=3), st.text(max_size=8), max_size=3),
    st.floats(0, 1e15, allow_nan=False),
    st.lists(st.sampled_from(["", "# HELP b x", "b{ 1", "nonsense", "vllm:a 3"]), max_size=5),
)
def test_a_good_line_is_read_whatever_surrounds_it(labels: dict[str, str], value: float, around: list[str]) -> None:
    quoted = {k: v.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"") for k, v in labels.items()}
    line = "b{" + ",".join(f'{k}="{v}"' for k, v in quoted.items()) + f"}} {value!r}"
    found = parse("\n".join([*around, line, *around]), WANTED)
    assert (labels, value) in [(dict(sample.labels), sample.value) for sample in found.named("b")]
