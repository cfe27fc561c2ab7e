"""Waiting for idleness: the gateway's door is shut only when it is time, and open again whenever it was too early."""

import asyncio

import msgspec
import pytest

from pitstop.core.errors import Unreachable
from pitstop.core.home import Home
from pitstop.core.units import Duration
from pitstop.decisions.trial import How
from pitstop.engines.adapter import Counters
from pitstop.services.own_requests import own_request
from pitstop.services.trial import idle
from support.trial_world import World, promise, stage


class Server:
    """An adapter whose counters follow a script; the last reading stays."""

    def __init__(self, *readings):
        self.readings = list(readings)

    async def counters(self, _endpoint):
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]


class Door:
    def __init__(self, *inside):
        self.counts, self.is_shut, self.shuts = list(inside), False, 0
        self.rang, self.loop = asyncio.Event(), asyncio.get_running_loop()

    def inside(self, _engine):
        count = self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]
        if isinstance(count, Exception):
            raise count
        return count

    def shut(self, engine):
        self.is_shut, self.shuts = True, self.shuts + 1
        self.loop.call_soon_threadsafe(self.rang.set)
        return self.inside(engine)

    def open(self, _engine):
        self.is_shut = False


QUIET = Counters(requests_running=0, requests_waiting=0, requests_finished=5)
BUSY = Counters(requests_running=1, requests_waiting=0, requests_finished=5)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(idle, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(idle, "DRAIN_S", 0.3)


async def wait(tmp_path, server, door, *, idle_for=0.01, give_up_after=5.0, said=None):
    trial = msgspec.structs.replace(promise().trial, idle_for=Duration(idle_for), give_up_after=Duration(give_up_after))
    on = stage(tmp_path, World())
    site = on.site.__class__(**{**on.site.__dict__, "adapter": server})
    say = said.append if said is not None else (lambda _text: None)
    return await idle.wait_idle(site, msgspec.structs.replace(promise(), trial=trial), Home(tmp_path), door, say)


async def test_an_idle_server_is_left_with_the_door_shut(tmp_path):
    door = Door(0)
    assert (await wait(tmp_path, Server(BUSY, BUSY, QUIET), door)).how is How.DONE
    assert door.is_shut


async def test_a_busy_one_is_given_up_with_the_door_never_shut_and_says_what_it_waited_for(tmp_path):
    door, said = Door(0), []
    outcome = await wait(tmp_path, Server(BUSY), door, give_up_after=0.05, said=said)
    assert outcome.how is How.GAVE_UP
    assert "1 running" in outcome.reason
    assert "1 running" in said[0]
    assert door.shuts == 0


async def test_what_slips_in_while_the_door_is_shut_is_waited_for(tmp_path):
    door = Door(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0)
    assert (await wait(tmp_path, Server(QUIET), door)).how is How.DONE
    assert door.is_shut


async def test_a_request_that_does_not_end_inside_opens_the_door_again(tmp_path):
    class Inside(Door):
        def inside(self, _engine):
            return 1 if self.is_shut else 0

    door = Inside(0)
    outcome = await wait(tmp_path, Server(QUIET), door, give_up_after=0.5)
    assert outcome.how is How.GAVE_UP
    assert "inside the gateway" in outcome.reason
    assert door.shuts >= 1
    assert not door.is_shut


async def test_a_gateway_that_does_not_answer_is_no_silence(tmp_path):
    outcome = await wait(tmp_path, Server(QUIET), Door(Unreachable("the gateway with process 7 does not answer")))
    assert outcome.how is How.REFUSED


async def test_an_interruption_while_it_drains_opens_the_door(tmp_path):
    class Inside(Door):
        def inside(self, _engine):
            return 1 if self.is_shut else 0

    door = Inside(0)
    task = asyncio.ensure_future(wait(tmp_path, Server(QUIET), door))
    await asyncio.wait_for(door.rang.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not door.is_shut


async def test_a_probe_of_ours_keeps_nobody_waiting(tmp_path):
    with own_request(Home(tmp_path), "smol"):
        pass
    served = Counters(requests_running=0, requests_finished=6)
    with own_request(Home(tmp_path), "smol"):
        assert (await wait(tmp_path, Server(BUSY), Door(0), give_up_after=0.05)).how is How.GAVE_UP
    assert (await wait(tmp_path, Server(served), Door(0))).how is How.DONE


async def test_who_asked_for_no_idle_time_gets_none(tmp_path):
    outcome = await wait(tmp_path, Server(None), Door(0), idle_for=0.0)
    assert outcome.how is How.DONE
