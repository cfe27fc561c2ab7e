import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engines.listing import find, names_of, parse_listing, shown

DATA = Path(__file__).parent / "data"
REAL = json.loads((DATA / "vllm-0.32.0-models.json").read_text())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "data", "root", "meta", "x"]), inner)
    ),
    max_leaves=12,
)


def test_the_id_is_that_of_the_model_and_not_of_its_permission() -> None:
    cards = parse_listing(REAL) or ()
    assert [card.id for card in cards] == ["smol", "smol-alias"]
    assert cards[0].context_tok == 4096


def test_served_names_of_one_model_are_one_model() -> None:
    cards = parse_listing(REAL) or ()
    assert names_of(cards, "smol-alias") == {"smol", "smol-alias"}
    assert names_of(cards, "nope") == {"nope"}


def test_an_adapter_is_counted_under_its_base_and_other_models_are_not() -> None:
    entries = [
        {"id": "base", "root": "/models/base"},
        {"id": "lora", "root": "/loras/x", "parent": "base"},
        {"id": "other", "root": "/models/other"},
    ]
    assert names_of(parse_listing({"data": entries}) or (), "lora") == {"lora", "base"}


def test_an_alias_of_llamacpp_is_found_and_a_router_says_what_it_loads() -> None:
    entries = [{"id": "a", "aliases": ["b"], "meta": {"n_ctx": 4096}, "status": {"value": "loading"}}]
    card = find(parse_listing({"data": entries}) or (), "b")
    assert card is not None
    assert (card.id, card.context_tok, card.loading) == ("a", 4096, True)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"data": {}}, {"data": None}, {"error": {"message": "x"}}])
def test_what_is_no_model_list_is_none(value: object) -> None:
    assert parse_listing(value) is None


@pytest.mark.parametrize("entry", [None, 1, {}, {"id": None}, {"id": ""}, {"id": 5}])
def test_an_entry_without_a_name_is_left_out(entry: object) -> None:
    assert parse_listing(
        {"data": [entry, {"id": "m", "root": 7, "aliases": "x", "max_model_len": True}]}
    ) == parse_listing({"data": [{"id": "m"}]})


def test_names_in_a_message_move_no_cursor() -> None:
    names = shown(parse_listing({"data": [{"id": "a\x1b[2J"}, *({"id": "x" * 999} for _ in range(99))]}) or ())
    assert "\x1b" not in names[0]
    assert (len(names), max(map(len, names))) == (20, 200)


@given(JSON)
def test_no_json_makes_it_raise(value: object) -> None:
    for cards in (parse_listing(value), parse_listing({"data": [value]})):
        names_of(cards or (), "m")
