"""A patch built from a real image, mounted into a real container, and what must never happen on the way."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pitstop.core.config.load import parse
from pitstop.core.errors import UsageError
from pitstop.decisions.patching import sha256_of
from pitstop.launch.containers import engine_of
from pitstop.launch.plan import plan
from pitstop.supply.lock import applied
from pitstop.supply.patch import Workshop, build, check
from pitstop.supply.patch_launch import imported, problems, refuse_unfit
from support import docker_engine
from support.launch_contract import tiny

pytestmark = pytest.mark.real
PLACE = "/app/site-packages/vllm/utils/flashinfer.py"
SOURCE = (
    'MARK = 1\n\n\ndef a():\n    return (\n        "auto",\n    )\n\n\ndef b():\n    return (\n        "auto",\n    )\n'
)
NAME = "pitstop-patch-test"


def docker(*words):
    done = subprocess.run(["docker", *words], check=True, capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


def image_with(folder, source, more=""):
    """A local image whose site-packages hold this file; returns its id."""
    folder.mkdir()
    (folder / "flashinfer.py").write_text(source)
    (folder / "empty.py").write_text("")
    (folder / "Dockerfile").write_text(
        f"FROM {docker_engine.IMAGE}\nCOPY flashinfer.py {PLACE}\nCOPY empty.py /app/site-packages/vllm/__init__.py\n"
        f"COPY empty.py /app/site-packages/vllm/utils/__init__.py\n{more}"
    )
    return docker("build", "--quiet", str(folder)).splitlines()[-1]


@pytest.fixture
def image(tmp_path):
    docker_engine.ensure()
    made = [image_with(tmp_path / "one", SOURCE)]
    yield made[0]
    subprocess.run(["docker", "rm", "--force", NAME], check=False, capture_output=True, timeout=60)
    subprocess.run(["docker", "rmi", "--force", *made], check=False, capture_output=True, timeout=60)


def config(image, *, patched="", ours=None, pythonpath="/app/site-packages", **more):
    fields = {"count": 2, "file": PLACE, **more}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in fields.items())
    mount = ["-v", f"{patched}:{PLACE}:ro"] if patched else []
    run = json.dumps(["--network", "host", *docker_engine.mounts(), *mount])
    return parse(
        f'[engine.q]\nkind="vllm"\nmodel="m"\nbase_url="http://127.0.0.1:29200/v1"\n'
        f'[engine.q.launch]\nwith="docker"\nname="{NAME}"\nimage="{image}"\nrun={run}\n'
        f"command={json.dumps([sys.executable, '-c', 'import time; time.sleep(60)'])}\n"
        f'[engine.q.launch.env]\nPYTHONPATH="{pythonpath}"\n'
        f'[patch.cublas]\nengine="q"\nimage="{ours or image}"\n'
        f"expect='        \"auto\",'\nreplace='        \"cublas\",'\n{lines}\n"
    )


def workshop(settings, folder):
    return Workshop(settings.engine["q"], os.environ, folder / "patches")


def content(path):
    return Path(path).read_text()


def leftovers():
    return docker("ps", "--all", "--quiet", "--filter", "label=pitstop.patch")


async def built(settings, folder):
    return await build("cublas", settings.patch["cublas"], workshop(settings, folder))


async def test_a_patch_is_built_and_mounted_and_really_imported(image, tmp_path):
    made = await built(config(image), tmp_path)
    assert made.diff.count('+        "cublas",') == 2
    assert made.sha256_before == sha256_of(SOURCE.encode())
    assert content(made.path) == SOURCE.replace('"auto"', '"cublas"')
    assert not (await built(config(image), tmp_path)).written
    assert leftovers() == ""
    settings = config(image, patched=made.path)
    spec = plan("q", settings.engine["q"], environ=os.environ)
    await refuse_unfit(settings.patch, spec)
    container = docker(*spec.argv[1:])
    seen = await engine_of(spec).inspect(container)
    found = await imported(settings.patch, spec, seen)
    assert problems(found) == []
    assert found[0].file == PLACE
    assert applied(settings.patch, seen) == [f"cublas sha256:{made.sha256}"]


async def test_a_copy_that_never_serves_is_found_out(image, tmp_path):
    made = await built(config(image), tmp_path)
    settings = config(image, patched=made.path, pythonpath="/other:/app/site-packages")
    spec = plan("q", settings.engine["q"], environ=os.environ)
    other = tmp_path / "other/vllm/utils"
    other.mkdir(parents=True)
    (tmp_path / "other/vllm/__init__.py").touch()
    (other / "__init__.py").touch()
    (other / "flashinfer.py").write_text(SOURCE)
    at = spec.argv.index("run") + 1
    container = docker(*spec.argv[1:at], "-v", f"{tmp_path / 'other'}:/other:ro", *spec.argv[at:])
    found = await imported(settings.patch, spec, await engine_of(spec).inspect(container))
    assert "/other/vllm/utils/flashinfer.py" in problems(found)[0]
    assert "no effect" in problems(found)[0]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"count": 1}, "2 of 1"),
        ({"count": 3}, "2 of 3"),
        ({"sha256": "0" * 64}, "sha256"),
        ({"file": "/nowhere/x.py"}, "no file"),
        ({"file": "/app/site-packages/vllm"}, "no file"),
    ],
)
async def test_whatever_is_not_exactly_as_expected_is_refused_and_leaves_nothing(image, tmp_path, more, word):
    with pytest.raises(UsageError, match=word):
        await built(config(image, **more), tmp_path)
    assert leftovers() == ""
    assert not list(tmp_path.glob("patches/*"))


async def test_a_digest_that_is_not_here_is_refused(image, tmp_path):
    for other in ("sha256:" + "0" * 64, "ghcr.io/o/r:v1@sha256:" + "0" * 64):
        with pytest.raises(UsageError, match="not on this machine"):
            await built(config(image, ours=other), tmp_path)


async def test_a_new_image_still_needs_it_has_it_or_is_something_else(image, tmp_path):
    same = image_with(tmp_path / "same", "# newer\n" + SOURCE)
    mended = image_with(tmp_path / "mended", SOURCE.replace("auto", "cublas"))
    strange = image_with(tmp_path / "strange", SOURCE.replace("auto", "AUTO"))
    try:
        seen = {}
        for name, other in {"own": image, "same": same, "mended": mended, "strange": strange}.items():
            settings = config(other, ours=image)
            found = await check("cublas", settings.patch["cublas"], workshop(settings, tmp_path))
            seen[name] = (found.status, found.bound)
        assert seen == {
            "own": ("needed", True), "same": ("needed", False), "mended": ("fixed-upstream", False),
            "strange": ("does-not-apply", False),
        }  # fmt: skip
        with pytest.raises(UsageError, match="not needed"):
            await built(config(mended), tmp_path)
        made = await built(config(image), tmp_path)
        settings = config(same, ours=image, patched=made.path)
        with pytest.raises(UsageError, match="belongs to"):
            await refuse_unfit(settings.patch, plan("q", settings.engine["q"], environ=os.environ))
    finally:
        docker("rmi", "--force", same, mended, strange)


async def test_a_mounted_file_that_is_not_the_patch_is_refused(image, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(SOURCE)
    for patched, word in ((wrong, "not what the patch makes"), (tmp_path / "absent.py", "cannot be read")):
        settings = config(image, patched=str(patched))
        with pytest.raises(UsageError, match=word):
            await refuse_unfit(settings.patch, plan("q", settings.engine["q"], environ=os.environ))


SCRIPT = """\
#!/bin/sh
docker rm --force {name} >/dev/null 2>&1
exec docker run --detach --name {name} --network host --stop-signal SIGKILL {mounts} \\
  -v "${{PATCHED:-{patched}}}:{place}:ro" -e PYTHONPATH="/app/site-packages" "${{IMAGE:-{image}}}" {command}
"""
SCRIPT_PORT = 29210


def test_a_container_of_the_users_own_script_is_asked_what_it_mounts(image, tmp_path):
    """The whole way of the command line: build, up, verify, and what is said when the image or the file is another."""
    other = image_with(tmp_path / "newer", "# newer\n" + SOURCE)
    (tmp_path / "plain.py").write_text(SOURCE)
    file, script = tmp_path / "pitstop.toml", tmp_path / "start.sh"
    file.write_text(
        f'[engine.q]\nkind="openai"\nmodel="tiny"\nbase_url="http://127.0.0.1:{SCRIPT_PORT}/v1"\n'
        f'[engine.q.launch]\nwith="script"\nstart=["{script}"]\ncontainer="{NAME}"\n'
        '[engine.q.knob.IMAGE]\nenv="IMAGE"\n[engine.q.knob.PATCHED]\nenv="PATCHED"\n'
        f'[patch.cublas]\nengine="q"\nimage="{image}"\nfile="{PLACE}"\ncount=2\nfolder="{tmp_path}"\n'
        "expect='        \"auto\",'\nreplace='        \"cublas\",'\n"
    )

    def pitstop(*words, code=0):
        environ = {**os.environ, "PITSTOP_HOME": str(tmp_path / "home")}
        argv = [sys.executable, "-m", "pitstop", *words, "--config", str(file)]
        done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120, env=environ)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return (done.stdout + done.stderr).replace("\n", " ")

    try:
        assert "where its container is made" in pitstop("patch", "build", "cublas")
        [made] = tmp_path.glob("cublas-*")
        parts = {"mounts": " ".join(docker_engine.mounts()), "command": " ".join(tiny(SCRIPT_PORT))}
        script.write_text(SCRIPT.format(name=NAME, place=PLACE, image=image, patched=made, **parts))
        script.chmod(0o755)
        assert "patch cublas" not in pitstop("up", "q", "--no-guard")
        assert "in force, imported from" in pitstop("patch", "verify", "q")
        assert "needed" in pitstop("patch", "check")
        for setting, words in (
            (f"IMAGE={other}", f"it belongs to {image}, and {made} is mounted over {other}"),
            (f"PATCHED={tmp_path}/plain.py", "is not what the patch makes (2 of 2"),
            (f"PATCHED={made}", ""),
        ):
            said = pitstop("restart", "q", "--no-guard", "--set", setting)
            assert ("patch cublas: " in said) == bool(words), said
            assert words in " ".join(said.split())
            assert (words or "in force") in " ".join(pitstop("patch", "verify", "q", code=1 if words else 0).split())
            if "IMAGE" in setting:
                assert "build it anew" in " ".join(pitstop("patch", "check", code=1).split())
        (tmp_path / "plain.py").write_text(SOURCE.replace('"auto"', '"cublas"') + "# newer\n")
        (tmp_path / "plain.py").replace(made)  # as a build does it: the container keeps what it has
        assert "changed after the launch" in pitstop("patch", "verify", "q", code=1)
    finally:
        docker("rm", "--force", NAME)
        docker("rmi", "--force", other)


async def test_a_build_that_is_interrupted_or_killed_leaves_no_container_for_good(image, tmp_path):
    cancelled = 0
    for delay_s in (0.02, 0.05, 0.08, 0.12, 0.16, 0.2):
        task = asyncio.create_task(built(config(image), tmp_path))
        await asyncio.sleep(delay_s)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            cancelled += 1
        assert leftovers() == ""
    assert cancelled
    labels = ("--label", "pitstop.patch=x", "--label", "pitstop.patch.pid=999999999")
    docker("create", "--name", f"{NAME}-old", *labels, image, "true")
    await built(config(image), tmp_path)
    assert leftovers() == ""


def test_sigterm_in_the_middle_leaves_no_container(image, tmp_path):
    file = tmp_path / "pitstop.toml"
    run = json.dumps(["--network", "host"])
    file.write_text(
        f'[engine.q]\nkind="vllm"\nmodel="m"\nbase_url="http://127.0.0.1:29200/v1"\n[engine.q.launch]\nwith="docker"\n'
        f'name="{NAME}"\nimage="{image}"\nrun={run}\n[patch.p]\nengine="q"\nimage="{image}"\nfile="{PLACE}"\ncount=2\n'
        "expect='        \"auto\",'\nreplace='        \"cublas\",'\n"
    )
    slow = tmp_path / "bin"
    slow.mkdir()
    real = subprocess.run(["which", "docker"], check=True, capture_output=True, text=True).stdout.strip()
    (slow / "docker").write_text(f'#!/bin/sh\n[ "$1" = cp ] && sleep 20\nexec {real} "$@"\n')
    (slow / "docker").chmod(0o755)
    program = "import typer; from pitstop.cli import patch; app = typer.Typer(); patch.register(app); app()"
    environ = {**os.environ, "PATH": f"{slow}:{os.environ['PATH']}", "PITSTOP_HOME": str(tmp_path / "home")}
    argv = [sys.executable, "-c", program, "patch", "build", "p", "--config", str(file)]
    with subprocess.Popen(argv, env=environ, stderr=subprocess.PIPE) as child:
        deadline = time.monotonic() + 30
        while not leftovers() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert leftovers()
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 130
    assert leftovers() == ""
