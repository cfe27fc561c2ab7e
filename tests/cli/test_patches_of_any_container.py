"""`pitstop patch` and the warnings after a launch, for containers that a script, compose or a unit started."""

import json
import os

import pytest
from typer.testing import CliRunner

from pitstop.cli import engines, trial_stage
from pitstop.cli.main import command_line
from pitstop.cli.shell import Shell
from pitstop.core.config.load import parse
from pitstop.core.home import Home
from pitstop.decisions.patching import sha256_of
from pitstop.launch.plan import plan
from pitstop.services.site import site_of
from pitstop.supply.patch_launch import refuse_unfit, unfit
from support import fake_docker

FILE = "/app/site-packages/vllm/utils/flashinfer.py"
BEFORE = 'def a():\n    x(\n        "auto",\n    )\n'
AFTER = BEFORE.replace("auto", "cublas")
OLD, NEW, MENDED = ("sha256:" + digit * 64 for digit in "123")
D_OLD, D_NEW = "sha256:" + "a" * 64, "sha256:" + "b" * 64
REPOSITORY = "ghcr.io/o/vllm-gb10"
IMAGES = {
    OLD: ([f"{REPOSITORY}@{D_OLD}"], {FILE: BEFORE}),
    NEW: ([f"{REPOSITORY}@{D_NEW}"], {FILE: "# newer\n" + BEFORE}),
    MENDED: ([], {FILE: AFTER}),
}
LAUNCHES = {
    "docker": f'with = "docker"\nname = "vllm-mid"\nimage = "{REPOSITORY}:v1@{D_OLD}"',
    "script": 'with = "script"\nstart = ["./start.sh"]\ncontainer = "vllm-mid"',
    "compose": 'with = "compose"\nfile = "compose.yaml"\nservice = "vllm-mid"',
    "systemd": 'with = "systemd"\nunit = "vllm-mid.service"\ncontainer = "vllm-mid"',
    "pidfile": 'with = "script"\nstart = ["./start.sh"]\npidfile = "engine.pid"',
    "unit": 'with = "systemd"\nunit = "vllm-mid.service"',
    "process": 'with = "process"\ncommand = ["serve"]',
}
IN_A_CONTAINER, IN_NONE = ("docker", "script", "compose", "systemd"), ("pidfile", "unit", "process", "nothing")
VARIANT = '[trial.t.variant.b]\nK = "2"\n[engine.mid.knob.K]\nenv = "K"\n'
OF_ANOTHER = ("script", "compose", "systemd")


def config(how):
    launch = f"[engine.mid.launch]\n{LAUNCHES[how]}\n" if how in LAUNCHES else ""
    return (
        f'[engine.mid]\nkind = "vllm"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n{launch}'
        f'[patch.cublas]\nengine = "mid"\nimage = "{REPOSITORY}:v1@{D_OLD}"\nfile = "{FILE}"\n'
        "expect = '        \"auto\",'\nreplace = '        \"cublas\",'\n"
    )


@pytest.fixture
def box(tmp_path, monkeypatch):
    """A folder with patched and other files, a fake docker, and the command line."""
    monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patched.py").write_text(AFTER)
    (tmp_path / "plain.py").write_text(BEFORE)

    def world(image_id=OLD, name=f"{REPOSITORY}:v1", *, source="patched.py", loaded=AFTER, **more):
        mounts = [(tmp_path / source, FILE)] if source else []
        one = fake_docker.container("vllm-mid", image_id, name, *mounts, **more)
        imports = {"file": FILE, "sha256": sha256_of(loaded.encode())}
        fake_docker.put(tmp_path / "bin", containers=[one], images=IMAGES, imports=imports)

    def run(how, *words, code=0):
        (tmp_path / "pitstop.toml").write_text(config(how))
        result = CliRunner().invoke(command_line([words[0]]), [*words])
        assert result.exit_code == code, (result.exit_code, result.output, result.exception)
        return result

    fake_docker.put(tmp_path / "bin", images=IMAGES)
    run.world, run.folder = world, tmp_path
    return run


@pytest.mark.parametrize("how", IN_A_CONTAINER)
def test_a_patch_is_built_for_whatever_runs_in_a_container(box, how):
    made = json.loads(box(how, "patch", "build", "cublas", "--json").stdout)
    assert made["diff"].count('+        "cublas",') == 1
    assert (box.folder / made["path"]).read_text() == AFTER
    assert not list((box.folder / "bin").glob("pitstop-patch-*"))


@pytest.mark.parametrize("how", IN_NONE)
@pytest.mark.parametrize("verb", ["build", "check"])
def test_an_engine_in_no_container_is_refused_with_a_sentence(box, how, verb):
    result = box(how, "patch", verb, "cublas", code=2)
    assert "runs in no container" in result.stderr


@pytest.mark.parametrize("how", OF_ANOTHER)
@pytest.mark.parametrize(
    ("image_id", "up", "expected"),
    [
        (OLD, True, ("needed", True, f"{REPOSITORY}:v1@{D_OLD}")),
        (NEW, True, ("needed", False, f"{REPOSITORY}:v1@{D_NEW}")),  # the tag was moved
        (NEW, False, ("needed", False, f"{REPOSITORY}:v1@{D_NEW}")),
        (MENDED, True, ("fixed-upstream", False, MENDED)),
        (None, False, ("needed", True, f"{REPOSITORY}:v1@{D_OLD}")),  # no container: the patch's own image
    ],
)
def test_a_check_looks_at_the_image_of_the_container_that_is_there(box, how, image_id, up, expected):
    if image_id is not None:
        box.world(image_id, up=up)
    code = 0 if expected[:2] == ("needed", True) else 1
    [found] = json.loads(box(how, "patch", "check", "--json", code=code).stdout)["patches"]
    assert (found["status"], found["bound"], found["image"]) == expected


CASES = [
    ({}, ""),
    ({"image_id": NEW}, f"is mounted over {REPOSITORY}:v1@{D_NEW}"),
    ({"source": "plain.py"}, "not what the patch makes"),
    ({"source": "absent.py"}, "cannot be read"),
    ({"loaded": BEFORE}, "changed after the launch"),
]


@pytest.mark.parametrize("how", IN_A_CONTAINER)
@pytest.mark.parametrize(("world", "words"), CASES)
def test_verify_asks_the_container_what_it_mounts(box, how, world, words):
    box.world(**world)
    result = box(how, "patch", "verify", "mid", code=1 if words else 0)
    assert "cublas: " in result.stdout
    assert (words or "in force") in result.stdout.replace("\n", " ")


def test_verify_says_where_nothing_is_mounted_and_where_nothing_is_up(box):
    box.world(source="")
    assert "No patch is mounted in mid." in box("script", "patch", "verify", "mid").stdout
    box.world(up=False)
    assert "not up in a container" in box("script", "patch", "verify", "mid", code=2).stderr


@pytest.mark.parametrize(("world", "words"), [*CASES, ({"source": ""}, "")])
def test_after_a_launch_a_wrong_patch_is_a_warning(box, capsys, world, words):
    box.world(**world)
    said = after_a_launch(box, capsys)
    assert words in said
    assert bool(said) == bool(words)


def test_after_a_launch_a_docker_that_does_not_answer_costs_a_word_and_no_more(box, capsys):
    (box.folder / "bin" / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    assert "whether cublas is in force could not be looked up" in after_a_launch(box, capsys)


@pytest.mark.parametrize("how", OF_ANOTHER)
@pytest.mark.parametrize(("world", "words"), [*CASES[:-1], ({"source": ""}, ""), ({"loaded": BEFORE}, "")])
async def test_a_trial_asks_the_container_too_but_not_the_engine_inside(box, how, world, words):
    box.world(**world)
    settings = parse(config(how))
    site = site_of("mid", settings.engine["mid"], Home(box.folder / "home"), os.environ)
    said = await unfit(settings.patch, site.launcher, site.spec)
    assert words in said
    assert bool(said) == bool(words)


@pytest.mark.parametrize("how", IN_A_CONTAINER)
@pytest.mark.parametrize(("world", "words"), [CASES[0], CASES[2]])
def test_a_trial_over_production_with_a_wrong_patch_is_refused(box, monkeypatch, how, world, words):
    async def nothing_else_is_wrong(*_):
        pass

    monkeypatch.setattr(trial_stage, "refuse_what_cannot_work", nothing_else_is_wrong)
    box.world(**world)
    (box.folder / "pitstop.toml").write_text(f'{config(how)}[trial.t]\nengine = "mid"\n{VARIANT}')
    shell = Shell(False, None)
    said = trial_stage.why_refused(shell, *trial_stage.drawn_up(shell, "t"))
    assert words in said
    assert said.startswith("production (mid) runs with a wrong patch") == bool(words)


async def test_a_script_that_calls_docker_itself_is_not_asked_about_its_image_before_a_launch(box):
    start = f'start = ["docker", "run", "-v", "/absent.py:{FILE}", "x"]'
    settings = parse(config("script").replace('start = ["./start.sh"]', start))
    await refuse_unfit(settings.patch, plan("mid", settings.engine["mid"], environ=os.environ))


def test_a_lock_notes_the_patch_that_a_script_mounted(box):
    box.world()
    record = json.loads(box("script", "pins", "lock", "mid", "--json").stdout)
    assert (record["image"], record["digest"]) == (f"{REPOSITORY}:v1", D_OLD)
    assert record["patches"] == [f"cublas sha256:{sha256_of(AFTER.encode())}"]


def after_a_launch(box, capsys):
    (box.folder / "pitstop.toml").write_text(config("script"))
    shell = Shell(False, None)
    engines._tell_wrong_patches(shell, *engines.site_and_spec(shell, "mid", None))
    return capsys.readouterr().err.replace("\n", " ")
