"""What holds for every test."""

import signal

import uvloop
from hypothesis import settings

# No test judges speed, and Hypothesis's deadline per example would: the machine may be busy.
settings.register_profile("pitstop", deadline=None)
settings.load_profile("pitstop")

# `nohup` and `&` hand down ignored signals, which pitstop goes on ignoring; the tests are about those who are not.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


def pytest_asyncio_loop_factories(config, item):
    """The loop of the command line and the gateway: it differs from Python's own in what it raises and hands down."""
    return {"uvloop": uvloop.new_event_loop}
