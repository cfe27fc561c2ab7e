"""Metrics texts (Prometheus, OpenMetrics) as samples, whatever dialect and damage they come with.

The well-kept parser gives up on a whole text at its first bad line, appends `_total` to counters that lack it and takes
some 14 µs a line, so each wanted line is given to it alone: a bad line costs that line, names stay as they were
written, and what nobody asked for (histogram buckets, mostly) is never parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

# A vLLM text has 0.1 to 1 MB and under a thousand lines an engine. One that is longer is not read at all, rather than
# in part: half a sum looks like a count. Reading this much takes half a second.
MAX_TEXT_CHARS = 8 * 2**20
MAX_LINES = 50_000
MAX_LINE_CHARS = 16 * 2**10  # the parser is quadratic in labels, and no honest series is this long

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sample:
    """One series as it was written: its name with or without `_total`, its labels, its value (NaN and Inf too)."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Exposition:
    """The wanted samples of one text. A series that is written twice counts once, with its last value."""

    samples: tuple[Sample, ...] = ()
    lost_lines: int = 0
    names: frozenset[str] = field(default_factory=frozenset)  # of every series of the text, wanted or not

    def named(self, *names: str) -> tuple[Sample, ...]:
        """The samples of the first of `names` that the text has: renames are alternatives, never a sum."""
        for name in names:
            found = tuple(sample for sample in self.samples if sample.name == name)
            if found:
                return found
        return ()

    def counted(self, *names: str) -> tuple[Sample, ...]:
        """Like `named`, each name with `_total` or without."""
        return self.named(*(form for name in names for form in (f"{name}_total", name)))


def parse(text: str, wanted: Collection[str]) -> Exposition:
    """Read the series whose name, less `_total`, is in `wanted`. Never raises; a text without end has no series."""
    if len(text) > MAX_TEXT_CHARS or text.count("\n") > MAX_LINES:
        return Exposition()
    series: dict[tuple[str, Labels], Sample] = {}
    names: set[str] = set()
    lost = 0
    for line in _lines(text):
        name = _name(line)
        names.add(name)
        if name.removesuffix("_total") not in wanted:
            continue
        sample = _sample(line)
        if sample is None:
            lost += 1
        else:
            series[sample.name, tuple(sorted(sample.labels.items()))] = sample
    return Exposition(tuple(series.values()), lost, frozenset(names))


def _lines(text: str) -> Iterator[str]:
    """The lines that hold a series; only LF and CRLF end one, since a label may hold any other separator."""
    for raw in text.split("\n"):
        line = raw.strip(" \t\r")
        if line and not line.startswith("#"):
            yield line


def _name(line: str) -> str:
    end = min((at for at in (line.find(mark) for mark in "{ \t") if at >= 0), default=len(line))
    return line[:end]


def _sample(line: str) -> Sample | None:
    if len(line) > MAX_LINE_CHARS:
        return None
    try:
        family = next(iter(text_string_to_metric_families(line)))
        read = family.samples[0]
        return Sample(read.name, read.labels, float(read.value))
    except (ValueError, LookupError, TypeError, ArithmeticError, StopIteration):
        return None
