"""What holds for every test."""

import signal

from hypothesis import settings

# No test judges speed, and Hypothesis's deadline per example would: the machine may be busy.
settings.register_profile("pitstop", deadline=None)
settings.load_profile("pitstop")

# `nohup` and `&` hand down ignored signals, which pitstop goes on ignoring; the tests are about those who are not.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)
