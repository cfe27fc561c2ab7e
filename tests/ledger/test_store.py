import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.documents import Figure, Status
from pitstop.core.errors import UsageError
from pitstop.ledger.records import (
    BootFigure,
    Configuration,
    IncidentRecord,
    PinRecord,
    Spell,
    Transition,
    instant,
)
from pitstop.ledger.store import Ledger
from support.kept import a_figure, a_run, a_trial

OLD = Configuration(image_digest="sha256:old", driver="580.95", kernel="6.14", flags="f1")
NEW = Configuration(image_digest="sha256:new", driver="580.95", kernel="6.14", flags="f1")


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite3") as opened:
        yield opened


def an_incident(name: str, *, day: int = 1, signature: str = "flashinfer-3566", engine: str = "qwen") -> IncidentRecord:
    return IncidentRecord(
        id=name,
        recorded_at=f"2026-09-{day:02d}T12:00:00Z",
        first_at=f"2026-09-{day:02d}T11:59:00+00:00",
        signature=signature,
        summary="an illegal memory access",
        engine=engine,
        configuration=OLD,
        evidence=("CUDA error: an illegal memory access was encountered",),
    )


def a_spell(name: str, hours: float, *, configuration: Configuration = OLD, day: int = 1, **counts) -> Spell:
    return Spell(
        spell=name,
        engine="qwen",
        configuration=configuration,
        started_at=f"2026-09-{day:02d}T00:00:00Z",
        ended_at=f"2026-09-{day + 1:02d}T00:00:00Z",
        hours_up=hours,
        **counts,
    )


def a_boot(boot: str, value: float, *, pair: str | None = None, configuration: str = "f1") -> BootFigure:
    return BootFigure(
        boot=boot, at="2026-10-19T00:00:00Z", engine_kind="vllm", configuration=configuration, ruler="decode",
        case="prose", metric="decode_tok_s", value=value, pair=pair,
    )  # fmt: skip


def test_a_run_comes_back_as_it_was_with_its_samples(ledger):
    run = a_run("r1", samples=5)
    ledger.record_run(run)
    assert ledger.run("r1") == run
    assert ledger.samples("r1", "decode", "case1", "decode_tok_s") == list(run.figures[1].samples)


def test_a_run_told_again_replaces_what_was_there(ledger):
    ledger.record_run(a_run("r1", figures=5, samples=50))
    ledger.record_run(a_run("r1", figures=1, samples=2))
    assert [len(ledger.samples("r1", "decode", f"case{i}", "decode_tok_s")) for i in range(3)] == [2, 0, 0]
    assert [run.figures for run in ledger.runs()] == [1]


def test_a_run_does_not_lose_its_trial_when_it_is_told_again_without_one(ledger):
    ledger.record_trial(a_trial("t1"))
    ledger.record_run(a_run("t1-0"))
    assert {run.id: (run.trial_id, run.arm) for run in ledger.runs()} == {"t1-0": ("t1", "k2"), "t1-1": ("t1", "k2")}


def test_a_figure_without_a_value_is_kept_as_not_known(ledger):
    unknown = msgspec.structs.replace(a_figure(), value=None, status=Status.UNAVAILABLE, reason="no usage", samples=())
    run = a_run("r1")
    run.figures = [unknown]
    ledger.record_run(run)
    (point,) = ledger.history("decode", unknown.case, "decode_tok_s")
    assert (point.value, point.status) == (None, "unavailable")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_sample_that_is_no_number_is_refused_and_nothing_is_kept(ledger, bad):
    run = a_run("r1")
    run.figures = [msgspec.structs.replace(a_figure(), samples=(80.0, bad))]
    with pytest.raises(UsageError, match=r"would not read back.*figures"):
        ledger.record_run(run)
    assert ledger.runs() == []


def test_a_time_that_is_none_is_refused(ledger):
    run = a_run("r1")
    run.started_at = "yesterday"
    with pytest.raises(UsageError, match="not a time"):
        ledger.record_run(run)


@pytest.mark.parametrize(
    "text",
    ["2026-10-19T12:00:00Z", "2026-10-19T14:00:00+02:00", "2026-10-19 12:00:00", "2026-10-19T12:00:00.000000+00:00"],
)
def test_one_instant_is_one_text_however_it_was_written(text):
    assert instant(text) == "2026-10-19T12:00:00.000000+00:00"


@pytest.mark.parametrize("text", ["", "now", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00", None])
def test_what_is_no_instant_is_refused(text):
    with pytest.raises(UsageError, match="not a time"):
        instant(text)


def test_a_trial_comes_back_whole_and_its_runs_are_found_beside_it(ledger):
    trial = a_trial("t1")
    ledger.record_trial(trial)
    ledger.record_trial(trial)
    assert ledger.trial("t1") == trial
    assert {run.id for run in ledger.runs(trial_id="t1")} == {"t1-0", "t1-1"}


def test_a_step_told_twice_is_one_step_and_does_not_turn_the_trial_back(ledger):
    ledger.record_trial(a_trial("t1"))
    first = Transition(trial_id="t1", at="2026-10-19T01:00:00Z", from_state="planned", to_state="waiting")
    second = Transition(trial_id="t1", at="2026-10-19T01:05:00Z", from_state="waiting", to_state="measuring")
    for step in (first, second, first, second, first):
        ledger.record_transition(step)
    assert [step.to_state for step in ledger.transitions("t1")] == ["waiting", "measuring"]
    assert ledger.trial("t1").state == ledger.list_trials()[0].state == "measuring"


def test_lists_show_the_latest_first_and_no_more_than_asked(ledger):
    for minute in (5, 1, 9, 3):
        ledger.record_trial(a_trial(f"t{minute}", minute=minute))
    assert [trial.id for trial in ledger.list_trials(limit=3)] == ["t9", "t5", "t3"]
    assert [run.id for run in ledger.runs(limit=2)] == ["t9-1", "t9-0"]


def test_the_beginning_of_an_id_is_enough_while_it_means_one(ledger):
    for name in ("20261019-aaaa", "20261019-abbb", "20261020-cccc"):
        ledger.record_trial(a_trial(name, runs=0))
    assert ledger.trial("20261020").id == "20261020-cccc"
    with pytest.raises(UsageError, match="20261019-aaaa, 20261019-abbb"):
        ledger.trial("20261019-a")
    with pytest.raises(UsageError, match=r"there is no trial `20261019-bbbb`; there are .*20261019-abbb"):
        ledger.trial("20261019-bbbb")


def test_an_id_that_begins_another_is_still_itself(ledger):
    for name in ("t1", "t10", "t11"):
        ledger.record_trial(a_trial(name, runs=0))
    assert ledger.trial("t1").id == "t1"


@pytest.mark.parametrize("wanted", ["", "%", "_", "t%", "T1", "' OR 1=1 --", "\x00", "t1\n"])
def test_what_is_no_beginning_of_an_id_finds_nothing(ledger, wanted):
    ledger.record_trial(a_trial("t1", runs=0))
    with pytest.raises(UsageError, match="there is no trial"):
        ledger.trial(wanted)


def test_an_empty_ledger_says_that_nothing_was_recorded_yet(ledger):
    with pytest.raises(UsageError, match="none was recorded yet"):
        ledger.run("r1")


def test_an_incident_seen_twice_is_one_incident(ledger):
    ledger.add_incident(an_incident("i1"))
    ledger.add_incident(an_incident("i1"))
    ledger.add_incident(an_incident("i2", day=9, signature="shm"))
    assert [incident.id for incident in ledger.incidents()] == ["i2", "i1"]
    assert [incident.id for incident in ledger.incidents(signature="shm")] == ["i2"]
    assert ledger.incidents(since="2026-09-09T11:59:00Z") == [an_incident("i2", day=9, signature="shm")]
    assert ledger.incidents(engine="nemotron") == []
    assert ledger.incident("i1") == an_incident("i1")


def test_a_spell_that_goes_on_is_replaced_not_added(ledger):
    for hours in (1.0, 2.0, 24.0):
        ledger.add_exposure(a_spell("s1", hours, requests=int(hours) * 10))
    total = ledger.exposure(engine="qwen")
    assert (total.spells, total.hours_up, total.requests) == (1, 24.0, 240)


def test_requests_that_were_not_counted_are_not_counted_as_none(ledger):
    ledger.add_exposure(a_spell("s1", 10.0, requests=100, tokens=None))
    ledger.add_exposure(a_spell("s2", 30.0, requests=None, tokens=None, day=3))
    total = ledger.exposure()
    assert (total.hours_up, total.requests, total.requests_hours) == (40.0, 100, 10.0)
    assert (total.tokens, total.tokens_hours) == (None, 0.0)


def test_a_change_of_any_part_starts_a_new_count(ledger):
    ledger.add_exposure(a_spell("s1", 10.0))
    ledger.add_exposure(a_spell("s2", 20.0, configuration=NEW, day=5))
    assert ledger.exposure(configuration=OLD).hours_up == 10
    assert ledger.exposure(configuration=NEW.key).hours_up == 20
    assert ledger.exposure(since="2026-09-05T00:00:00Z").hours_up == 20
    assert ledger.exposure(configuration=Configuration()).spells == 0
    keys = {Configuration(driver="1").key, Configuration(kernel="1").key, Configuration(flags="1").key, OLD.key}
    assert len(keys) == 4


@pytest.mark.parametrize("hours", [-1.0, math.nan, math.inf])
def test_impossible_hours_are_refused(ledger, hours):
    with pytest.raises(UsageError, match="cannot be"):
        ledger.add_exposure(a_spell("s1", hours))


def test_the_pins_of_an_engine_are_its_way_back(ledger):
    pins = [
        PinRecord(
            engine="qwen", at=f"2026-10-{day:02d}T00:00:00Z", image=f"vllm:{day}@sha256:{day}", digest=f"sha256:{day}"
        )
        for day in (1, 5, 9)
    ]
    for pin in (*pins, pins[0]):
        ledger.record_pin(pin)
    assert ledger.pins("qwen") == pins[::-1]
    assert ledger.pins("nemotron") == []


def test_noise_is_known_from_pairs_and_from_boots_of_one_configuration(ledger):
    assert ledger.noise_prior("vllm", "decode", "prose", "decode_tok_s") is None
    ledger.record_noise([a_boot("b1", 80.0, pair="p1"), a_boot("b2", 82.0, pair="p1"), a_boot("b9", 10.0, pair="p2")])
    prior = ledger.noise_prior("vllm", "decode", "prose", "decode_tok_s")
    assert (prior.sd, prior.df) == (pytest.approx(math.log(82 / 80)), 1)
    ledger.record_noise([a_boot("b3", 80.0), a_boot("b4", 81.0), a_boot("b5", 160.0, configuration="f2")])
    assert ledger.noise_prior("vllm", "decode", "prose", "decode_tok_s").df == 2
    assert ledger.noise_prior("llamacpp", "decode", "prose", "decode_tok_s") is None


def test_a_boot_told_twice_is_one_boot(ledger):
    for _ in range(2):
        ledger.record_noise([a_boot("b1", 80.0), a_boot("b2", 81.0)])
    assert ledger.noise_prior("vllm", "decode", "prose", "decode_tok_s").df == 1


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_boot_without_a_ratio_is_refused_and_the_others_with_it(ledger, bad):
    with pytest.raises(UsageError, match="no ratio"):
        ledger.record_noise([a_boot("b1", 80.0), a_boot("b2", bad)])
    ledger.record_noise([a_boot("b2", 81.0)])
    assert ledger.noise_prior("vllm", "decode", "prose", "decode_tok_s") is None


def test_a_record_that_somebody_else_spoilt_is_told(ledger, tmp_path):
    ledger.record_trial(a_trial("t1"))
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as other:
        other.execute("UPDATE trial SET document = '{\"id\": 7}'")
        other.commit()
    with pytest.raises(UsageError, match="record of trial t1 cannot be read"):
        ledger.trial("t1")
    assert len(ledger.list_trials()) == 1


def test_threads_may_write_together(ledger):
    def write(thread: int) -> None:
        for number in range(5):
            ledger.record_run(a_run(f"r{thread}-{number}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(ledger.runs()) == 20


_WRITE_FOR_EVER = """
import sys
from pitstop.ledger.store import Ledger
from support.kept import a_trial
with Ledger.open(sys.argv[1]) as ledger:
    print("writing", flush=True)
    number = 0
    while True:
        ledger.record_trial(a_trial(f"t{number % 7}", state=str(number), minute=number % 60, runs=2 + number % 3))
        number += 1
        if number == 10: print("ten", flush=True)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_a_writer_killed_in_the_middle_leaves_whole_trials(tmp_path, attempt):
    place = tmp_path / "ledger.sqlite3"
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITE_FOR_EVER, str(place)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": "tests"},
    )
    try:
        for _ in range(2):
            assert writer.stdout.readline()
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait(30)
        writer.stdout.close()
    with Ledger.open(place) as ledger:
        assert len(ledger.list_trials()) == 7
        for summary in ledger.list_trials():
            trial = ledger.trial(summary.id)
            for run in trial.arms[0].runs:
                assert ledger.run(run.id) == run
                for figure in run.figures:
                    assert ledger.samples(run.id, "decode", figure.case, "decode_tok_s") == list(figure.samples)
    with closing(sqlite3.connect(place)) as reader:
        assert reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)


texts = st.text(st.characters(codec="utf-8"), max_size=20)


@given(
    st.lists(
        st.builds(
            Figure,
            ruler=texts,
            case=texts,
            metric=texts,
            unit=texts,
            value=st.none() | st.floats(allow_nan=False, allow_infinity=False),
            status=st.sampled_from(Status),
            source=texts,
            reason=texts,
            n=st.integers(0, 2**62),
            samples=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4).map(tuple),
            interval=st.none(),
            detail=st.dictionaries(texts, texts | st.integers(-(2**62), 2**62) | st.none(), max_size=2),
        ),
        max_size=4,
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20),
)
def test_any_figures_come_back_as_they_were(tmp_path_factory, figures, run_id):
    run = a_run(run_id)
    run.figures = figures
    with Ledger.open(tmp_path_factory.getbasetemp() / "any.sqlite3") as ledger:
        ledger.record_run(run)
        assert ledger.run(run_id) == run
