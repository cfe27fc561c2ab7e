"""The sandboxes' command lines hold every restriction, and what comes out of them is believed in nothing but values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.quality import Sandbox
from pitstop.rulers.quality import sandbox
from pitstop.rulers.quality.hidden_tests import equal, fits, mark_results
from pitstop.rulers.quality.keys import CodeKey, Expected
from pitstop.rulers.quality.sandbox import Box, Ran, SandboxFailed, Talk, find_sandbox, read_results
from pitstop.rulers.quality.sandbox_argv import Mode, bubblewrap_argv, container_argv, modes_for

KEY = CodeKey("f", ((1,), (2,)), (Expected(1), Expected(error="ValueError")))
RIGHT = [{"value": 1}, {"error": ["ValueError", "Exception"]}]


def test_a_container_gets_nothing():
    argv = container_argv(Mode.DOCKER, Sandbox(image="py:1", mounts=("/opt/py",)), "name", "PROGRAM")
    told = " ".join(argv)
    assert told.startswith("docker run --rm --interactive --pull never --name name")
    for restriction in (
        "--network none", "--ipc none", "--read-only", "--user 65534:65534", "--cap-drop ALL",
        "--security-opt no-new-privileges", "--memory 576m --memory-swap 576m", "--pids-limit 16", "--cpus 1",
        "--volume /opt/py:/opt/py:ro", "--log-driver none",
    ):  # fmt: skip
        assert restriction in told
    assert argv[-6:] == ["python3", "py:1", "-I", "-S", "-c", "PROGRAM"]
    assert not {"--privileged", "--env", "-e", "--pid", "--device"} & set(argv)


@pytest.mark.parametrize("as_root", [True, False])
def test_bubblewrap_shows_the_system_alone_and_cannot_write(as_root):
    argv = bubblewrap_argv(Sandbox(), "PROGRAM", as_root=as_root)
    told = " ".join(argv)
    unshared = "--unshare-net" if as_root else "--unshare-all"
    for restriction in (
        unshared,
        "--die-with-parent",
        "--clearenv",
        "--cap-drop ALL",
        "--new-session",
        "--remount-ro /",
    ):
        assert restriction in told
    assert ("--reuid 65534" in told) is as_root
    assert "--bind" not in argv
    shown = [argv[i + 1] for i, part in enumerate(argv) if part == "--ro-bind"]
    assert not {"/", "/root", "/home", "/etc", "/tmp", "/var", "/run"} & set(shown)


def test_what_is_tried_is_what_is_allowed():
    assert list(modes_for(Sandbox())) == [Mode.DOCKER, Mode.PODMAN, Mode.BUBBLEWRAP]
    assert list(modes_for(Sandbox(use="bubblewrap"))) == [Mode.BUBBLEWRAP]
    assert list(modes_for(Sandbox(use="none"))) == []


async def test_without_any_sandbox_it_is_told_why(monkeypatch):
    async def missing(argv, *_):
        raise SandboxFailed(f"{argv[0]} cannot be run: No such file or directory.")

    monkeypatch.setattr(sandbox, "_converse", missing)
    told = await find_sandbox(Sandbox())
    assert all(word in told for word in ("docker cannot be run", "podman cannot be run", "bwrap cannot be run"))
    assert "quality.sandbox.use" in await find_sandbox(Sandbox(use="none"))


async def test_an_image_that_is_not_there_is_told_with_how_to_get_it(monkeypatch):
    async def missing(*_):
        return Talk(
            complaint=b"docker: Error response from daemon: No such image: python:3-alpine.\nSee 'docker run --help'.\n"
        )

    monkeypatch.setattr(sandbox, "_converse", missing)
    assert "No such image: python:3-alpine; get the image: docker pull python:3-alpine" in await find_sandbox(
        Sandbox(use="docker")
    )


async def test_a_sandbox_that_runs_nothing_is_none(monkeypatch):
    async def lying(*_):
        return Talk(b"ready\n[]")

    monkeypatch.setattr(sandbox, "_converse", lying)
    assert "gave" in await find_sandbox(Sandbox(use="docker"))


@pytest.mark.parametrize(
    ("program", "stopped"),
    [
        ("echo ready; kill -STOP $$", "the time was up"),
        ("echo ready; exec sleep 60", "the time was up"),
        ("exec sleep 60", ""),
    ],
)
async def test_code_that_stops_what_keeps_its_time_is_judged_and_a_sandbox_that_never_starts_is_not(
    program, stopped, monkeypatch
):
    monkeypatch.setattr(sandbox, "_argv", lambda *_: ["sh", "-c", program])
    monkeypatch.setattr(sandbox, "_START_S", 0.5)
    monkeypatch.setattr(sandbox, "_LAST_WORDS_S", 0.5 - float(Sandbox().time_limit))
    box = Box(Mode.BUBBLEWRAP, Sandbox())
    if stopped:
        assert await box.run("", "f", [[1]]) == Ran(stopped=stopped)
    else:
        with pytest.raises(SandboxFailed, match=r"given up after 0\.5 s"):
            await box.run("", "f", [[1]])


def test_right_results_are_right():
    assert mark_results(KEY, "code", read_results(json.dumps(RIGHT).encode(), 2)).right


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "{}",
        "true",
        "[1, 1]",
        '"time"',
        '"size"',
        '{"failed": ["SystemExit"]}',
        '{"failed": []}',
        "[{}, {}]",
        '[{"value": 1}]',
        '[{"value": 1}, {"value": null}]',
        '[{"value": true}, {"error": ["ValueError"]}]',
        '[{"value": "1"}, {"error": ["ValueError"]}]',
        '[{"value": 1, "error": []}, {"error": ["ValueError"]}]',
        '[{"value": 1}, {"error": "ValueError"}]',
        '[{"value": 1}, {"error": ["TypeError"]}]',
        '{"passed": 2}',
        "OK",
        "ready",
        '[{"value": 1}, {"error": ["ValueError"], "unsendable": true}]',
        "[" * 100_000,
        '[{"value": 1}, {"error": ["ValueError"]}] x',
        "\xff\xfe",
        '[{"value": 1}, {"error": {"ValueError": 1}}]',
        "9" * 5000,
    ],
)
def test_anything_else_is_not(said):
    assert not mark_results(KEY, "code", read_results(said.encode("latin-1"), 2)).right


@given(st.binary(max_size=200), st.integers(0, 5))
def test_no_output_breaks_the_reader(said, calls):
    ran = read_results(said, calls)
    assert ran.stopped or len(ran.results) == calls


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=8,
)


@given(values)
def test_a_value_is_equal_to_itself_after_its_way_through_json(value):
    assert equal(json.loads(json.dumps(value)), value)


@given(values, values)
def test_values_that_json_tells_apart_are_not_equal(one, other):
    told = json.loads(json.dumps(one))
    if json.dumps(one) != json.dumps(other):
        assert not equal(told, other)


def test_numbers_are_equal_by_value_and_true_is_none():
    assert equal(3.0, 3)
    assert equal(0.1 + 0.2, 0.3)
    assert not equal(True, 1)
    assert not equal(1, True)
    assert not fits({"value": 1, "error": ["ValueError"]}, Expected(1))


def test_the_first_test_that_failed_is_told():
    mark = mark_results(KEY, "code", Ran(({"value": 5}, RIGHT[1])))
    assert mark.reason == "1 of 2 tests; f(1) gave 5 instead of 1"
