"""The launchers' contract against real docker-compose, real Podman, and a user's own script around real Docker."""

import asyncio
import os
import shutil
import subprocess
import sys

import msgspec
import pytest

from pitstop.core.config.engine import ComposeLaunch, DockerLaunch, Engine, Knob, ScriptLaunch
from pitstop.core.errors import EngineFailed
from pitstop.core.home import Home
from pitstop.launch.launcher import OBSERVED
from pitstop.launch.plan import plan
from support import docker_engine, podman
from support.launch_contract import ENVIRON, Bench, LauncherContract, cleaned, tiny

pytestmark = pytest.mark.real
HOWS = ({}, {"HOW": "variant"}, {"HOW": "die=7"}, {"HOW": "mute"})


def bench_of(folder, launch, port: int, knob: Knob, environ=ENVIRON) -> Bench:
    engine = Engine(
        kind="openai", model="tiny", base_url=f"http://127.0.0.1:{port}/v1", launch=launch, knob={"HOW": knob}
    )
    return Bench(Home(folder / "home").prepared(), *(plan("tiny", engine, how, environ=environ) for how in HOWS))


def run(*argv: str, check: bool = True, env=None) -> str:
    return subprocess.run(argv, check=check, capture_output=True, text=True, timeout=120, env=env).stdout.strip()


@pytest.fixture(scope="session")
def installed():
    podman.ensure()
    if shutil.which("docker-compose") is None:
        install = ["apt-get", "install", "-y", "-qq", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends"]
        run(*install, "docker-compose")


COMPOSE_PORT = 23400
COMPOSE = """\
version: "2.4"
services:
  tiny:
    image: {image}
    network_mode: host
    stop_signal: SIGKILL
    restart: always
    volumes: [{volumes}]
    command: [{command}, "${{HOW:-plain}}"]
    environment:
      TINY_API_KEY: "${{TINY_API_KEY-}}"
"""


class TestComposeLauncher(LauncherContract):
    knows_exit_code = False  # the file says `restart: always`

    @pytest.fixture
    async def bench(self, tmp_path, installed):
        file = tmp_path / "compose.yaml"
        volumes = ", ".join(f'"{one}"' for one in docker_engine.mounts() if one != "-v")
        command = ", ".join(f'"{one}"' for one in tiny(COMPOSE_PORT))
        file.write_text(COMPOSE.format(image=docker_engine.IMAGE, volumes=volumes, command=command))
        launch = ComposeLaunch(
            file=str(file), service="tiny", project="pitstoplaunch", env={"TINY_API_KEY": "${TINY_API_KEY}"}
        )
        async with cleaned(bench_of(tmp_path, launch, COMPOSE_PORT, Knob(env="HOW"))) as bench:
            yield bench
        run("docker-compose", "-f", str(file), "-p", "pitstoplaunch", "down", "--volumes", check=False)

    async def test_an_engine_that_dies_leaves_its_exit_code_and_its_last_lines(self, bench: Bench):
        """With `restart: always` it does not stay dead; its lines are there all the same."""
        try:
            await bench.launcher.start(bench.dying, ENVIRON)
        except Exception as error:  # noqa: BLE001 - whichever it is, the lines count
            assert str(error)
        assert "Engine core initialization failed" in "\n".join(await bench.launcher.log_tail(bench.dying))

    async def test_a_file_that_compose_does_not_accept_is_told_before_anything_is_stopped(self, bench: Bench):
        broken = bench.home.root / "broken.yaml"
        broken.write_text("services: [")
        spec = msgspec.structs.replace(bench.spec, options={**bench.spec.options, "file": str(broken)})
        assert "does not accept" in await bench.launcher.recreatable(spec)


PODMAN_PORT = 23410


class TestPodmanLauncher(LauncherContract):
    @pytest.fixture
    async def bench(self, tmp_path, installed):
        launch = DockerLaunch(
            binary="podman",
            name="pitstop-podman-test",
            image=podman.image(tmp_path),
            run=("--network", "host", "--stop-signal", "SIGKILL", *podman.LIMITS, *docker_engine.mounts()),
            command=tiny(PODMAN_PORT),
            env={"TINY_API_KEY": "${TINY_API_KEY}"},
        )
        environ = {**ENVIRON, **podman.environ(tmp_path)}
        async with cleaned(bench_of(tmp_path, launch, PODMAN_PORT, Knob(args=("{value}",)), environ)) as bench:
            yield bench
        run("podman", "rm", "--force", "--ignore", "pitstop-podman-test", check=False)


SCRIPT_PORT = 23420
SCRIPT_NAME = "pitstop-script-test"
SCRIPT = """\
#!/bin/sh
# The first report's kind of launcher: defaults stay production, the environment overrides them.
docker rm -f {name} >/dev/null 2>&1
exec docker run -d --name {name} --restart unless-stopped --network host --stop-signal SIGKILL {mounts} \\
  -e TINY_API_KEY {image} {command} ${{HOW:-plain}}
"""


class TestScriptAroundDocker(LauncherContract):
    @pytest.fixture
    async def bench(self, tmp_path, installed):
        script = tmp_path / "start.sh"
        parts = {"mounts": " ".join(docker_engine.mounts()), "command": " ".join(tiny(SCRIPT_PORT))}
        script.write_text(SCRIPT.format(name=SCRIPT_NAME, image=docker_engine.IMAGE, **parts))
        script.chmod(0o755)
        launch = ScriptLaunch(start=(str(script),), container=SCRIPT_NAME, env={"TINY_API_KEY": "${TINY_API_KEY}"})
        async with cleaned(bench_of(tmp_path, launch, SCRIPT_PORT, Knob(env="HOW"))) as bench:
            yield bench
        run("docker", "rm", "--force", "--volumes", SCRIPT_NAME, check=False)

    knows_exit_code = False  # the script says `--restart unless-stopped`

    async def test_an_engine_that_dies_leaves_its_exit_code_and_its_last_lines(self, bench: Bench):
        """With `unless-stopped` it does not stay dead; its lines are there all the same."""
        try:
            await bench.launcher.start(bench.dying, ENVIRON)
        except Exception as error:  # noqa: BLE001 - whichever it is, the lines count
            assert str(error)
        assert "Engine core initialization failed" in "\n".join(await bench.launcher.log_tail(bench.dying))

    async def test_nothing_revives_it_while_it_is_stopped(self, bench: Bench):
        await bench.launcher.start(bench.spec, ENVIRON)
        await bench.launcher.stop(bench.spec)
        assert _policy() == "no"
        await bench.launcher.start(bench.spec, ENVIRON)
        assert _policy() == "unless-stopped"
        assert (await bench.launcher.inspect(bench.spec)).fingerprint == bench.spec.fingerprint

    async def test_a_script_that_only_starts_the_container_again_gets_its_policy_back(self, bench: Bench, tmp_path):
        await bench.launcher.start(bench.spec, ENVIRON)
        (tmp_path / "start.sh").write_text(f"#!/bin/sh\nexec docker start {SCRIPT_NAME}\n")
        await bench.launcher.stop(bench.spec)
        assert _policy() == "no"
        await bench.launcher.start(bench.spec, ENVIRON)
        assert _policy() == "unless-stopped"

    async def test_what_came_up_under_another_name_is_stopped_and_the_script_is_quoted(self, bench: Bench, tmp_path):
        """A script that names its container by a knob: the engine's port would be taken from production."""
        await bench.launcher.start(bench.spec, ENVIRON)
        before = (tmp_path / "start.sh").read_text()
        renamed = before.replace(SCRIPT_NAME, f"{SCRIPT_NAME}-2").replace("exec docker", "echo for a test; docker")
        (tmp_path / "start.sh").write_text(f"{renamed}exit 9\n")
        await bench.launcher.stop(bench.spec)
        try:
            with pytest.raises(EngineFailed, match=f"-2 instead of {SCRIPT_NAME}; that was stopped") as caught:
                await bench.launcher.start(bench.variant, ENVIRON)
            assert "for a test" in caught.value.hint
            assert "tiny" not in caught.value.hint  # what production's container had said
            (tmp_path / "start.sh").write_text(before)
            await bench.launcher.start(bench.spec, ENVIRON)
            assert (await bench.launcher.inspect(bench.spec)).fingerprint == bench.spec.fingerprint
        finally:
            run("docker", "rm", "--force", "--volumes", f"{SCRIPT_NAME}-2", check=False)

    async def test_what_the_script_of_a_killed_caller_brought_up_is_stopped_by_the_next_stop(self, bench, tmp_path):
        """kill -9 while the wrongly named container loads: nobody who lives has seen it come."""
        other, later = f"{SCRIPT_NAME}-2", f"{SCRIPT_NAME}-3"
        before = (tmp_path / "start.sh").read_text()
        renamed = before.replace(SCRIPT_NAME, other).replace("exec docker", "docker")
        (tmp_path / "start.sh").write_text(f"{renamed}sleep 60\n")
        caller = _caller(bench)
        try:
            async with asyncio.timeout(60):
                while not _is_up(other):  # noqa: ASYNC110 - it is another process that is waited for
                    await asyncio.sleep(0.1)
            caller.kill()
            caller.wait()
            run("docker", "run", "--detach", "--name", later, "--network", "none", docker_engine.IMAGE, "sleep", "60")
            await bench.launcher.stop(bench.spec)
            assert (_is_up(other), _is_up(later)) == (False, True)
            (tmp_path / "start.sh").write_text(before)
            await bench.launcher.start(bench.spec, ENVIRON)
            assert (await bench.launcher.inspect(bench.spec)).fingerprint == bench.spec.fingerprint
        finally:
            caller.kill()
            caller.wait()
            run("docker", "rm", "--force", "--volumes", other, later, check=False)

    async def test_a_container_that_somebody_else_made_is_not_the_variant(self, bench: Bench, tmp_path):
        await bench.launcher.start(bench.variant, ENVIRON)
        plain = {**os.environ, "TINY_API_KEY": ENVIRON["TINY_API_KEY"]}
        await asyncio.to_thread(run, str(tmp_path / "start.sh"), env=plain)
        assert (await bench.launcher.inspect(bench.variant)).fingerprint.startswith(OBSERVED)


CALLER = """
import asyncio, os, pathlib, sys, msgspec
from pitstop.core.home import Home
from pitstop.launch.launcher import LaunchSpec
from pitstop.launch.script import ScriptLauncher
spec = msgspec.json.decode(sys.argv[2], type=LaunchSpec)
asyncio.run(ScriptLauncher(Home(pathlib.Path(sys.argv[1]))).start(spec, dict(os.environ)))
"""


def _caller(bench: Bench) -> subprocess.Popen:
    words = [str(bench.home.root), msgspec.json.encode(bench.variant).decode()]
    return subprocess.Popen([sys.executable, "-c", CALLER, *words], env={**os.environ, **ENVIRON})


def _is_up(name: str) -> bool:
    return run("docker", "container", "inspect", "--format", "{{.State.Running}}", name, check=False) == "true"


def _policy() -> str:
    return run("docker", "container", "inspect", "--format", "{{.HostConfig.RestartPolicy.Name}}", SCRIPT_NAME)
