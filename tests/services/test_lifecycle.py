import pytest

from pitstop.core.errors import UsageError
from pitstop.services.lifecycle import up
from support.trial_world import World, promise, stage

PRODUCTION, VARIANT = (arm.spec for arm in promise().arms)


async def brought_up(root, world, spec):
    on = stage(root, world)
    return await up(on.site, on.home, spec, steady_s=lambda: 100.0, say=lambda _: None)


async def test_a_knob_turned_for_this_launch_replaces_what_is_up_in_one_step(tmp_path):
    world = World(up=PRODUCTION)
    await brought_up(tmp_path, world, VARIANT)
    assert (world.up, world.boots) == (VARIANT, [VARIANT.fingerprint])


async def test_without_one_what_is_up_with_other_settings_is_left_alone(tmp_path):
    world = World(up=VARIANT)
    with pytest.raises(UsageError, match="is up with other settings") as caught:
        await brought_up(tmp_path, world, PRODUCTION)
    assert "pitstop restart smol" in caught.value.hint
    assert (world.up, world.effects) == (VARIANT, 0)


async def test_what_is_up_as_ordered_is_not_started_again(tmp_path):
    world = World(up=VARIANT)
    await brought_up(tmp_path, world, VARIANT)
    assert (world.up, world.effects) == (VARIANT, 0)
