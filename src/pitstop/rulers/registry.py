"""Rulers by the name that `--ruler` and `rulers = […]` give them."""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.core.config.nearest import nearest
from pitstop.core.errors import UsageError
from pitstop.rulers.concurrency import Concurrency
from pitstop.rulers.decode import Decode
from pitstop.rulers.long_input import LongInput
from pitstop.rulers.mutual_load import MutualLoad
from pitstop.rulers.prefill import Prefill
from pitstop.rulers.quality.ruler import Quality
from pitstop.rulers.ruler import Ruler
from pitstop.rulers.speculation import Speculation
from pitstop.rulers.thinking import Thinking

_ALL: tuple[Ruler, ...] = (
    Decode(),
    Prefill(),
    Concurrency(),
    LongInput(),
    Thinking(),
    Speculation(),
    MutualLoad(),
    Quality(),
)
_RULERS = {ruler.name: ruler for ruler in _ALL}
NAMES = tuple(_RULERS)


def ruler_for(name: str) -> Ruler:
    """The ruler of that name; UsageError for one that there is not, with the nearest known name."""
    if name not in _RULERS:
        raise UsageError(f"there is no ruler {name!r}; there are {', '.join(NAMES)}{nearest(name, NAMES)}")
    return _RULERS[name]


def rulers_for(names: Sequence[str]) -> list[Ruler]:
    """The rulers of these names in their order, each once."""
    return [ruler_for(name) for name in dict.fromkeys(names)]
