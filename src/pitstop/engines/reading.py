"""From the samples of one text to the counters of one model: which series belong together, and how they add up."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pitstop.engines.exposition import Exposition, Sample

_RANKS = ("tp_rank", "pp_rank", "moe_ep_rank")
MAX_COUNT = 2**63  # past this a counter is damage, not a count


@dataclass(frozen=True)
class Reading:
    """The series of one model in one text. `models` empty: every series, whoever it belongs to.

    A series without a model label belongs to the only model that there is (llama.cpp, parts of SGLang).
    """

    text: Exposition
    models: frozenset[str] = frozenset()

    def count(self, *names: str) -> int | None:
        """A counter summed over engines and reasons; None when absent or when a part of it is no count."""
        return _summed(_values(_first_ranks(self._mine(self.text.counted(*names)))))

    def gauge(self, *names: str) -> int | None:
        """A gauge of requests summed over engines, each engine once."""
        return _summed(_values(_first_ranks(_without_parts(self._mine(self.text.named(*names))))))

    def share(self, *names: str) -> float | None:
        """A fraction of one; of several engines the fullest, since that one preempts. None when out of 0 to 1."""
        values = _values(self._mine(self.text.named(*names)))
        return max(values) if values and all(0.0 <= value <= 1.0 + 1e-6 for value in values) else None

    def per_position(self, *names: str) -> tuple[int, ...] | None:
        """Counts by `position`, 0 first, summed over engines; None when absent or when a position is missing."""
        samples = self._mine(self.text.counted(*names))
        by_position: dict[int, list[float]] = {}
        for sample in samples:
            position = sample.labels.get("position", "")
            if not (position.isascii() and position.isdigit() and len(position) < 4):
                return None
            by_position.setdefault(int(position), []).append(sample.value)
        counts = [_summed(by_position.get(position, [])) for position in range(len(by_position))]
        return tuple(count for count in counts if count is not None) if counts and None not in counts else None

    def label(self, name: str, label: str) -> str | None:
        """A label of an info series such as `vllm:cache_config_info`."""
        return next((s.labels[label] for s in self._mine(self.text.named(name)) if label in s.labels), None)

    def _mine(self, samples: Iterable[Sample]) -> list[Sample]:
        return [sample for sample in samples if _belongs(sample, self.models)]


def models_named(text: Exposition) -> frozenset[str]:
    """Every model that a label of the wanted series names."""
    return frozenset(s.labels["model_name"] for s in text.samples if "model_name" in s.labels)


def start_time(text: Exposition) -> float | None:
    """When the process says that it started, in seconds since the epoch; of several the newest.

    Read from `process_start_time_seconds` only: llama.cpp's header of that meaning carries a steady clock.
    """
    values = _values(text.named("process_start_time_seconds"))
    return max(values) if values and all(10**9 < value < 10**11 for value in values) else None


def _belongs(sample: Sample, models: Collection[str]) -> bool:
    return not models or "model_name" not in sample.labels or sample.labels["model_name"] in models


def _without_parts(samples: list[Sample]) -> list[Sample]:
    """SGLang splits a gauge by priority, beside its sum, whose priority is empty: the sum alone, where there is one."""
    return [sample for sample in samples if sample.labels.get("priority", "") == ""] or samples


def _first_ranks(samples: list[Sample]) -> list[Sample]:
    """SGLang may say the same from every rank of tensor and pipeline parallelism, which are one engine: the first.

    Ranks of data parallelism (`dp_rank`) are engines of their own.
    """
    kept: dict[tuple[tuple[str, str], ...], Sample] = {}
    for sample in sorted(samples, key=lambda s: [s.labels.get(rank, "") for rank in _RANKS]):
        kept.setdefault(tuple(sorted((k, v) for k, v in sample.labels.items() if k not in _RANKS)), sample)
    return list(kept.values())


def _values(samples: Iterable[Sample]) -> list[float]:
    return [sample.value for sample in samples]


def _summed(values: list[float]) -> int | None:
    if not values or not all(math.isfinite(value) and 0 <= value < MAX_COUNT for value in values):
        return None
    return round(sum(values))
