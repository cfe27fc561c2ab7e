import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.client.decode import Decode, Ending, TokenEvent, bursts_of, decode_of

LENGTH = Ending(by_length=True, textless=True)


def events(*sizes: int, gap_s: float = 0.1, counted: bool = True, text: int = 4) -> list[TokenEvent]:
    """Events a gap apart, with so many tokens each."""
    totals = itertools.accumulate(sizes)
    return [
        TokenEvent(1.0 + gap_s * i, text * size, "answer", total if counted else None)
        for i, (size, total) in enumerate(zip(sizes, totals, strict=True))
    ]


def test_counted_tokens_of_the_first_event_are_not_part_of_the_rate() -> None:
    found = decode_of(events(3, 3, 3, 3), 12, LENGTH)
    assert found.exact
    assert found.value == pytest.approx(9 / 0.3)
    assert found.interval == (found.value, found.value)
    assert found.seed == pytest.approx(11 / 0.3)
    assert (found.first_tok, found.tokens_per_event) == (3, 3.0)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (decode_of(events(3, 3), None, LENGTH), "usage"),
        (decode_of([], 5, LENGTH), "no event"),
        (decode_of(events(5), 5, LENGTH), "at once"),
        (decode_of(events(5, 5, gap_s=0.0), 10, LENGTH), "at once"),
        (decode_of(events(*[1] * 200, gap_s=0.00015, counted=False), 200, LENGTH), "buffer"),
        (decode_of(events(1, 40, 1), 42, LENGTH), "holds tokens back"),
        (decode_of(events(2, 1, counted=False, text=1), 1, Ending(by_length=False, textless=True)), "too few"),
        (decode_of(events(1, 1, counted=False), 0, LENGTH), "too few"),
    ],
)
def test_where_there_is_no_rate_there_is_a_reason(found: Decode, words: str) -> None:
    assert found.value is None
    assert words in found.reason


def test_a_server_that_buffers_and_flushes_gives_no_rate() -> None:
    """Written one by one at the end: 30 microseconds apart, 500 tokens at once."""
    found = decode_of(events(*[1] * 500, gap_s=30e-6), 500, LENGTH)
    assert found.value is None
    assert found.buffered


@pytest.mark.parametrize("counted", [True, False])
def test_a_lump_and_the_rest_of_another_give_no_rate(counted: bool) -> None:
    """200 tokens a second, handed out every 0.3 s: 51 tokens at once, then the other nine. 9 / 0.3 is no rate."""
    found = decode_of(events(51, 9, gap_s=0.3, counted=counted), 60, LENGTH)
    assert (found.value, found.buffered) == (None, True)
    assert "holds tokens back" in found.reason


def test_a_parser_that_held_back_the_beginning_leaves_the_rate_of_the_rest() -> None:
    found = decode_of(events(300, *[2] * 60), 420, LENGTH)
    assert found.value == pytest.approx(20.0)


def test_the_first_step_of_a_short_reply_is_no_lump() -> None:
    assert decode_of(events(9, 3, 3), 15, LENGTH).value == pytest.approx(30.0)


def test_lumps_that_are_a_small_part_widen_the_figure() -> None:
    """Forty lumps of 25 tokens: what made the last lump may be missing its end."""
    lumps = [TokenEvent(0.25 * (n // 25) + 20e-6 * (n % 25), 4, "answer", n + 1) for n in range(1000)]
    found = decode_of(lumps, 1000, LENGTH)
    assert not found.exact
    assert found.value == pytest.approx(100.0, rel=0.001)
    assert found.interval == (pytest.approx(100 * 950 / 975, rel=0.001), pytest.approx(100 * 1000 / 975, rel=0.001))


def test_events_of_one_step_are_one_burst() -> None:
    """A speculating server that writes four tokens of a step as four events, 40 microseconds apart."""
    steps = [TokenEvent(0.05 * (n // 4) + 40e-6 * (n % 4), 4, "answer", n + 1) for n in range(200)]
    assert [burst.events for burst in bursts_of(steps)] == [4] * 50
    found = decode_of(steps, 200, LENGTH)
    assert (found.exact, found.first_tok) == (True, 4)
    assert found.value == pytest.approx(80.0, rel=1e-3)


def test_a_stall_does_not_make_bursts_of_the_steps_beside_it() -> None:
    """Seen on real llama.cpp on a busy machine: steps of 20 ms, and one of 14 s."""
    steps = [TokenEvent(0.02 * n + (14.0 if n > 20 else 0.0), 4, "answer", None) for n in range(48)]
    found = decode_of(steps, 48, LENGTH)
    assert found.value == pytest.approx(47 / (14.0 + 0.02 * 47), rel=1e-6)
    assert found.value == pytest.approx(found.seed)


@given(st.lists(st.floats(0.0011, 30.0), min_size=2, max_size=80))
def test_single_tokens_at_any_pace_are_the_widespread_form(gaps: list[float]) -> None:
    times = list(itertools.accumulate(gaps, initial=0.5))
    found = decode_of([TokenEvent(t, 3, "answer", n + 1) for n, t in enumerate(times)], len(times), LENGTH)
    assert found.value == pytest.approx(found.seed)


def test_two_thousand_tokens_a_second_one_by_one_are_a_rate() -> None:
    assert decode_of(events(*[1] * 500, gap_s=0.0005), 500, LENGTH).value == pytest.approx(2000, rel=0.001)


@pytest.mark.parametrize("totals", [[5, 4, 6, 9], [None, 4, 6, 9], [9, 9, 9, 9], [1, 2, 3, 4]])
def test_counts_that_cannot_be_true_are_not_used(totals: list[int | None]) -> None:
    found = decode_of([TokenEvent(0.1 * i, 9, "answer", total) for i, total in enumerate(totals)], 9, LENGTH)
    assert not found.exact
    assert found.interval is not None


def test_a_stop_token_that_came_after_the_last_text_is_not_in_the_estimate() -> None:
    stopped = decode_of(events(*[1] * 50, counted=False), 51, Ending(by_length=False, textless=True))
    assert stopped.value == pytest.approx(10.0, rel=0.001)
    assert stopped.interval is not None
    assert stopped.interval[1] > 10.0


# -- the interval covers the truth, whatever the engine did

TOKENS = st.lists(st.integers(1, 12), min_size=6, max_size=120)  # bytes of text of each


@settings(max_examples=300)
@given(
    TOKENS,
    st.lists(st.integers(1, 5), min_size=2, max_size=120),
    st.sampled_from(["length", "stop, visible", "stop, hidden"]),
    st.integers(0, 3),
    st.floats(0.005, 0.5),
)
def test_the_interval_covers_the_truth(
    sizes_bytes: list[int], split: list[int], stop: str, swallowed: int, gap_s: float
) -> None:
    """Tokens of known text in events of 1 to 5; up to three tokens of markup before the text, perhaps a stop token."""
    groups: list[list[int]] = []
    rest, widths = list(sizes_bytes), itertools.cycle(split)
    while rest:
        width = next(widths)
        groups.append(rest[:width])
        rest = rest[width:]
    if len(groups) < 2:
        return
    made = [TokenEvent(1 + gap_s * i, sum(group), "answer", None) for i, group in enumerate(groups)]
    tokens = len(sizes_bytes) + swallowed + (stop == "stop, hidden")
    truth = (len(sizes_bytes) - len(groups[0])) / (made[-1].t - made[0].t)
    found = decode_of(made, tokens, Ending(by_length=stop == "length", textless=stop != "stop, visible"))
    assert found.interval is not None
    assert found.value is not None
    slack = 1e-9 * truth
    assert found.interval[0] - slack <= truth <= found.interval[1] + slack
    assert found.interval[0] <= found.value <= found.interval[1]


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(st.floats(0, 10), st.integers(0, 99), st.sampled_from(["answer", "reasoning", "tool", "none"]),
                  st.one_of(st.none(), st.integers(0, 200))),
        max_size=30,
    ),
    st.one_of(st.none(), st.integers(0, 300)),
    st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_any_series_gives_a_rate_or_a_reason(
    series: list[tuple[float, int, str, int | None]], tokens: int | None, by_length: bool, textless: bool
) -> None:
    found = decode_of(
        [TokenEvent(*one) for one in sorted(series, key=lambda one: one[0])], tokens, Ending(by_length, textless)
    )
    assert (found.value is None) == bool(found.reason)
    if found.value is not None:
        assert found.value > 0
        assert found.interval is not None
        assert 0 <= found.interval[0] <= found.value <= found.interval[1]
