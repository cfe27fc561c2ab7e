"""Reading documents back: the same value, or a sentence."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitstop.core.documents import encode
from pitstop.core.errors import UsageError
from pitstop.report.reading import read_document
from support import documents as made


def test_a_run_and_a_trial_come_back_as_they_were_written() -> None:
    for document in (made.run(), made.trial()):
        assert read_document(encode(document), "x.json") == document


def test_keys_of_a_later_minor_version_are_ignored() -> None:
    told = json.loads(encode(made.run())) | {"new_key": 1}
    assert read_document(json.dumps(told).encode(), "x.json") == made.run()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "x.json is not a document of pitstop"),
        (b"\xff\xfe", "x.json is not a document of pitstop"),
        (b"[1]", "x.json is not a document of pitstop"),
        (b"[" * 100_000, "x.json is not a document of pitstop"),
        (b"{}", "it names no schema"),
        (b'{"schema": "other"}', "its schema is 'other'"),
        (b'{"schema": 3}', "is not a document"),
        (b'{"schema": "pitstop.run", "version": 2}', "written by a newer pitstop: version 2"),
        (b'{"schema": "pitstop.run", "version": 1}', "x.json is damaged: Object missing required field `id`"),
        (b'{"schema": "pitstop.trial", "id": 1}', "x.json is damaged"),
    ],
)
def test_anything_else_gets_a_sentence(content: bytes, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as refused:
        read_document(content, "x.json")
    assert "\n" not in refused.value.message
    assert refused.value.hint


_CONTENT = encode(made.run(figures=made.awkward_figures()))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(_CONTENT) - 1), st.binary(max_size=3))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(place: int, damage: bytes) -> None:
    content = _CONTENT[:place] + damage + _CONTENT[place + 1 :]
    try:
        document = read_document(content, "x.json")
    except UsageError:
        return
    assert msgspec.json.encode(document)
