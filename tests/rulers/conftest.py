import pytest

from pitstop.rulers import lateness


@pytest.fixture(autouse=True)
def _a_busy_machine_is_not_what_is_tested(monkeypatch):
    """Streams of a tenth of a second on a machine that runs other tests: a delay of 1 % of that is everyday."""
    monkeypatch.setattr(lateness, "MOST_SHARE", 100.0)
