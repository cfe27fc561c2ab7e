"""`/v1/models`: which names a server answers to, and what it says about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_NAMES_SHOWN = 20


@dataclass(frozen=True)
class ModelCard:
    """One entry. `root` is the model's path or repository, `parent` the base of an adapter (LoRA)."""

    id: str
    aliases: tuple[str, ...] = ()  # llama.cpp lists further names here
    root: str | None = None
    parent: str | None = None
    context_tok: int | None = None
    loading: bool = False  # llama.cpp's router lists what it has not loaded yet


def parse_listing(value: Any) -> tuple[ModelCard, ...] | None:
    """The cards of `{"data": [...]}`, whatever else is in it; None when it is no model list at all."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), list):
        return None
    cards = (_card(entry) for entry in value["data"] if isinstance(entry, dict))
    return tuple(card for card in cards if card is not None)


def find(cards: Sequence[ModelCard], model: str) -> ModelCard | None:
    """The card of a served name. An `id` wins over an alias."""
    by_id = next((card for card in cards if card.id == model), None)
    return by_id or next((card for card in cards if model in card.aliases), None)


def names_of(cards: Sequence[ModelCard], model: str) -> frozenset[str]:
    """Every name under which a server may count the requests for `model`.

    vLLM counts under the first served name, whichever of them was asked for, and an adapter's requests under its base.
    """
    mine = find(cards, model)
    if mine is None:
        return frozenset({model})
    base = find(cards, mine.parent) if mine.parent else None
    roots = {card.root for card in (mine, base) if card is not None and card.root}
    same = {card.id for card in cards if card.root in roots}
    return frozenset({model, mine.id, *mine.aliases, *same, *([mine.parent] if mine.parent else [])})


def shown(cards: Sequence[ModelCard]) -> tuple[str, ...]:
    """Names for a message or a report, not more than a person reads, and nothing that moves a terminal's cursor."""
    return tuple(card.id[:200] if card.id.isprintable() else ascii(card.id[:200]) for card in cards[:MAX_NAMES_SHOWN])


def _card(entry: dict[str, Any]) -> ModelCard | None:
    name = entry.get("id")
    if not isinstance(name, str) or not name:
        return None
    aliases = entry.get("aliases")
    return ModelCard(
        id=name,
        aliases=tuple(a for a in aliases if isinstance(a, str)) if isinstance(aliases, list) else (),
        root=text_or_none(entry.get("root")),
        parent=text_or_none(entry.get("parent")),
        context_tok=count_or_none(entry.get("max_model_len")) or count_or_none(within(entry, "meta", "n_ctx")),
        loading=within(entry, "status", "value") == "loading",
    )


def within(value: Any, *keys: str) -> Any:
    """The value below nested keys, or None where one is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_or_none(value: Any) -> str | None:
    """A printable line of text of sensible length, or None."""
    return value if isinstance(value, str) and value.isprintable() and 0 < len(value) <= 500 else None


def count_or_none(value: Any) -> int | None:
    """A positive whole number, or None; a bool is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
