from types import SimpleNamespace

import pytest

from pitstop.core.errors import EngineFailed, RequestRefused, Unreachable
from pitstop.engines.adapter import Counters
from pitstop.services.trial.busy import token_in_time, worked

AT_WORK = [Counters(generation_tokens=tokens) for tokens in (100, 400, 400, 900, 900, 900)]


class World:
    """An engine that has no token for us for so many times; each look at its counters gives the next reading."""

    def __init__(self, readings, failures, error=None):
        self.readings, self.failures = list(readings), failures
        self.error = error or EngineFailed("no token")
        self.asked, self.said, self.waits = 0, [], []
        self.site = SimpleNamespace(name="qwen", endpoint=None, adapter=self)

    async def counters(self, _endpoint):
        reading = self.readings.pop(0)
        if isinstance(reading, Exception):
            raise reading
        return reading

    async def generate(self, _site, *, deadline_s):
        self.waits.append(deadline_s)
        self.asked += 1
        if self.asked <= self.failures:
            raise self.error
        return "hello"

    async def pause(self, _seconds):
        pass

    async def token(self, patience_s=60.0):
        return await token_in_time(self.site, self.generate, patience_s, self.said.append, self.pause)


async def test_an_engine_that_works_for_others_is_asked_again():
    world = World(AT_WORK, failures=2)
    assert await world.token() == "hello"
    assert world.waits == [60.0, 120.0, 240.0]  # or it would stand at the end of the same queue for ever
    assert len(world.said) == 2
    assert "busy" in world.said[0]


@pytest.mark.parametrize(
    "readings",
    [
        [Counters(generation_tokens=100), Counters(generation_tokens=100)],  # wedged
        [None, None],  # it has no counters
        [Unreachable("away"), Counters(generation_tokens=5)],
        [Counters(generation_tokens=100, process_start_s=1.0), Counters(generation_tokens=200, process_start_s=9.0)],
    ],
)
async def test_one_that_does_nothing_or_of_which_nothing_is_known_is_not_waited_for(readings):
    world = World(readings, failures=1)
    with pytest.raises(EngineFailed):
        await world.token()
    assert world.asked == 1


async def test_patience_ends():
    with pytest.raises(EngineFailed):
        await World(AT_WORK, failures=9).token(patience_s=0.0)


async def test_a_refusal_is_no_queue():
    world = World(AT_WORK, failures=1, error=RequestRefused("wrong key"))
    with pytest.raises(RequestRefused):
        await world.token()
    assert world.asked == 1


def test_a_finished_request_is_work_as_well():
    assert worked(Counters(requests_finished=1), Counters(requests_finished=2))
    assert not worked(Counters(requests_finished=2), Counters(requests_finished=1))
