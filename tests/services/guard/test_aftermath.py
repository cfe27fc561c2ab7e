import pytest

from pitstop.core.config.host import Host
from pitstop.core.home import Home
from pitstop.ledger.store import Ledger
from pitstop.services.evidence import blotted
from pitstop.services.guard.aftermath import tell
from pitstop.services.guard.order import GuardReport, GuardVerdict


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home").prepared()


def saved(home, **changes):
    times = {"started_at": "2026-01-01T00:00:00.000Z", "finished_at": "2026-01-01T00:01:00.000Z"}
    report = GuardReport("qwen", verdict=GuardVerdict.TRIPPED, reason="it was low", cause="floor", **times, **changes)
    folder = home.evidence / "guard-qwen-x"
    folder.mkdir()
    (folder / "guard.json").write_text(report.to_json())
    return folder / "guard.json"


async def test_a_kill_is_filed_once_however_often_it_is_told(home):
    evidence = saved(home, memory_back=False, still_there=[{"pid": 7, "name": "VLLM::EngineCore"}])
    for _ in range(2):
        await tell(evidence, home, Host(), {})
    with Ledger.open(home.ledger) as ledger:
        (incident,) = ledger.incidents()
    assert (incident.signature, incident.engine) == ("guard-kill", "qwen")
    assert incident.consequences == ("memory did not come back",)
    assert any("VLLM::EngineCore" in line for line in incident.evidence)


async def test_what_cannot_be_told_is_said(home):
    problems = await tell(saved(home), home, Host(notify=("NOWHERE",)), {})
    assert "NOWHERE is not set" in problems


@pytest.mark.parametrize(
    "text", ["Authorization: Bearer abcdefgh12345", "api_key='abcdefgh12345'", "token hf_abcdefgh12345", "own-key-1"]
)
def test_evidence_holds_no_key(text):
    shown = blotted(text, "own-key-1")
    assert "abcdefgh12345" not in shown
    assert "own-key-1" not in shown
