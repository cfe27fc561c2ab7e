"""What holds for every test."""

from hypothesis import settings

# No test judges speed, and Hypothesis's deadline per example would: the machine may be busy.
settings.register_profile("pitstop", deadline=None)
settings.load_profile("pitstop")
