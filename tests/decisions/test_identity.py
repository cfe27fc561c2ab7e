import msgspec
import pytest

from pitstop.core.documents import EngineIdentity
from pitstop.decisions.identity import mismatch

ENGINE = EngineIdentity(
    kind="vllm", model="qwen", version="0.32.0", pid=7, started_at="2026-11-01T00:00:00Z", fingerprint="abc"
)


def changed(**values):
    return msgspec.structs.replace(ENGINE, **values)


def test_the_same_engine_as_ordered_is_no_mismatch():
    assert mismatch("abc", ENGINE, ENGINE) == ""


def test_a_server_that_pitstop_did_not_launch_needs_only_to_stay_the_same():
    plain = EngineIdentity(kind="openai", model="m")
    assert mismatch(None, plain, plain) == ""


def test_a_restart_with_the_defaults_behind_the_back_is_named_with_the_engine_that_answered():
    """The first report's case: k=2 was ordered, a watchdog restarted production, and production was measured."""
    production = changed(version="0.23.1", fingerprint="def", pid=9)
    for before, after in ((production, production), (ENGINE, production)):
        reason = mismatch("abc", before, after)
        assert "0.23.1" in reason
        assert "abc" in reason


@pytest.mark.parametrize(
    "change",
    [
        {"version": "0.33"},
        {"pid": 8},
        {"started_at": "later"},
        {"model": "other"},
        {"container_id": "c"},
        {"image_digest": "d"},
        {"version": None},
    ],
)
def test_whatever_changes_during_a_measurement_makes_it_invalid(change):
    assert "changed during the measurement" in mismatch("abc", ENGINE, changed(**change))
