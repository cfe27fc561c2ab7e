"""Signature files: a user's own, and what is refused."""

import pytest

from pitstop.core.errors import UsageError
from pitstop.decisions.incidents.signatures import Catalogue, Role, parse_signatures
from pitstop.services.incidents.catalogue import built_in, catalogue, user_folders

OWN = """
[[signature]]
id = "my-fault"
summary = "the thing that happens here"
severity = "crash"
advice = "turn it off and on"
pattern = 'RuntimeError: the frobnicator .* jammed'
"""


def test_a_users_signature_is_known_and_tried_first(tmp_path):
    (tmp_path / "mine.toml").write_text(OWN + OWN.replace("my-fault", "oom-runtime").replace("the frob", "x"))
    known = catalogue([tmp_path, tmp_path / "absent"])
    assert known.match("RuntimeError: the frobnicator of rank 3 jammed").id == "my-fault"
    assert known.known("oom-runtime").advice == "turn it off and on"
    assert known.signatures[0].id == "my-fault"


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("pattern = ", "patern = ", "patern"),
        ("'RuntimeError", "'(RuntimeError", "regular expression"),
        ("my-fault", "My Fault", "no id"),
        ("RuntimeError: the frobnicator .* jammed", r"core\.py:71 x", "file and line"),
        ('severity = "crash"', "severity = 3", "severity"),
        ("[[signature]]", "[[signature", "no file of signatures"),
        ("pattern = 'RuntimeError: the frobnicator .* jammed'", "", "no pattern"),
    ],
)
def test_a_file_that_cannot_work_gets_a_sentence(old, new, word):
    with pytest.raises(UsageError, match=word):
        parse_signatures(OWN.replace(old, new), "mine.toml")


def test_our_own_signatures_are_complete():
    ids = [one.id for one in built_in()]
    assert len(ids) == len(set(ids))
    for one in built_in():
        if one.role in (Role.CAUSE, Role.VICTIM, Role.ECHO, Role.WAIT):
            assert one.summary, one.id
            assert one.advice, one.id


def test_a_pattern_is_matched_at_the_beginning_of_the_message():
    known = Catalogue(built_in())
    assert known.match("RuntimeError: CUDA error: an illegal memory access was encountered")
    assert known.match("he said: RuntimeError: CUDA error: an illegal memory access was encountered") is None


def test_the_users_folder_is_named_by_the_environment(tmp_path):
    assert user_folders({"PITSTOP_SIGNATURES": f"/a:{tmp_path}"})[1] == tmp_path
    assert str(user_folders({"XDG_CONFIG_HOME": "/c"})[0]) == "/c/pitstop/signatures"
