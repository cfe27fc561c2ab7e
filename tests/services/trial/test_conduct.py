"""The invariant that matters most: whatever happens to the process, production comes back as it was."""

import errno

import pytest

from pitstop.core.documents import Verdict
from pitstop.core.durable import append_durably
from pitstop.decisions.lease import Phase, Standing
from pitstop.decisions.trial import How, Outcome
from pitstop.services.lease import lease_standing, read_lease
from pitstop.services.trial import journal as journal_module
from pitstop.services.trial.conduct import conduct, recover, take_lease
from pitstop.services.trial.folder import TrialFolder, open_trials, owed
from support.trial_world import Killed, World, promise, stage

PRODUCTION = promise().production
VARIANT = promise().arms[1].spec


async def run(root, world, **options):
    on = stage(root, world, **options)
    folder = TrialFolder(on.home.trials / "T1")
    lease = take_lease(on, promise())
    folder.create(promise())
    return await conduct(on, folder, promise(), lease)


async def test_a_trial_boots_its_arms_mirrored_and_puts_production_back(tmp_path):
    world = World(up=PRODUCTION)
    document = await run(tmp_path, world)
    p, v = PRODUCTION.fingerprint, VARIANT.fingerprint
    assert world.boots == [p, v, v, p, p]
    assert world.up == PRODUCTION
    assert document.state == "finished"
    assert document.production.restored
    assert document.production.fingerprint_after == document.production.fingerprint_before == p
    assert "hello" in document.production.proved_by
    assert [len(arm.runs) for arm in document.arms] == [2, 2]
    assert [record.verdict for record in document.verdicts] == [Verdict.BETTER]
    assert read_lease(stage(tmp_path, world).home) is None


async def test_a_trial_teaches_the_ledger_how_much_boots_of_one_configuration_differ(tmp_path):
    world = World(up=PRODUCTION)
    await run(tmp_path, world)
    with stage(tmp_path, world).open_ledger() as ledger:
        prior = ledger.noise_prior("llamacpp", "decode", "prose/en", "decode_tok_s")
    assert prior is not None
    assert 0.001 < prior.sd < 0.05  # the fake world's blocks differ by one token/s in a hundred


async def test_waiting_in_vain_touches_nothing_and_frees_the_lease(tmp_path):
    world = World(up=PRODUCTION)
    document = await run(tmp_path, world, waiting=Outcome(How.GAVE_UP, "busy"))
    assert (document.state, world.effects, world.boots) == ("gave-up", 0, [])
    assert document.production.restored
    assert lease_standing(stage(tmp_path, world).home, 101.0)[1] is Standing.FREE


async def test_an_arm_that_dies_at_boot_is_a_result_with_the_last_lines_of_its_log(tmp_path):
    world = World(up=PRODUCTION, dead_on_boot=VARIANT.fingerprint)
    document = await run(tmp_path, world)
    assert world.up == PRODUCTION
    assert len(document.arms[1].incidents) == 2
    assert "illegal memory access" in document.arms[1].incidents[0]["reason"]
    assert [record.verdict for record in document.verdicts] == [Verdict.WORSE]


async def test_an_engine_that_ends_while_it_is_measured_is_an_incident_of_its_arm(tmp_path):
    world = World(up=PRODUCTION, guard_kills=VARIANT.fingerprint)
    document = await run(tmp_path, world)
    assert world.up == PRODUCTION
    assert [len(arm.incidents) for arm in document.arms] == [0, 2]


async def test_production_that_somebody_changed_meanwhile_is_not_stopped(tmp_path):
    world = World(up=VARIANT)
    document = await run(tmp_path, world)
    assert document.state == "failed"
    assert "changed by somebody else" in str(document.log)


@pytest.mark.parametrize(("refusals", "back"), [(3, True), (99, False)])
async def test_a_refused_restore_is_tried_again_and_in_the_end_a_person_is_asked_for(tmp_path, refusals, back):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    on.crew.measure = _then_refuse_starts(on.crew.measure, world, refusals)
    folder = TrialFolder(on.home.trials / "T1")
    lease = take_lease(on, promise())
    folder.create(promise())
    document = await conduct(on, folder, promise(), lease)
    assert document.production.restored is back
    if back:
        assert world.up == PRODUCTION
        return
    assert document.state == "not-restored"
    assert "the daemon is away" in str(document.log)
    assert [debt.id for debt in owed(on.home)] == ["T1"]
    assert read_lease(on.home) is not None

    world.refuse_starts = 0
    _forget_the_holder(on.home)
    assert (await recover(on, folder)).production.restored
    assert world.up == PRODUCTION
    assert not owed(on.home)


def _then_refuse_starts(measure, world, refusals):
    """After the last arm was measured; what comes next is the restore."""

    async def wrapped(site, plan, boot):
        if (boot.block, boot.arm) == (1, 0):
            world.refuse_starts = refusals
        return await measure(site, plan, boot)

    return wrapped


async def test_killed_at_any_effect_recovery_puts_production_back(tmp_path):
    """SIGKILL before and after every change of the world; each time another process recovers."""
    points = 0
    while True:
        world = World(up=PRODUCTION, kill_at=points)
        root = tmp_path / str(points)
        try:
            await run(root, world)
        except Killed:
            pass
        else:
            break
        world.kill_at = None
        on = stage(root, world)
        _forget_the_holder(on.home)
        for folder in open_trials(on.home):
            document = await recover(on, folder)
            assert document.production.restored, f"killed at effect {points}"
        assert world.up == PRODUCTION, f"killed at effect {points}"
        assert not owed(on.home)
        assert read_lease(on.home) is None
        points += 1
    assert points > 20


async def test_killed_in_the_recovery_too_the_next_one_finishes(tmp_path):
    for first in (3, 8, 15):
        for second in range(6):
            world = World(up=PRODUCTION, kill_at=first)
            root = tmp_path / f"{first}-{second}"
            with pytest.raises(Killed):
                await run(root, world)
            world.kill_at = world.effects + second
            on = stage(root, world)
            _forget_the_holder(on.home)
            try:
                for folder in open_trials(on.home):
                    await recover(on, folder)
            except Killed:
                world.kill_at = None
                _forget_the_holder(on.home)
                for folder in open_trials(on.home):
                    await recover(on, folder)
            assert world.up == PRODUCTION
            assert not owed(on.home)


async def test_a_full_disk_ends_the_trial_and_the_restore_is_written_in_the_reserve(tmp_path, monkeypatch):
    world = World(up=PRODUCTION)
    full = []

    def append(path, line):
        if full and (path.parent / "reserve").exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        if b'"measure"' in line:
            full.append(True)
        append_durably(path, line)

    monkeypatch.setattr(journal_module, "append_durably", append)
    document = await run(tmp_path, world)
    assert world.up == PRODUCTION
    assert document.production.restored


async def test_a_journal_that_cannot_be_written_at_all_leads_to_the_restore(tmp_path, monkeypatch):
    world = World(up=PRODUCTION)

    def append(path, line):
        if b'"measure"' in line or append.broken:
            append.broken = True
            raise OSError(errno.EIO, "Input/output error")
        append_durably(path, line)

    append.broken = False
    monkeypatch.setattr(journal_module, "append_durably", append)
    await run(tmp_path, world)
    assert world.up == PRODUCTION
    assert world.boots == [PRODUCTION.fingerprint] * 2  # its own arm, and the restore; no variant was begun


async def test_the_lease_turns_active_only_when_production_is_touched(tmp_path):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    lease = take_lease(on, promise())
    assert read_lease(on.home).phase is Phase.WAITING
    folder = TrialFolder(on.home.trials / "T1")
    folder.create(promise())
    seen = []
    measure = on.crew.measure

    async def looking(*args):
        seen.append(read_lease(on.home).phase)
        return await measure(*args)

    on.crew.measure = looking
    await conduct(on, folder, promise(), lease)
    assert set(seen) == {Phase.ACTIVE}


def _forget_the_holder(home):
    """The killed process was this one; a lease of a process that is gone looks like this."""
    import msgspec

    from pitstop.core.process_id import ProcessId

    lease = read_lease(home)
    if lease is not None:
        gone = msgspec.structs.replace(lease, holder=ProcessId(2**22 + 1, 1, "another-boot"))
        home.lease.write_bytes(msgspec.json.encode(gone))
