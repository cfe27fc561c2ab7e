import msgspec
import pytest

from pitstop.launch.command import CommandFailed, Failure
from pitstop.services.trial.dry_run import steps_of
from pitstop.services.trial.images import ContainerImages, known_images
from support.trial_world import World, promise, stage


def of_docker():
    """The promise as it would be with docker: production and its variant from two images."""
    arms = []
    for arm, image in zip(promise().arms, ("r:1", "r:2"), strict=True):
        argv = ("docker", "run", "--detach", "--name", "smol", image)
        spec = msgspec.structs.replace(arm.spec, launcher="docker", name="smol", image=image, argv=argv, options={})
        arms.append(msgspec.structs.replace(arm, spec=spec))
    return msgspec.structs.replace(promise(), arms=tuple(arms))


def test_an_image_that_was_remembered_by_its_content_is_kept_by_that():
    first, second = of_docker().arms
    spec = msgspec.structs.replace(first.spec, options={"image_id": "sha256:ab"})
    pinned = msgspec.structs.replace(of_docker(), arms=(msgspec.structs.replace(first, spec=spec), second))
    assert list(known_images(pinned)) == ["sha256:ab", "r:2"]
    assert list(known_images(promise())) == []


def test_a_dry_run_shows_what_keeps_the_images_before_it_shows_the_stop():
    take_down = steps_of(of_docker())[1]
    assert "keep the images" in take_down["does"]
    assert [line.split()[:2] for line in take_down["runs"]] == [["docker", "create"]] * 2 + [
        ["docker", "stop"], ["docker", "rm"],
    ]  # fmt: skip
    assert steps_of(promise())[1]["does"] == "stop production"


@pytest.mark.parametrize("act", ["keep", "let_go"])
async def test_a_daemon_that_is_away_is_a_word_in_the_log_and_no_error(tmp_path, act):
    site = stage(tmp_path, World()).site

    async def away(_spec):
        raise CommandFailed(Failure.DAEMON_DOWN, ["docker", "ps"], "Cannot connect to the Docker daemon")

    site.launcher.container = away
    assert "Cannot connect" in await getattr(ContainerImages(), act)(site, of_docker())


@pytest.mark.parametrize("act", ["keep", "let_go"])
async def test_an_engine_without_a_container_has_nothing_to_keep(tmp_path, act):
    site = stage(tmp_path, World()).site

    async def none(_spec):
        return None

    site.launcher.container = none
    assert await getattr(ContainerImages(), act)(site, promise()) == ""
