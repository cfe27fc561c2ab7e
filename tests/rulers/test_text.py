import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.errors import UsageError
from pitstop.rulers.pieces import pieces
from pitstop.rulers.prompts import all_prompts, prompts_hash, select
from pitstop.rulers.text import load_text, repetition


def test_the_shipped_text_is_long_enough_for_thirty_two_thousand_tokens_of_any_tokenizer():
    assert len(load_text().text) > 32_000 * 8  # no tokenizer in use takes eight characters of English a token


def test_the_shipped_text_does_not_repeat_itself():
    assert load_text().repetition == 0
    assert not load_text().repeats_itself


def test_a_sentence_said_over_and_over_repeats_itself():
    assert repetition("Der Hund schläft heute nicht in der Küche. " * 500) > 0.95


@given(st.integers(-5, 10**6))
def test_a_head_is_a_prefix_of_as_many_pieces(wanted):
    text = load_text()
    head = text.head(wanted)
    assert text.text.startswith(head)
    assert pieces(head) == max(0, wanted) or head == text.text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("Hi.", 2),
        ("Sir Walter, 1760", 7),
        ("Straßenbahn", 2),
        ("今日は雨だ", 5),
        ("안녕하세요", 5),
        ("Привет, мир", 3),
        ("a" * 60, 10),
        ("  \n\t", 0),
        ("x_1", 3),
        ("🙂", 1),
    ],
)
def test_pieces_are_what_tokenizers_roughly_cut_a_text_into(text, count):
    assert pieces(text) == count


def test_an_own_text_is_named_by_its_hash(tmp_path):
    path = tmp_path / "werther.txt"
    path.write_text("Wie froh bin ich! " * 100, encoding="utf-8")
    text = load_text(path)
    assert text.name == str(path)
    assert text.sha256 != load_text().sha256
    assert text.repeats_itself


@pytest.mark.parametrize("content", [b"", b"too short", b"\xff\xfe\x00bad" * 1000, b"\0" * 5000])
def test_a_text_that_cannot_be_used_is_refused_with_a_sentence(tmp_path, content):
    path = tmp_path / "t.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load_text(path)
    assert str(path) in caught.value.message
    assert caught.value.hint


def test_a_missing_text_or_a_folder_is_refused(tmp_path):
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            load_text(path)


def test_there_are_ten_prompts_of_each_language_and_half_of_them_are_about_code():
    for language in ("de", "en"):
        assert len(select(language=language)) == 10
        assert len(select(language=language, kind="code")) == 5
        assert {p.topic for p in select(language=language)} == {"code", "SQL", "fault finding", "explanation"}
    assert len({p.id for p in all_prompts()} | {p.text for p in all_prompts()}) == 40


def test_the_prompts_hash_is_that_of_the_shipped_prompts():
    """Change it only together with the prompts, and knowing that earlier runs are then no longer comparable."""
    assert prompts_hash() == "2abca52a6e2682e0"
