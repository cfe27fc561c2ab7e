"""Who ended a real container: itself, a person, or our own guard."""

import asyncio
import os
import subprocess
import uuid

import pytest

from pitstop.core.config.load import parse
from pitstop.core.home import Home
from pitstop.decisions.watchdog import Presence
from pitstop.services.site import site_of
from pitstop.services.watchdog.presence import presence_of, taken_away
from support import docker_engine, podman

pytestmark = pytest.mark.real

CONFIG = """
[engine.x]
kind = "openai"
model = "m"
base_url = "http://127.0.0.1:27030/v1"
[engine.x.launch]
with = "docker"
binary = "{binary}"
name = "{name}"
image = "{image}"
"""


@pytest.fixture(params=["docker", "podman"])
def binary(request, tmp_path, monkeypatch):
    docker_engine.ensure()
    if request.param == "podman":
        podman.ensure()
        monkeypatch.setenv("CONTAINERS_CONF", podman.environ(tmp_path)["CONTAINERS_CONF"])
    return request.param


@pytest.fixture
def ask(binary):
    """Ask the container engine; what it printed, even where it failed."""

    def asked(*words):
        return subprocess.run([binary, *words], capture_output=True, text=True, timeout=60, check=False).stdout.strip()

    return asked


@pytest.fixture
def image(binary, tmp_path):
    return podman.image(tmp_path) if binary == "podman" else docker_engine.IMAGE


@pytest.fixture
def world(tmp_path, binary, ask, image):
    name = f"pitstop-watch-{uuid.uuid4().hex[:8]}"
    home = Home(tmp_path / "home").prepared()
    config = parse(CONFIG.format(name=name, binary=binary, image=image))
    site = site_of("x", config.engine["x"], home, os.environ)

    def run(script, *options):
        limits = podman.LIMITS if binary == "podman" else ()
        assert ask("run", "--detach", "--network", "none", "--name", name, *limits, *options, image, "sh", "-c", script)
        return name

    yield run, site, home
    ask("rm", "--force", name)


@pytest.fixture
def ended(ask):
    """Wait until a container has ended."""

    async def waited(name):
        for _ in range(300):
            if ask("inspect", "--format", "{{.State.Running}}", name) == "false":
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the container did not end")

    return waited


@pytest.mark.parametrize("script", ["sleep 1; exit 0", "sleep 1; exit 1"])
async def test_a_container_that_ends_by_itself_has_ended_whatever_its_exit_code(world, ended, script):
    run, site, home = world
    await ended(run(script))
    assert (await presence_of(site, home))[0] is Presence.ENDED


@pytest.mark.parametrize("policy", ["no", "unless-stopped", "always"])
@pytest.mark.parametrize("how", [["stop", "--time", "1"], ["kill"]])
async def test_a_container_that_a_person_stopped_is_stopped(world, ask, ended, binary, policy, how):
    """Podman (4.3) logs a stop or not, whichever of its processes is first; a policy that did not revive it tells."""
    run, site, home = world
    name = run("sleep 60", "--restart", policy)
    presence, since = await presence_of(site, home)
    assert presence is Presence.UP
    assert since is not None
    ask(*how, name)
    await ended(name)
    told = {Presence.STOPPED} if (binary, policy) != ("podman", "no") else {Presence.STOPPED, Presence.ENDED}
    assert (await presence_of(site, home))[0] in told


async def test_a_container_that_is_not_there_any_more_was_removed_by_a_person(world, ask):
    run, site, home = world
    ask("rm", "--force", run("sleep 60"))
    assert (await presence_of(site, home))[0] is Presence.STOPPED


@pytest.mark.parametrize("binary", ["docker"], indirect=True)
async def test_a_container_between_two_lives_of_its_policy_is_up_and_young(world):
    """Podman has no state for that: there it has ended for some milliseconds, or lives again."""
    run, site, home = world
    run("exit 1", "--restart", "always")
    await asyncio.sleep(3)
    presence, since = await presence_of(site, home)
    assert presence in {Presence.UP, Presence.ENDED}
    assert since is not None


async def test_what_our_own_guard_killed_is_not_taken_for_a_persons_wish(world, ask, ended):
    run, site, home = world
    name = run("sleep 60", "--restart", "always")
    ask("kill", name)
    await ended(name)
    (home.evidence / "guard-x-1").mkdir()
    (home.evidence / "guard-x-1/guard.json").write_text("{}")
    assert (await presence_of(site, home))[0] is Presence.ENDED


@pytest.mark.parametrize(("label", "taken"), [("own", False), ("another's", True), ("", True)])
async def test_a_container_of_another_launch_in_its_place_is_a_persons_doing(world, ended, label, taken):
    """Above all one that was made and not started yet: nothing of how it ended tells that it is not the one ordered."""
    run, site, home = world
    fingerprint = site.spec.fingerprint if label == "own" else label
    name = run("exit 1", "--label", f"pitstop.fingerprint={fingerprint}")
    await ended(name)
    assert await taken_away(site, home) is taken


async def test_a_container_that_was_made_and_never_started_is_not_the_one_that_served(world, ask, image):
    run, site, home = world
    name = run("sleep 60", "--label", f"pitstop.fingerprint={site.spec.fingerprint}")
    ask("rm", "--force", name)
    ask("create", "--name", name, image, "true")
    assert await taken_away(site, home)
