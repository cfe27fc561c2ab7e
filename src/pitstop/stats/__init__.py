"""Summaries, intervals and verdicts: arithmetic on numbers, no I/O and no clock."""
