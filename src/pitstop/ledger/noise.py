"""What unchanged boots gave, and the noise that follows from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, and_, select

from pitstop.core.errors import UsageError
from pitstop.ledger.records import BootFigure, instant
from pitstop.ledger.rows import put
from pitstop.ledger.tables import boot
from pitstop.stats.noise import NoisePrior, from_boots, from_pairs, pooled

# The noise of a box a year ago says little of today's; the degrees of freedom are capped long before (stats/noise.py).
_LATEST = 200


def write(connection: Connection, figures: Sequence[BootFigure]) -> None:
    for one in figures:
        if not 0 < one.value < float("inf"):
            raise UsageError(
                f"{one.ruler}/{one.case}/{one.metric} of boot {one.boot} is {one.value}, which has no ratio."
            )
        row: dict[str, Any] = msgspec.structs.asdict(one) | {"at": instant(one.at)}
        put(connection, boot, row)


def prior(connection: Connection, engine_kind: str, ruler: str, case: str, metric: str) -> NoisePrior | None:
    """Noise from complete A/A pairs and, apart from those, from boots that share a configuration."""
    named = and_(boot.c.engine_kind == engine_kind, boot.c.ruler == ruler, boot.c.case == case, boot.c.metric == metric)
    query = select(boot).where(named).order_by(boot.c.at.desc(), boot.c.boot).limit(_LATEST)
    rows = connection.execute(query).mappings().all()
    pairs = [(group[0], group[1]) for group in _values(rows, "pair") if len(group) == 2]
    alone = _values([row for row in rows if row["pair"] is None], "configuration")
    return pooled([from_pairs(pairs), from_boots(alone)])


def _values(rows: Sequence[RowMapping], by: str) -> list[list[float]]:
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row[by] is not None:
            groups[row[by]].append(row["value"])
    return list(groups.values())
