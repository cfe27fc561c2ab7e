"""Tasks of one's own: every kind reads, everything wrong is named, and they are asked instead of the 28."""

import os
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.quality import Quality
from pitstop.core.errors import UsageError
from pitstop.rulers.quality.keys import CodeKey, NumberKey, ToolKey, WordKey
from pitstop.rulers.quality.own_tasks import read_folder
from pitstop.rulers.quality.task_file import parse
from pitstop.rulers.quality.task_set import task_set
from pitstop.rulers.ruler import Settings

PAGE = Path(__file__).parents[3] / "docs/quality-tasks.md"
NUMBER = 'prompt = "How far?"\nlanguage = "de"\nlevel = "easy"\n[answer]\nnumber = "12.5"\nunit = "km"\n'


def test_a_number_is_read_exactly():
    one = parse(NUMBER, "far", "far.toml")
    assert (one.name, one.key) == ("math/de/far", NumberKey(Fraction(25, 2), "km"))
    assert parse('prompt = "?"\n[answer]\nnumber = "3/4"', "a", "a").key == NumberKey(Fraction(3, 4))
    assert parse('prompt = "?"\n[answer]\nnumber = 7', "a", "a").key == NumberKey(Fraction(7))


def test_every_example_of_the_documentation_reads():
    examples = re.findall(r"```toml\n(prompt.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    keys = [parse(text, f"t{i}", "docs").key for i, text in enumerate(examples)]
    assert {type(key) for key in keys} == {NumberKey, WordKey, CodeKey, ToolKey}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "prompt"),
        ('prompt = "?"', "a task has"),
        ("prompt = ", "end of document"),
        ('prompt = "?"\nlevle = "easy"\n[answer]\nnumber = 1', "levle"),
        ('prompt = "?"\nlevel = "trivial"\n[answer]\nnumber = 1', "trivial"),
        ('prompt = "?"\n[answer]\nnumber = "twelve"', "twelve"),
        ('prompt = "?"\n[answer]\nnumber = "1/0"', "`number` is '1/0'"),
        ('prompt = "?"\n[answer]\nnumber = inf', "inf cannot be written as JSON"),
        ('prompt = " "\n[answer]\nnumber = 1', "`prompt` is empty"),
        ('prompt = "?"\n[answer]\nwords = ["a"]\n[answer.options]\na = ["q"]\nb = ["Q"]', "may mean 'a' and 'b'"),
        ('prompt = "?"\n[answer]\nwords = [""]\noptions = [""]', "is empty"),
        ('prompt = "?"\n[code]\nfunction = "class"\ntests = [{args = []}]', "no name of a function"),
        ('prompt = "?"\n[code]\nfunction = "f"\ntests = [{args = [], value = 1, raises = "E"}]', "not both"),
        ('prompt = "?"\n[code]\nfunction = "f"\ntests = [{args = [2020-01-01]}]', "cannot be written as JSON"),
        ('prompt = "?"\n[tools]\noffered = []', "offers no tool"),
        ('prompt = "?"\n[[tools.offered]]\nname = "x y"\ndescription = "d"', "no name of a tool"),
        (f"prompt = {'[' * 5000}", "nested too deeply"),
        ('prompt = "?"\n[answer]\nnumber = 1\nunit = "furlong"', "furlong"),
        ('prompt = "?"\n[answer]\nwords = ["a"]\noptions = ["b"]', "none of the `options`"),
        ('prompt = "?"\n[answer]\nnumber = 1\nwords = ["a"]', "`number` or `words`"),
        ('prompt = "?"\n[code]\nfunction = "a b"\ntests = [{args = []}]', "no name of a function"),
        ('prompt = "?"\n[code]\nfunction = "f"\ntests = []', "no tests"),
        ('prompt = "?"\n[code]\nfunction = "f"\ntests = [{args = [], value = 1}]\n[answer]\nnumber = 1', "a task has"),
        (
            'prompt = "?"\n[answer]\nwords = ["a", "a"]\noptions = ["a", "b"]',
            "`Answer: a, a` would not be right",
        ),
        (f'prompt = "?"\n[answer]\nnumber = "{"7" * 500}"', "would not be right"),
        ('prompt = "?"\n[answer]\nnumber = "1e3000000"', "more than 400 digits"),
        ('prompt = "?"\n[answer]\nnumber = 1\nany_order = true', "belong to `words`"),
        ('prompt = "?"\n[answer]\nwords = ["a"]\noptions = ["a"]\nunit = "km"', "`unit` belongs to a `number`"),
        ('prompt = "?"\n[code]\nfunction = "f"\ntests = [{args = [], raises = "Value Error"}]', "name of an exception"),
        (
            'prompt = "?"\n' + 2 * '[[tools.offered]]\nname = "y"\ndescription = "d"\n',
            "two tools are called 'y'",
        ),
        (
            'prompt = "?"\n[[tools.offered]]\nname = "y"\ndescription = "d"\n[[tools.calls]]\nname = "x"',
            "no tool that is offered",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_file(text, word):
    with pytest.raises(UsageError, match="mine") as refused:
        parse(text, "mine", "mine.toml")
    assert word in refused.value.message


@given(st.text(max_size=200))
def test_no_file_however_odd_does_worse_than_being_refused(text):
    try:
        parse(text, "a", "a.toml")
    except UsageError:
        return


def test_a_folder_is_read_by_name_and_asked_instead_of_the_28(tmp_path):
    (tmp_path / "b.toml").write_text(NUMBER)
    (tmp_path / "a.toml").write_text('prompt = "?"\n[answer]\nnumber = 7')
    (tmp_path / "notes.md").write_text("not a task")
    assert [one.name for one in read_folder(tmp_path)] == ["math/en/a", "math/de/b"]
    drawn = task_set(Settings(quality=Quality(tasks=str(tmp_path))))
    assert (len(drawn.instances), drawn.name[:4]) == (2, "own/")
    (tmp_path / "a.toml").write_text('prompt = "?"\n[answer]\nnumber = 8')
    assert task_set(Settings(quality=Quality(tasks=str(tmp_path)))).name != drawn.name


@pytest.mark.parametrize("make", [lambda folder: folder / "missing", lambda folder: folder])
def test_a_folder_without_tasks_is_refused(tmp_path, make):
    with pytest.raises(UsageError):
        read_folder(make(tmp_path))


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("number", ["12.5", "1/3", "-4", "1234.567", "123456789012.75", "0.1", "-1/7"])
def test_every_number_and_unit_is_taken_as_it_is_shown(language, number):
    """The key's own words are what a report shows as wanted: nothing of them may be rounded."""
    for unit in ("", "km", "m/s", "km/h", "%", "€", "min", "kg"):
        text = f'prompt = "?"\nlanguage = "{language}"\n[answer]\nnumber = "{number}"\nunit = "{unit}"'
        assert parse(text, "a", "a").key.words == f"{number} {unit}".strip()


def test_words_are_read_as_replies_write_them():
    told = parse('prompt = "?"\n[answer]\nwords = ["New  York "]\noptions = ["New  York ", "Zu\u0308rich"]', "a", "a")
    assert told.key.right == ("New York",)
    assert list(told.key.spellings) == ["New York", "Zürich"]


def test_what_editors_and_file_systems_leave_behind_is_left_alone(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf" + NUMBER.encode().replace(b"\n", b"\r\n"))
    (tmp_path / "._a.toml").write_bytes(b"\0\5\x16\7")
    (tmp_path / ".#a.toml").symlink_to("nobody@nowhere.1")
    assert [one.name for one in read_folder(tmp_path)] == ["math/de/a"]


def not_utf8(folder):
    (folder / "bad.toml").write_bytes(NUMBER.replace("far", "weit, Fuß").encode("latin-1"))


def a_folder(folder):
    (folder / "bad.toml").mkdir()


def a_pipe(folder):
    os.mkfifo(folder / "bad.toml")


def a_link_to_nothing(folder):
    (folder / "bad.toml").symlink_to("gone")


@pytest.mark.parametrize(
    ("make", "words"),
    [(not_utf8, "not UTF-8"), (a_folder, "is no file"), (a_pipe, "is no file"), (a_link_to_nothing, "cannot be read")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, make, words):
    (tmp_path / "a.toml").write_text(NUMBER)
    make(tmp_path)
    with pytest.raises(UsageError, match=words) as refused:
        read_folder(tmp_path)
    assert "bad.toml" in refused.value.message


def test_a_name_that_no_document_could_hold_is_refused(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.toml")).write_text(NUMBER)
    with pytest.raises(UsageError, match="is not UTF-8") as refused:
        read_folder(tmp_path)
    refused.value.message.encode()


def test_the_home_folder_may_be_written_with_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.toml").write_text(NUMBER)
    assert len(task_set(Settings(quality=Quality(tasks="~"))).instances) == 1
