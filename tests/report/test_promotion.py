"""The edit that would promote a winner: exact, minimal, and without a secret on it."""

from __future__ import annotations

import tomllib

import pytest

from pitstop.core.config.load import parse
from pitstop.core.errors import UsageError
from pitstop.launch.plan import plan
from pitstop.report.promotion import promoted, promotion_diff

_TOML = """\
# my box
[engine.qwen]
kind = "vllm"   # the daily driver
model = "qwen"

[engine.qwen.launch]
with = "docker"
image = "repo:tag@sha256:aa"  # the digest decides
env = { HF_TOKEN = "hf_verysecret" }

[engine.qwen.knob.MTP_K]
default = "3"        # measured
args = ["--k={value}"]

[engine.qwen.knob.ASYNC_SCHED]
env = "ASYNC_SCHED"

[engine.qwen.knob.API_KEY]
default = "old_verysecret"
env = "API_KEY"
"""


def test_only_the_line_that_decides_is_changed_and_its_comment_stays() -> None:
    assert promotion_diff(_TOML, "qwen", {"MTP_K": "2"}).splitlines() == [
        "--- pitstop.toml",
        "+++ pitstop.toml (promoted)",
        "@@ -12 +12 @@ [engine.qwen.knob.MTP_K]",
        '-default = "3"        # measured',
        '+default = "2"        # measured',
    ]


def test_a_knob_without_a_default_gets_one() -> None:
    new = tomllib.loads(promoted(_TOML, "qwen", {"ASYNC_SCHED": "off"}))
    assert new["engine"]["qwen"]["knob"]["ASYNC_SCHED"] == {"env": "ASYNC_SCHED", "default": "off"}


def test_the_built_in_image_knob_turns_the_image_of_the_launch() -> None:
    diff = promotion_diff(_TOML, "qwen", {"IMAGE": "repo:new@sha256:bb"})
    assert '-image = "repo:tag@sha256:aa"  # the digest decides' in diff
    assert '+image = "repo:new@sha256:bb"  # the digest decides' in diff


def test_an_image_knob_of_the_users_own_is_turned_like_any_other() -> None:
    toml = _TOML + '\n[engine.qwen.knob.IMAGE]\ndefault = "old"\nenv = "QWEN_IMAGE"\n'
    new = tomllib.loads(promoted(toml, "qwen", {"IMAGE": "new"}))["engine"]["qwen"]
    assert new["knob"]["IMAGE"]["default"] == "new"
    assert new["launch"]["image"] == "repo:tag@sha256:aa"


def test_the_edit_can_be_read_back_and_changes_nothing_else() -> None:
    old, new = tomllib.loads(_TOML), tomllib.loads(promoted(_TOML, "qwen", {"MTP_K": "2"}))
    new["engine"]["qwen"]["knob"]["MTP_K"]["default"] = "3"
    assert new == old


def test_no_secret_is_shown_and_a_secret_knob_is_left_to_the_person() -> None:
    diff = promotion_diff(_TOML, "qwen", {"API_KEY": "new_verysecret", "MTP_K": "2"})
    assert "verysecret" not in diff
    assert "API_KEY carries a secret: set its default by hand" in diff


def test_a_secret_on_the_same_line_as_the_change_is_left_out() -> None:
    toml = '[engine.q]\nlaunch = { image = "a", env = { HF_TOKEN = "hf_verysecret", "X_KEY" = \'verysecret\' } }\n'
    diff = promotion_diff(toml, "q", {"IMAGE": "b"})
    assert "verysecret" not in diff
    assert 'image = "b"' in diff


@pytest.mark.parametrize("value", ['a"b', "line\nbreak", "\\", "{value}", "\u202e"])
def test_awkward_values_are_quoted_so_that_they_read_back(value: str) -> None:
    new = tomllib.loads(promoted(_TOML, "qwen", {"MTP_K": value}))
    assert new["engine"]["qwen"]["knob"]["MTP_K"]["default"] == value


_WHOLE = """
[engine.qwen]
kind = "vllm"
model = "qwen"
base_url = "http://127.0.0.1:8001/v1"
[engine.qwen.launch]
with = "docker"
name = "qwen"
image = "repo:tag@sha256:aa"
command = ["serve"]
[engine.qwen.knob.MTP_K]
default = "3"
args = ["--k={value}"]
[engine.qwen.knob.SCHED]
env = "SCHED"
[engine.qwen.knob.IMAGE]
"""


@pytest.mark.parametrize(
    "overrides", [{"MTP_K": "2"}, {"MTP_K": "off"}, {"SCHED": "on"}, {"IMAGE": "repo:new@sha256:bb", "MTP_K": "4"}]
)
def test_the_edited_file_launches_exactly_what_the_variant_launched(overrides: dict[str, str]) -> None:
    variant = plan("qwen", parse(_WHOLE).engine["qwen"], overrides, environ={})
    production = plan("qwen", parse(promoted(_WHOLE, "qwen", overrides)).engine["qwen"], environ={})
    assert production.fingerprint == variant.fingerprint


def test_nothing_to_change_is_an_empty_edit() -> None:
    assert promotion_diff(_TOML, "qwen", {}) == ""
    assert promotion_diff(_TOML, "qwen", {"MTP_K": "3"}) == ""


@pytest.mark.parametrize(
    ("toml", "engine", "knob", "sentence"),
    [
        ("[engine", "qwen", "MTP_K", "is not valid TOML"),
        (_TOML, "gwen", "MTP_K", "has no engine 'gwen'; it has: qwen"),
        ("", "qwen", "MTP_K", "it has: none"),
        ("engine = 3", "qwen", "MTP_K", "it has: none"),
        (_TOML, "qwen", "NOPE", "has no knob NOPE"),
        ("[engine.q]\nknob = 3\nlaunch = 4\n", "q", "IMAGE", "has no knob IMAGE"),
        ("[engine.q.knob]\nK = 3\n", "q", "K", "has no knob K"),
    ],
)
def test_a_file_that_does_not_fit_gets_a_sentence(toml: str, engine: str, knob: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        promotion_diff(toml, engine, {knob: "1"})
