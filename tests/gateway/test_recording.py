"""Accounts on their way to log, metrics and ledger."""

import logging

from prometheus_client import generate_latest

from pitstop.core.errors import UsageError
from pitstop.gateway.account import Account, Outcome
from pitstop.gateway.ledger_rows import LedgerRows
from pitstop.gateway.metrics import Metrics
from pitstop.gateway.recorder import Recorder, write_log
from pitstop.gateway.thinking_budget import Kept
from pitstop.gateway.usage import Usage
from pitstop.ledger.store import Ledger

COUNTED = Usage(prompt_tokens=5, completion_tokens=7)


def account(**fields):
    usual = {
        "key": "bob",
        "route": "mid",
        "answered_by": "mid",
        "engine": "a",
        "api": "chat/completions",
        "status": 200,
    }
    return Account(**{"request_id": "req-1", "at_s": 1.7e9, **usual, **fields})


def test_rows_reach_the_ledger_and_the_unknown_stays_unknown(tmp_path):
    recorder = Recorder([LedgerRows(tmp_path / "ledger.sqlite3", 3600)])
    recorder.start()
    recorder.put(account(usage=COUNTED, ttft_s=0.5, budget=10, budget_kept=Kept.EXCEEDED))
    recorder.put(account(at_s=1.6e9))  # is too old to be kept
    recorder.put(account(failures=["mid: answered with status 500"], answered_by="swift"))
    recorder.stop()
    with Ledger.open(tmp_path / "ledger.sqlite3") as ledger:
        second, first = ledger.requests()
        assert (first.completion_tokens, first.ttft_s, first.budget_kept) == (7, 0.5, "exceeded")
        assert (second.completion_tokens, second.ttft_s, second.answered_by) == (None, None, "swift")
        [usage] = ledger.request_usage()
        assert (usage.requests, usage.counted, usage.completion_tokens) == (2, 1, 7)
        assert ledger.forget_requests("2030-01-01T00:00:00Z") == 2


def test_when_it_ends_the_ledger_is_let_go(tmp_path):
    rows = LedgerRows(tmp_path / "ledger.sqlite3", 3600)
    recorder = Recorder([rows])
    recorder.start()
    recorder.put(account())
    recorder.stop()
    assert rows._ledger is None


def test_a_ledger_that_takes_nothing_costs_rows_and_says_so_once(caplog):
    def full(_batch):
        raise UsageError("the disk is full")

    taken = []
    recorder = Recorder([full, taken.extend])
    for _ in range(3):
        recorder.put(account())
        recorder._hand_over()
    assert len(taken) == 3
    assert recorder.dropped == 3
    assert len([record for record in caplog.records if "disk is full" in record.message]) == 1


def test_a_defect_in_one_sink_does_not_end_the_thread():
    def broken(_batch):
        raise RuntimeError

    taken = []
    logging.getLogger("pitstop.gateway").disabled = True
    try:
        recorder = Recorder([broken, taken.extend])
        recorder.start()
        recorder.put(account())
        recorder.stop()
    finally:
        logging.getLogger("pitstop.gateway").disabled = False
    assert len(taken) == 1


def test_there_is_one_log_line_per_request(caplog):
    with caplog.at_level(logging.INFO, "pitstop.gateway"):
        write_log([account(usage=COUNTED), account(outcome=Outcome.REFUSED, reason="rate_limit_exceeded", status=429)])
    first, second = (record.getMessage() for record in caplog.records)
    assert "key=bob route=mid by=mid engine=a" in first
    assert "tokens=5/7/-/-" in first
    assert "status=429 outcome=refused" in second


def test_metrics_count_what_happened():
    metrics = Metrics()
    metrics.take([
        account(usage=COUNTED, ttft_s=0.1, budget=1, budget_kept=Kept.EXCEEDED),
        account(failures=["mid: x"], answered_by="swift", held_s=2.0),
        account(outcome=Outcome.REFUSED, reason="held", status=503, answered_by=""),
    ])  # fmt: skip
    text = generate_latest(metrics.registry).decode()
    for line in (
        'pitstop_gateway_tokens_total{key="bob",kind="completion",route="mid"} 7.0',
        'pitstop_gateway_unknown_usage_total{route="mid"} 1.0',
        'pitstop_gateway_thinking_budget_total{outcome="exceeded",route="mid"} 1.0',
        'pitstop_gateway_fallbacks_total{answered_by="swift",route="mid"} 1.0',
        'pitstop_gateway_engine_failures_total{route="mid"} 1.0',
        'pitstop_gateway_refusals_total{reason="held"} 1.0',
        'pitstop_gateway_held_seconds_total{route="mid"} 2.0',
        'pitstop_gateway_ttft_seconds_count{route="mid"} 1.0',
    ):
        assert line in text
