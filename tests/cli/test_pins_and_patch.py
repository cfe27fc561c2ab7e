"""`pitstop pins` and `pitstop patch` from outside, where no registry and no Docker is needed."""

import json

import pytest
from typer.testing import CliRunner

from pitstop.cli.main import command_line

D = "sha256:" + "a" * 64
ENGINE = """
[engine.{name}]
kind = "vllm"
model = "m"
base_url = "http://127.0.0.1:1/v1"
[engine.{name}.launch]
with = "docker"
name = "{name}"
image = "{image}"
"""


@pytest.fixture
def pitstop(tmp_path, monkeypatch):
    monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))  # neither docker nor skopeo
    monkeypatch.chdir(tmp_path)

    def run(*words, config="", code=0):
        (tmp_path / "pitstop.toml").write_text(config)
        result = CliRunner().invoke(command_line([words[0]]), [*map(str, words)])
        assert result.exit_code == code, (result.exit_code, result.output, result.exception)
        return result

    return run


@pytest.mark.parametrize(
    ("image", "status", "code"),
    [
        (f"127.0.0.1:1/o/r:v1@{D}", "unknown", 3),
        ("127.0.0.1:1/o/r:v1", "unverifiable", 4),
        ("NO/Such@x", "unverifiable", 4),
    ],
)
def test_what_cannot_be_known_is_neither_drift_nor_health(pitstop, image, status, code):
    result = pitstop("pins", "check", "--json", config=ENGINE.format(name="q", image=image), code=code)
    document = json.loads(result.stdout)
    assert [(one["engine"], one["image"], one["status"]) for one in document["pins"]] == [("q", image, status)]
    assert document["pins"][0]["reason"]


def test_an_engine_without_an_image_is_passed_over(pitstop):
    config = '[engine.q]\nkind = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n'
    result = pitstop("pins", "check", config=config)
    assert "no image of its own" in result.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("pins", "set", "q", "NO/Such"), 2),
        (("pins", "set", "other", "x:1"), 2),
        (("pins", "set", "q", ":v2"), 3),
        (("pins", "mirror", "q"), 2),
        (("pins", "rollback", "q"), 2),
        (("patch", "build", "nothing"), 2),
        (("patch", "check", "nothing"), 2),
    ],
)
def test_what_cannot_be_done_gets_a_sentence_and_changes_nothing(pitstop, tmp_path, words, code):
    config = ENGINE.format(name="q", image=f"127.0.0.1:1/o/r:v1@{D}")
    result = pitstop(*words, config=config, code=code)
    assert result.stdout == ""
    assert "Traceback" not in result.output
    assert (tmp_path / "pitstop.toml").read_text() == config


def test_no_patches_are_no_fault(pitstop):
    assert json.loads(pitstop("patch", "check", "--json").stdout)["patches"] == []
