"""Figures of which a table or a picture says nothing: how often something happened that never did."""

from __future__ import annotations

from collections.abc import Iterable

from pitstop.core.documents import Figure

Key = tuple[str, str, str]  # ruler, case, metric


def never_happened(figures: Iterable[Figure]) -> set[Key]:
    """Outcomes of the quality ruler (cut off, refused, …) that are 0 in all of these figures."""
    outcomes = [one for one in figures if one.ruler == "quality" and _counts_an_outcome(one.metric)]
    happened = {key_of(one) for one in outcomes if one.value != 0}
    return {key_of(one) for one in outcomes} - happened


def key_of(figure: Figure) -> Key:
    return figure.ruler, figure.case, figure.metric


def _counts_an_outcome(metric: str) -> bool:
    return metric.endswith("_share") and metric != "right_share"
