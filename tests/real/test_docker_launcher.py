"""The launchers' contract against a real Docker Engine, and what only Docker does."""

import asyncio
import json
import os
import subprocess

import msgspec
import pytest

from pitstop.core.config.engine import DockerLaunch, Engine, Knob
from pitstop.core.errors import EngineFailed, UsageError
from pitstop.core.home import Home
from pitstop.launch import container
from pitstop.launch.command import CommandFailed
from pitstop.launch.docker import run_argv
from pitstop.launch.launcher import OBSERVED
from pitstop.launch.plan import plan
from support import docker_engine
from support.launch_contract import (
    ENVIRON,
    SECRET,
    Bench,
    LauncherContract,
    cleaned,
    gone,
    is_alive,
    listening,
    running_pid,
    tiny,
    until,
)

pytestmark = pytest.mark.real
PORT = 23200
NAME = "pitstop-launch-test"


def engine_of(**more) -> Engine:
    launch = {
        "name": NAME,
        "image": docker_engine.IMAGE,
        # init: a tiny engine as process 1 would not hear SIGTERM
        "run": ("--network", "host", "--stop-signal", "SIGKILL", *docker_engine.mounts()),
        "command": tiny(PORT),
        "env": {"TINY_API_KEY": "${TINY_API_KEY}", "FLAVOUR": "plain"},
        "version_command": ("/bin/echo", "0.32.0"),
    }
    return Engine(
        kind="openai",
        model="tiny",
        base_url=f"http://127.0.0.1:{PORT}/v1",
        launch=DockerLaunch(**{**launch, **more}),
        knob={"HOW": Knob(args=("{value}",)), "FLAVOUR": Knob(default="plain", env="FLAVOUR")},
    )


def planned(overrides=None, **more):
    return plan("tiny", engine_of(**more), overrides, environ=ENVIRON)


@pytest.fixture
async def bench(tmp_path):
    docker_engine.ensure()
    docker("rm", "--force", "--volumes", NAME)
    specs = [planned(knobs) for knobs in ({}, {"HOW": "variant"}, {"HOW": "die=7"}, {"HOW": "mute"})]
    made = Bench(Home(tmp_path / "home").prepared(), *specs)
    async with cleaned(made) as bench:
        yield bench
    left = docker("ps", "--all", "--quiet", "--filter", f"name={NAME}").split()
    if left:
        docker("rm", "--force", "--volumes", *left)


def docker(*words: str, check: bool = False, env=None) -> str:
    done = subprocess.run(["docker", *words], check=check, capture_output=True, text=True, timeout=60, env=env)
    return done.stdout.strip()


def by_hand(spec, *changes) -> None:
    """What a person would type, without pitstop's labels."""
    words = list(spec.argv[1:])
    for old, new in changes:
        words[words.index(old)] = new
    docker(*words, check=True, env=ENVIRON)


class TestDockerLauncher(LauncherContract):
    pass


async def test_a_container_that_was_started_by_hand_as_configured_is_production(bench: Bench):
    by_hand(bench.spec)
    found = await bench.launcher.inspect(bench.spec)
    assert found.fingerprint == bench.spec.fingerprint
    assert await bench.launcher.recreatable(bench.spec) == ""


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        (("FLAVOUR=plain", "FLAVOUR=spicy"), "env FLAVOUR: spicy instead of plain"),
        ((str(PORT), "23201"), "23201 instead of 23200"),
        (("/usr:/usr:ro", "/usr:/usr"), "mounts"),
        (("TINY_API_KEY", "TINY_API_KEY=sk-another-secret"), "env TINY_API_KEY: another value"),
        (("--detach", "--detach=true"), ""),
    ],
)
async def test_a_relaunch_with_another_setting_is_seen_and_production_is_not_touched(bench: Bench, change, phrase):
    by_hand(bench.spec, change)
    found = await bench.launcher.inspect(bench.spec)
    reason = await bench.launcher.recreatable(bench.spec)
    assert phrase in reason
    assert (found.fingerprint == bench.spec.fingerprint) == (not phrase)
    assert found.fingerprint.startswith(OBSERVED) == bool(phrase)
    assert "sk-" not in reason


async def test_a_copy_of_the_printed_command_with_one_flag_changed_is_not_believed(bench: Bench):
    words = [word.replace("FLAVOUR=plain", "FLAVOUR=spicy") for word in run_argv(bench.spec)]
    docker(*words[1:], check=True, env=ENVIRON)  # the label still says what the original was
    assert (await bench.launcher.inspect(bench.spec)).fingerprint.startswith(OBSERVED)


async def test_a_container_that_was_started_with_rm_is_refused_before_it_is_destroyed(bench: Bench):
    by_hand(bench.spec, ("--detach", "--rm"), ("--pull", "--detach"), ("never", "--init=false"))
    reason = await bench.launcher.recreatable(bench.spec)
    assert "AutoRemove: true instead of nothing" in reason
    assert "stopping it destroys it" in reason
    assert await bench.launcher.inspect(bench.spec) is not None


@pytest.mark.parametrize("policy", ["always", "unless-stopped", "on-failure:3"])
async def test_a_restart_policy_is_part_of_production_and_comes_back_with_it(bench: Bench, policy):
    run = ("--restart", policy, "--network", "host", "--stop-signal", "SIGKILL", *docker_engine.mounts())
    spec = planned(run=run)
    by_hand(spec)
    assert f"restart policy: {policy} instead of no" in await bench.launcher.recreatable(bench.spec)
    assert await bench.launcher.recreatable(spec) == ""
    await bench.launcher.stop(spec)
    left = inspected()
    assert left.restart_policy == ("no" if policy != "on-failure:3" else policy)  # nothing revives it in a test
    await bench.launcher.start(spec, ENVIRON)
    assert inspected().restart_policy == policy
    assert (await bench.launcher.inspect(spec)).fingerprint == spec.fingerprint


def inspected(name: str = NAME) -> container.Container:
    return container.parse(docker("container", "inspect", name, check=True))


async def test_somebody_elses_stopped_container_is_set_aside_not_removed(bench: Bench):
    by_hand(bench.spec, (str(PORT), "23209"))
    theirs = inspected()
    await bench.launcher.stop(bench.spec)
    await bench.launcher.start(bench.spec, ENVIRON)
    assert inspected(theirs.id).name == f"/{NAME}.before-{theirs.id[:12]}"
    assert inspected().id != theirs.id


async def test_what_somebody_renamed_is_still_the_engine_and_is_stopped_with_it(bench: Bench):
    await bench.launcher.start(bench.variant, ENVIRON)
    docker("rename", NAME, f"{NAME}-aside", check=True)
    assert (await bench.launcher.inspect(bench.variant)).fingerprint == bench.variant.fingerprint
    assert await bench.launcher.version(bench.variant) == "0.32.0"
    docker("create", "--name", NAME, docker_engine.IMAGE, "true", check=True)  # and gave its name to another one
    with pytest.raises(UsageError, match=f"already up: container {NAME}-aside"):
        await bench.launcher.start(bench.spec, ENVIRON)
    await bench.launcher.stop(bench.spec)
    assert not inspected(f"{NAME}-aside").state.running  # kept, for whoever renamed it
    await bench.launcher.start(bench.spec, ENVIRON)
    assert (await bench.launcher.inspect(bench.spec)).fingerprint == bench.spec.fingerprint


async def test_a_removal_that_is_under_way_is_waited_for(bench: Bench):
    await bench.launcher.start(bench.spec, ENVIRON)
    removal = asyncio.to_thread(docker, "rm", "--force", NAME)
    stopped, _ = await asyncio.gather(bench.launcher.stop(bench.spec), removal, return_exceptions=True)
    assert stopped is None
    await bench.launcher.start(bench.spec, ENVIRON)


async def test_a_dead_container_under_the_name_makes_room_and_its_log_is_kept(bench: Bench):
    with pytest.raises(AssertionError):
        await _start_and_listen(bench, bench.dying)
    await bench.launcher.start(bench.spec, ENVIRON)
    assert "Engine core initialization failed" in (bench.home.logs / "tiny.log").read_text()
    assert "exit code 7" in (bench.home.logs / "tiny.log").read_text()


async def _start_and_listen(bench: Bench, spec) -> None:
    await bench.launcher.start(spec, ENVIRON)
    await until(lambda: gone(bench.launcher, spec))
    raise AssertionError("died as it should")


async def test_an_image_that_is_not_here_is_not_pulled(bench: Bench):
    spec = planned({"IMAGE": "localhost:1/nowhere/engine:1"})
    assert "is not on this machine" in await bench.launcher.recreatable(spec)
    with pytest.raises(EngineFailed, match="is not on this machine") as caught:
        await bench.launcher.start(spec, ENVIRON)
    assert "docker pull localhost:1/nowhere/engine:1" in caught.value.hint


async def test_the_content_that_ran_comes_back_though_its_tag_was_moved(bench: Bench, tmp_path):
    docker("tag", docker_engine.IMAGE, "pitstop-moving:1", check=True)
    spec = planned({"IMAGE": "pitstop-moving:1"})
    await bench.launcher.start(spec, ENVIRON)
    remembered = await bench.launcher.remembered(spec)
    assert remembered.fingerprint == spec.fingerprint
    before = inspected().image
    docker("commit", "--change", "ENV MOVED=1", NAME, "pitstop-moving:1", check=True)
    await bench.launcher.stop(spec)
    await bench.launcher.start(remembered, ENVIRON)
    assert inspected().image == before
    docker("rmi", "--force", "pitstop-moving:1")


async def test_the_version_is_asked_for_inside(bench: Bench):
    await bench.launcher.start(bench.spec, ENVIRON)
    assert await bench.launcher.version(bench.spec) == "0.32.0"


async def test_a_process_that_outlives_its_container_is_ended(bench: Bench):
    started = await bench.launcher.start(bench.spec, ENVIRON)
    await listening(PORT)
    assert running_pid(started) == inspected().state.pid
    await bench.launcher.stop(bench.spec)
    assert not is_alive(started.pid)


async def test_a_daemon_that_is_down_gets_a_sentence(bench: Bench):
    down = msgspec.structs.replace(bench.spec, base_env={**bench.spec.base_env, "DOCKER_HOST": "unix:///no/such.sock"})
    for act in (bench.launcher.inspect(down), bench.launcher.start(down, ENVIRON), bench.launcher.stop(down)):
        with pytest.raises(CommandFailed, match="Docker daemon") as caught:
            await act
        assert caught.value.exit_code == 3


async def test_a_missing_client_gets_a_sentence(bench: Bench):
    gone = msgspec.structs.replace(bench.spec, base_env={"PATH": "/nowhere"})
    with pytest.raises(CommandFailed, match="docker cannot be run"):
        await bench.launcher.inspect(gone)


async def test_a_compose_container_is_left_to_compose(bench: Bench):
    by_hand(
        bench.spec,
        ("--pull", "--label=com.docker.compose.project=box"),
        ("never", "--label=com.docker.compose.service=mid"),
    )
    assert 'with = "compose"' in await bench.launcher.recreatable(bench.spec)


async def test_the_secret_reaches_neither_the_command_line_nor_a_file(bench: Bench):
    await bench.launcher.start(bench.spec, ENVIRON)
    assert SECRET not in " ".join(run_argv(bench.spec))
    assert json.loads(docker("container", "inspect", NAME))[0]["Config"]["Env"].count(f"TINY_API_KEY={SECRET}") == 1
    with pytest.raises(UsageError, match="holds a secret"):
        planned(command=(*tiny(PORT), "--api-key", "sk-12345678"))
    assert os.environ.get("TINY_API_KEY") is None
