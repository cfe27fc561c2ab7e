import asyncio
import os
import signal
import threading

import pytest

from pitstop.client.loop import run
from pitstop.core.stopping import STOPPING, heeded, interrupt


@pytest.fixture(autouse=True)
def signals_as_before():
    before = {number: signal.getsignal(number) for number in STOPPING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def sends_itself(numbers, told):
    """Send the signals one after the other: the first while working, the others while cleaning up."""
    first, *others = numbers
    try:
        os.kill(os.getpid(), first)
        await asyncio.sleep(5)
    finally:
        for number in others:
            os.kill(os.getpid(), number)
            await asyncio.sleep(0.01)
        told.append("cleaned up")


@pytest.mark.parametrize("number", STOPPING)
def test_every_way_of_being_stopped_cleans_up_and_ends_as_an_interrupt(number):
    told = []
    with pytest.raises(KeyboardInterrupt):
        run(sends_itself([number], told))
    assert told == ["cleaned up"]


def test_a_second_signal_does_not_break_off_the_clean_up():
    told = []
    with pytest.raises(KeyboardInterrupt):
        run(sends_itself([signal.SIGINT, signal.SIGINT, signal.SIGTERM], told))
    assert told == ["cleaned up"]


def test_a_cancellation_of_its_own_is_no_interrupt():
    async def cancelled():
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(cancelled())


def test_signals_mean_afterwards_what_they_meant_before():
    before = [signal.getsignal(number) for number in STOPPING]
    assert run(asyncio.sleep(0, "done")) == "done"
    assert [signal.getsignal(number) for number in STOPPING] == before


def test_what_nohup_ignores_stays_ignored():
    async def hung_up():
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.01)
        return "went on"

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(hung_up()) == "went on"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_once_it_is_stopping_nothing_interrupts_the_clean_up_outside_of_the_loop_either():
    with pytest.raises(KeyboardInterrupt):
        run(sends_itself([signal.SIGTERM], []))
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    assert heeded() == []
    assert run(asyncio.sleep(0, "cleaned up")) == "cleaned up"


def test_outside_of_a_loop_the_first_signal_interrupts_and_the_second_is_taken_note_of():
    for number in STOPPING:
        signal.signal(number, interrupt)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGHUP)
    assert heeded() == []


def test_a_thread_heeds_no_signal():
    told = []
    thread = threading.Thread(target=lambda: told.append(run(asyncio.sleep(0, heeded()))))
    thread.start()
    thread.join(10)
    assert told == [[]]
