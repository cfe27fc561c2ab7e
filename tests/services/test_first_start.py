"""The first start of a configuration is guarded; later ones, which are known to fit, are not."""

import pytest

from pitstop.core.config.host import Host
from pitstop.core.errors import EngineFailed, GuardTripped, UsageError
from pitstop.core.home import Home
from pitstop.core.units import Size
from pitstop.decisions.plan import GIB
from pitstop.launch.launcher import LaunchSpec
from pitstop.services.first_start import FirstStart, floor_bytes, remember_served, served_before
from pitstop.services.guard.order import GuardReport, GuardVerdict

SPEC = LaunchSpec(engine="smol", launcher="process", argv=("serve",), port=9)
OTHER = LaunchSpec(engine="smol", launcher="process", argv=("serve", "--k", "2"), port=9)
LOW, IMPOSSIBLE = Host(min_available=Size(1)), Host(min_available=Size(2**60))


@pytest.mark.parametrize(
    ("wanted", "total", "floor"),
    [(12 * GIB, 121 * GIB, 12 * GIB), (12 * GIB, 8 * GIB, 2 * GIB), (12 * GIB, None, 12 * GIB), (GIB, 8 * GIB, GIB),
     (7 * GIB, 8 * GIB, 7 * GIB), (900 * GIB, 23 * GIB, 900 * GIB)],
)  # fmt: skip
def test_the_floor_is_the_hosts_and_only_its_default_is_cut_for_a_small_box(wanted, total, floor):
    assert floor_bytes(Host(min_available=Size(wanted)), total) == floor


async def test_what_served_once_is_not_guarded_again(tmp_path):
    home = Home(tmp_path).prepared()
    async with FirstStart(home, LOW, None)(SPEC) as guard:
        assert hasattr(guard, "pid")
    assert served_before(home, SPEC)
    assert not served_before(home, OTHER)
    async with FirstStart(home, LOW, None)(SPEC) as guard:
        assert not hasattr(guard, "pid")


async def test_a_start_that_failed_is_guarded_the_next_time_too(tmp_path):
    home = Home(tmp_path).prepared()
    with pytest.raises(ZeroDivisionError):
        async with FirstStart(home, LOW, None)(SPEC):
            raise ZeroDivisionError
    assert not served_before(home, SPEC)


async def test_a_guard_that_could_not_do_its_job_refuses_before_anything_is_started(tmp_path, monkeypatch):
    home = Home(tmp_path).prepared()
    monkeypatch.setattr("pitstop.services.first_start._LARGEST_SHARE", 2**-30)
    entered = False
    with pytest.raises(UsageError, match="Nothing was started") as refused:
        async with FirstStart(home, IMPOSSIBLE, None)(SPEC):
            entered = True
    assert not entered
    assert "--no-guard" in refused.value.hint


class Tripped:
    """A guard that has killed what it owned."""

    async def own(self, running):
        self.owned = running

    async def wait(self):
        return await self.stop()

    async def stop(self):
        return GuardReport(engine="smol", verdict=GuardVerdict.TRIPPED, reason="MemAvailable fell", memory_back=True)


@pytest.mark.parametrize("fails", [True, False])
async def test_a_kill_is_what_is_told_whatever_the_engine_said_while_it_died(tmp_path, monkeypatch, fails):
    async def spawn(_order, _log):
        return Tripped()

    monkeypatch.setattr("pitstop.services.first_start.spawn_guard", spawn)
    home = Home(tmp_path).prepared()
    with pytest.raises(GuardTripped, match="MemAvailable fell"):
        await _start(FirstStart(home, LOW, None), fails=fails)
    assert not served_before(home, SPEC)


async def _start(guarded, *, fails):
    async with guarded(SPEC):
        if fails:
            raise EngineFailed("engine smol died 3 s after its start")


def test_a_torn_memory_begins_anew(tmp_path):
    home = Home(tmp_path)
    remember_served(home, SPEC)
    (tmp_path / "served/smol.json").write_text("[")
    assert not served_before(home, SPEC)
    remember_served(home, OTHER)
    assert served_before(home, OTHER)
