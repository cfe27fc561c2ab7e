"""Whatever stands in a log, reading it ends, and blocks and neighbours change nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.core.errors import UsageError
from pitstop.decisions.incidents import reader
from pitstop.decisions.incidents.conclude import Seen, conclude
from pitstop.decisions.incidents.ending import meaning, parse_state
from pitstop.decisions.incidents.guard_log import read_guard_log
from pitstop.decisions.incidents.kernel import read_kernel
from pitstop.decisions.incidents.lines import read_line
from pitstop.decisions.incidents.prefilter import Prefilter
from pitstop.decisions.incidents.reader import read_events
from pitstop.decisions.incidents.signatures import Catalogue
from pitstop.decisions.incidents.story import tell
from pitstop.decisions.incidents.template import group
from pitstop.decisions.incidents.text import Bytes
from pitstop.services.incidents.catalogue import built_in
from support.crash_logs import CUDNN, FRAMES, READY, STATS, crash, second_report, traceback

KNOWN = Catalogue(built_in())
UNTIL = (2026, 10)
QUIET = STATS.format(time="09-06 14:00:00", rate=70.0, running=1)
# Pieces of real logs, cut and joined at random: closer to what happens than random bytes.
PIECES = [
    *crash(CUDNN, "cudnn", "09-06 14:03:11").splitlines(keepends=True),
    *traceback("ValueError: x", FRAMES["plain"]).splitlines(keepends=True),
    READY,
    QUIET,
    "Received SIGTERM\n",
    '{"log":"Traceback (most recent call last):\\n","time":"2026-09-06T12:00:00Z"}\n',
    '{"log": 3}\n',
    "Traceback (most recent call last):\n",
    "  Traceback (most recent call last):\n",
    "During handling of the above exception, another exception occurred:\n",
    "INFO 09-06 14:03:12 [logger.py:43] Received request c: prompt: 'Traceback\n",
    "\x1b[31m\r\n",
    "ERROR 13-45 99:99:99 [x.py:1] RuntimeError: CUDA error\n",
]


def concluded(raw):
    return conclude(Seen(tell("log", read_events(Bytes("log", raw), KNOWN, UNTIL))))


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=60), max_size=60))
@settings(max_examples=80, deadline=None)
def test_any_mixture_of_lines_is_read_to_its_end(pieces):
    findings = concluded("".join(pieces).encode("utf-8", "replace"))
    for one in findings.incidents:
        assert one.signature
        assert one.evidence
        assert len(one.key) == 12


@given(st.binary(max_size=2000))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_read(raw):
    concluded(raw)
    read_line(raw, UNTIL)
    read_kernel(raw.splitlines(), UNTIL)
    read_guard_log(raw.splitlines(), UNTIL)


@given(st.text(max_size=300))
def test_a_state_is_read_or_refused_with_a_sentence(text):
    try:
        parse_state(text, "file")
    except UsageError as error:
        assert "file" in error.message


@given(st.integers(-64, 300))
def test_every_exit_code_has_a_meaning(code):
    assert str(code) in meaning(code)


@pytest.mark.parametrize("size", [300, 1000, 4096])
def test_where_blocks_end_changes_nothing(monkeypatch, size):
    raw = second_report().encode()
    whole = read_events(Bytes("log", raw), KNOWN, UNTIL)
    monkeypatch.setattr(reader, "BLOCK_BYTES", size)
    assert read_events(Bytes("log", raw), KNOWN, UNTIL) == whole


@given(st.integers(0, 3000), st.integers(0, 3000))
@settings(max_examples=10, deadline=None)
def test_quiet_lines_around_a_crash_change_nothing(before, after):
    alone = concluded((READY + crash(CUDNN, "cudnn", "09-06 14:03:11")).encode())
    padded = concluded((READY + QUIET * before + crash(CUDNN, "cudnn", "09-06 14:03:11") + QUIET * after).encode())
    assert [one.signature for one in padded.incidents] == [one.signature for one in alone.incidents]
    assert padded.incidents[0].evidence == alone.incidents[0].evidence


def test_a_log_without_a_line_break_and_one_of_the_same_error_a_thousand_times_end_quickly():
    assert concluded(b"an error: " * 200_000).incidents == ()
    assert len(concluded(b"RuntimeError: " * 200_000).incidents) == 1
    findings = concluded((CUDNN + "\n").encode() * 3000)
    assert len(findings.incidents) == 1


def test_a_traceback_that_was_torn_off_does_not_swallow_the_log():
    torn = "Traceback (most recent call last):\n" + '  File "x", line 1, in f\n    f()\n' * 4
    findings = concluded((torn + QUIET * 9000 + crash(CUDNN, "cudnn", "09-06 14:03:11")).encode())
    assert [one.signature for one in findings.incidents] == ["flashinfer-3566-cudnn-fp8"]


def test_every_anchor_is_found_by_the_prefilter():
    prefilter = Prefilter(KNOWN.anchors())
    for anchor in KNOWN.anchors():
        line = f"quiet\nbefore {anchor} behind\nquiet\n".encode()
        assert list(prefilter.hits(line)), anchor


@given(st.text(alphabet="abc 0123456789./x'", max_size=80), st.integers(0, 10**9), st.integers(0, 10**9))
def test_numbers_do_not_part_a_group(text, first, second):
    assert group(f"{text} block {first}") == group(f"{text} block {second}")


def test_a_year_is_that_of_the_last_such_month_before_the_end():
    line = b"ERROR 12-31 23:59:59 [x.py:1] x"
    assert read_line(line, (2027, 1)).at == "2026-12-31T23:59:59"
    assert read_line(line, (2026, 12)).at == "2026-12-31T23:59:59"
    assert read_line(line).at is None
