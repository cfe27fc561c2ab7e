"""From the ledger to a verdict: histories, windows, exposure."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pitstop.core.errors import UsageError
from pitstop.launch.launcher import Running
from pitstop.ledger.records import Configuration, IncidentRecord
from pitstop.ledger.store import Ledger
from pitstop.services.incidents.catalogue import catalogue
from pitstop.services.incidents.counts import halves, moment, of_configuration
from pitstop.services.incidents.exposure import Served, note_up, spell_of
from pitstop.services.incidents.history import read_history
from pitstop.services.incidents.rooted import rooted
from pitstop.stats.rates import FixState, Window, assess, compare_rates
from support.crash_logs import CUDNN, crash

HISTORY = Path(__file__).parents[3] / "docs/reports-history.toml"
NOW = moment("2026-10-19")


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite3") as opened:
        yield opened


@pytest.fixture
def reports(ledger):
    for _ in range(2):  # imported twice it is the same
        history = read_history(HISTORY)
        for incident in history.incidents:
            ledger.add_incident(incident)
        for spell in history.spells:
            ledger.add_exposure(spell)
    return ledger


def asked(ledger, *, engine="qwen", signature=None, since=None, changed_at=None, now=NOW):
    return halves(
        ledger, signature=signature, engine=engine, now=now,
        since=moment(since) if since else None, changed_at=moment(changed_at) if changed_at else None,
    )  # fmt: skip


def test_the_reports_counts_come_out_of_the_ledger(reports):
    found = asked(reports, since="2026-06-25", changed_at="2026-09-05", now=moment("2026-09-11"))
    assert (found.before, found.after) == (Window(2, 72), Window(5, 6))
    assert found.exposure_from == "spells"
    worse = compare_rates(found.before, found.after)
    assert worse.ratio == pytest.approx(30)
    assert worse.p_value < 0.001


def test_the_first_explanation_was_reopened(reports):
    found = asked(reports, since="2026-09-05", changed_at="2026-09-12", now=moment("2026-09-27"))
    assert found.after == Window(4, 15)
    assert assess(found.before, found.after).state is FixState.REOPENED


def test_the_known_fault_is_supported_as_fixed_and_the_whole_is_not(reports):
    known = asked(reports, signature="flashinfer-3566-cudnn-fp8", since="2026-09-05")
    assert (known.before, known.after) == (Window(7, 22), Window(0, 22))
    assert assess(known.before, known.after).state is FixState.SUPPORTED
    whole = asked(reports)
    assert (whole.before, whole.after) == (Window(11, 94), Window(0, 22))
    assert assess(whole.before, whole.after).state is FixState.PROMISING


def test_without_a_time_of_change_the_present_configuration_began_it(reports):
    assert asked(reports).changed_at == moment("2026-09-27")
    assert asked(reports, engine="nemotron").after.exposure == 43


def test_the_first_reports_four_days(reports):
    found = asked(reports, engine="daily-driver", changed_at="2026-09-22", now=moment("2026-09-26"))
    assert (found.before, found.after) == (Window(9, 21), Window(0, 4))
    assert assess(found.before, found.after).state is FixState.OPEN


def test_without_exposure_the_calendar_counts_and_says_so(ledger):
    record = IncidentRecord(id="a", recorded_at="2026-10-01", signature="x", summary="x", engine="qwen")
    ledger.add_incident(record)
    found = asked(ledger, since="2026-09-19", changed_at="2026-10-09")
    assert found.exposure_from == "calendar"
    assert (found.before, found.after) == (Window(1, 20), Window(0, 10))


def test_what_the_ledger_cannot_know_gets_a_sentence(ledger):
    with pytest.raises(UsageError, match="does not know since when"):
        asked(ledger)
    with pytest.raises(UsageError, match="not between"):
        asked(ledger, since="2026-10-10", changed_at="2026-10-01")
    with pytest.raises(UsageError, match="0 configurations"):
        of_configuration(ledger, "abc", None)


def test_a_spell_across_the_change_is_divided(ledger):
    running = Running(engine="qwen", fingerprint="f", started_at="2026-10-01T00:00:00Z", container_id="c" * 64)
    note_up(ledger, running, datetime(2026, 10, 11, tzinfo=UTC))
    found = asked(ledger, since="2026-10-01", changed_at="2026-10-09")
    assert (found.before.exposure, found.after.exposure) == (pytest.approx(8), pytest.approx(2))


def test_exposure_told_again_replaces_and_a_new_boot_adds(ledger):
    running = Running(
        engine="qwen", fingerprint="f", started_at="2026-10-01T00:00:00.500000123Z", container_id="c" * 64
    )
    for hour in (1, 2, 5):
        spell = note_up(
            ledger, running, datetime(2026, 10, 1, hour, 0, 0, 500_000, tzinfo=UTC), Served(hour, 10 * hour)
        )
    total = ledger.exposure(engine="qwen")
    assert (total.hours_up, total.boots, total.requests, total.tokens) == (pytest.approx(5), 1, 5, 50)
    assert spell.configuration.flags == "f"
    assert spell.configuration.kernel
    again = Running(engine="qwen", fingerprint="f", started_at="2026-10-02T00:00:00Z", container_id="d" * 64)
    note_up(ledger, again, datetime(2026, 10, 2, 1, tzinfo=UTC))
    assert ledger.exposure(engine="qwen").boots == 2
    window = of_configuration(ledger, spell.configuration.key[:6], None)
    assert (window.events, window.exposure) == (0, pytest.approx(6 / 24))


def test_an_engine_that_starts_in_the_future_is_no_exposure():
    running = Running(engine="qwen", fingerprint="f", started_at="2026-10-02T00:00:00Z", pid=3)
    with pytest.raises(UsageError):
        spell_of(running, Configuration(), datetime(2026, 10, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[[incident]]\nat = 3\nsignature = 'x'", "not a time"),
        ("[[incident]]\nsignature = 'x'", "at"),
        ("[[incident]]\nat = 2026-01-01\nsignatur = 'x'", "signatur"),
        ("[[spell]]\nengine = 'q'\nfrom = 2026-02-01\nto = 2026-01-01", "before it begins"),
        ("[[spell]]\nengine = 'q'\nfrom = 2026-01-01\nto = 2026-01-02\ndays_up = 3", "cannot have"),
        ("[[spell", "no history"),
    ],
)
def test_a_history_that_cannot_be_gets_a_sentence(tmp_path, text, word):
    path = tmp_path / "h.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=word):
        read_history(path)


def test_two_crashes_of_one_day_are_two(tmp_path):
    path = tmp_path / "h.toml"
    path.write_text("[[incident]]\nat = 2026-01-01\nsignature = 'x'\n" * 2)
    assert len({one.id for one in read_history(path).incidents}) == 2


def test_a_watchdogs_restart_is_filed_under_what_its_evidence_says(tmp_path):
    folder = tmp_path / "evidence"
    folder.mkdir()
    (folder / "log.txt").write_text(crash(CUDNN, "cudnn", "09-06 14:03:11"))
    (folder / "inspect.json").write_text("no container\n")
    seen = IncidentRecord(
        id="w",
        recorded_at="2026-09-06T14:10:00Z",
        signature="watchdog-hung",
        summary="restarted",
        evidence=(str(folder),),
    )
    known = catalogue([])
    told = rooted(seen, known)
    assert told.signature == "flashinfer-3566-cudnn-fp8"
    assert told.detail["seen_as"] == "watchdog-hung"
    assert told.evidence[0] == str(folder)
    (folder / "log.txt").write_text("all is well\n")
    assert rooted(seen, known) == seen
    assert rooted(IncidentRecord(id="x", recorded_at="2026", signature="s", summary=""), known).signature == "s"
