"""The invariant that matters most: whatever happens to the process, production comes back as it was."""

import contextlib
import errno
import shutil

import msgspec
import pytest

from pitstop.core.documents import Verdict
from pitstop.core.durable import append_durably
from pitstop.core.errors import EngineFailed, Unreachable, UsageError
from pitstop.core.home import Home
from pitstop.decisions.lease import Phase, Standing
from pitstop.decisions.trial import How, Outcome, schedule
from pitstop.launch.command import CommandFailed, Failure
from pitstop.services.lease import LeaseLost, lease_standing, read_lease
from pitstop.services.trial import journal as journal_module
from pitstop.services.trial.conduct import conduct, recover, take_lease
from pitstop.services.trial.folder import TrialFolder, open_trials, owed
from pitstop.services.trial.roles import unfailing
from support.trial_world import Killed, NoGuard, World, promise, stage

PRODUCTION = promise().production
VARIANT = promise().arms[1].spec


async def run(root, world, **options):
    return await conducted(stage(root, world, **options))


async def conducted(on, promised=None):
    promised = promised or promise()
    folder = folder_of(on)
    lease = take_lease(on, promised)
    folder.create(promised)
    return await conduct(on, folder, promised, lease)


def folder_of(on):
    return TrialFolder(on.home.trials / "T1")


async def test_a_trial_boots_its_arms_mirrored_and_puts_production_back(tmp_path):
    world = World(up=PRODUCTION)
    document = await run(tmp_path, world)
    p, v = PRODUCTION.fingerprint, VARIANT.fingerprint
    assert world.boots == [p, v, v, p, p]
    assert world.up == PRODUCTION
    assert document.state == "finished"
    assert not world.kept
    assert "one of them could not be kept" in str(document.log)  # and that is no reason to end
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


async def test_how_an_engine_died_is_told_though_a_request_noticed_it_first(tmp_path):
    world = World(up=PRODUCTION, guard_kills=VARIANT.fingerprint)
    on = stage(tmp_path, world)
    measure = on.crew.measure

    async def nothing_answers(site, promised, boot):
        document = await measure(site, promised, boot)
        if boot.arm == 1:
            raise Unreachable("nothing accepts connections")
        return document

    on.crew.measure = nothing_answers
    document = await conducted(on)
    reasons = [incident["reason"] for incident in document.arms[1].incidents]
    assert len(reasons) == 2
    for reason in reasons:
        assert "nothing accepts connections" in reason
        assert "engine smol died" in reason
        assert "CUDA error: an illegal memory access" in reason


@pytest.mark.parametrize("fault", [RuntimeError("closed"), Unreachable("away"), OSError("full")])
async def test_a_fault_while_the_reason_of_a_failure_is_sought_leads_to_the_restore(tmp_path, fault):
    world = World(up=PRODUCTION, dead_on_boot=VARIANT.fingerprint)
    on = stage(tmp_path, world)

    async def broken(_site):
        raise fault

    on.crew.stopped = broken
    document = await conducted(on)
    assert document.production.restored
    assert world.up == PRODUCTION
    assert str(fault) in str(document.log) or "illegal memory access" in str(document.arms[1].incidents)


async def test_a_view_that_fails_costs_nothing(tmp_path):
    class Blind:
        def __getattr__(self, name):
            raise UnicodeEncodeError("ascii", "ä", 0, 1, name)

    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    on.watcher = Blind()
    document = await conducted(on)
    assert (document.state, world.up) == ("finished", PRODUCTION)
    unfailing(lambda text: text.no_such_word)("ready")


async def test_production_that_somebody_changed_meanwhile_is_not_stopped(tmp_path):
    world = World(up=VARIANT)
    document = await run(tmp_path, world)
    assert document.state == "failed"
    assert "changed by somebody else" in str(document.log)
    assert (world.up, world.effects, world.kept) == (VARIANT, 0, False)
    assert document.production.proved_by == "was never touched"
    assert owed(Home(tmp_path)) == []
    assert read_lease(Home(tmp_path)) is None


async def test_production_that_went_down_while_the_trial_waited_is_started(tmp_path):
    world = World()
    document = await run(tmp_path, world)
    assert document.state == "failed"
    assert world.boots == [PRODUCTION.fingerprint]
    assert document.production.restored


@pytest.mark.parametrize("lost", ["the state folder", "the lease"])
async def test_what_is_deleted_under_a_running_trial_does_not_keep_production_down(tmp_path, lost):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    measure = on.crew.measure

    async def while_somebody_tidies_up(site, promised, boot):
        document = await measure(site, promised, boot)
        if boot.arm == 1 and lost == "the lease":
            on.home.lease.unlink(missing_ok=True)
        elif boot.arm == 1:
            shutil.rmtree(on.home.root)
        return document

    on.crew.measure = while_somebody_tidies_up
    document = await conducted(on)
    assert world.up == PRODUCTION
    assert document.production.restored
    assert document.state == ("finished" if lost == "the lease" else "failed")
    assert read_lease(on.home) is None


@pytest.mark.parametrize(("refusals", "back"), [(3, True), (99, False)])
async def test_a_refused_restore_is_tried_again_and_in_the_end_a_person_is_asked_for(tmp_path, refusals, back):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    on.crew.measure = _then_refuse_starts(on.crew.measure, world, refusals)
    document = await conducted(on)
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
    assert (await recover(on, folder_of(on))).production.restored
    assert world.up == PRODUCTION
    assert not owed(on.home)


@pytest.mark.parametrize("killed_at", ["ready", "proving"])
async def test_production_that_is_up_again_is_not_taken_down_once_more_by_a_recovery(tmp_path, killed_at):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    until_ready, generate = on.site.adapter.readiness, on.crew.generate

    async def killed(*_args, **deadline):
        if len(world.boots) == 5 and (killed_at == "ready" or not deadline):
            raise Killed
        return await until_ready(on.site.endpoint)

    on.site.adapter.readiness, on.crew.generate = killed, killed
    folder = TrialFolder(on.home.trials / "T1")
    lease = take_lease(on, promise())
    folder.create(promise())
    with pytest.raises(Killed):
        await conduct(on, folder, promise(), lease)
    boots = list(world.boots)
    _forget_the_holder(on.home)
    on.site.adapter.readiness, on.crew.generate = until_ready, generate
    assert (await recover(on, folder)).production.restored
    assert (world.up, world.boots) == (PRODUCTION, boots)


@pytest.mark.parametrize(("looks", "back"), [(50, True), (999, False)])
async def test_a_restore_waits_some_minutes_for_a_container_engine_that_is_being_upgraded(tmp_path, looks, back):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    inspect, measure, paused = on.site.launcher.inspect, on.crew.measure, []
    away = iter(())

    async def measured(*args):
        nonlocal away
        away = iter(range(looks))
        return await measure(*args)

    async def inspected(spec):
        for _ in away:
            raise CommandFailed(Failure.DAEMON_DOWN, ["docker", "container"], "Cannot connect to the Docker daemon")
        return await inspect(spec)

    async def pause(seconds):
        paused.append(seconds)

    on.crew.measure, on.site.launcher.inspect, on.crew.pause = measured, inspected, pause
    document = await conducted(on)
    assert document.production.restored is back
    assert sum(paused) < 600  # then a person is called


@pytest.mark.parametrize(("looks", "back"), [(50, True), (999, False)])
async def test_a_restore_waits_as_long_for_one_that_goes_away_while_production_boots(tmp_path, looks, back):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    inspect, paused, left = on.site.launcher.inspect, [], looks

    async def inspected(spec):
        nonlocal left
        if len(world.boots) >= 5 and left:
            left -= 1
            raise CommandFailed(Failure.DAEMON_DOWN, ["docker", "container"], "Cannot connect to the Docker daemon")
        return await inspect(spec)

    async def pause(seconds):
        paused.append(seconds)

    on.site.launcher.inspect, on.crew.pause = inspected, pause
    document = await conducted(on)
    assert document.production.restored is back
    assert sum(paused) < 600  # then a person is called


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
        assert not world.kept, f"killed at effect {points}"
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


async def test_who_loses_the_lease_touches_nothing_more_and_lets_go_of_the_guard(tmp_path):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    lease = take_lease(on, promise())
    folder = TrialFolder(on.home.trials / "T1")
    folder.create(promise())
    guards, at_loss, measure = [], [], on.crew.measure

    @contextlib.asynccontextmanager
    async def guarded(_site, _promise):
        guards.append("begun")
        try:
            yield NoGuard()
        finally:
            guards.append("ended")

    async def while_another_takes_over(site, promised, boot):
        document = await measure(site, promised, boot)
        if boot.arm == 1:
            other = msgspec.structs.replace(read_lease(on.home), token="another's")
            on.home.lease.write_bytes(msgspec.json.encode(other))
            at_loss.append((world.effects, world.up))
        return document

    on.crew.guarded, on.crew.measure = guarded, while_another_takes_over
    with pytest.raises(LeaseLost, match="taken over"):
        await conduct(on, folder, promise(), lease)
    assert at_loss == [(world.effects, world.up)] == [(world.effects, VARIANT)]
    assert guards == ["begun", "ended"] * 2
    assert read_lease(on.home).token == "another's"


def _forget_the_holder(home):
    """The killed process was this one; a lease of a process that is gone looks like this."""
    import msgspec

    from pitstop.core.process_id import ProcessId

    lease = read_lease(home)
    if lease is not None:
        gone = msgspec.structs.replace(lease, holder=ProcessId(2**22 + 1, 1, "another-boot"))
        home.lease.write_bytes(msgspec.json.encode(gone))


def may_stop_early():
    trial = msgspec.structs.replace(promise().trial, boots=4, stop_early=True)
    return msgspec.structs.replace(promise(), trial=trial, boots=schedule(2, 4))


async def test_a_trial_that_has_seen_enough_halfway_spares_production_the_rest(tmp_path):
    world = World(up=PRODUCTION, enough="decided early: better")
    on = stage(tmp_path, world)
    document, folder = await conducted(on, may_stop_early()), folder_of(on)
    assert len(world.boots) == 4 + 1  # two of four blocks, and production's return
    assert document.state == "finished"
    assert document.production.restored
    assert folder.blocks_done(promise().trial.boots) == 2
    assert {record.blocks for record in document.verdicts} == {2}
    assert "decided early: better" in str(document.log)


async def test_the_final_interval_pays_for_the_look(tmp_path):
    looked = await conducted(stage(tmp_path / "a", World(up=PRODUCTION)), may_stop_early())
    plain = msgspec.structs.replace(may_stop_early(), trial=msgspec.structs.replace(promise().trial, boots=4))
    once = await conducted(stage(tmp_path / "b", World(up=PRODUCTION)), plain)
    [with_look], [without] = looked.verdicts, once.verdicts
    assert with_look.interval[0] < without.interval[0]
    assert with_look.interval[1] > without.interval[1]


async def test_the_ledger_keeps_every_step_of_a_trial(tmp_path):
    world = World(up=PRODUCTION)
    await run(tmp_path, world)
    with stage(tmp_path, world).open_ledger() as ledger:
        told = [(one.from_state, one.to_state) for one in ledger.transitions("T1")]
        assert ledger.trial("T1").state == "finished"
    assert told[0] == ("drawn-up", "wait-idle")
    assert ("wait-idle", "take-down") in told
    assert told[-1] == ("prove", "finished")


async def test_clients_are_let_in_as_soon_as_production_is_proved_and_the_lease_is_no_longer_active(tmp_path):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    phases = []
    door = on.crew.door
    door.open = lambda _engine: phases.append(lease.phase if (lease := read_lease(on.home)) else None)
    folder = TrialFolder(on.home.trials / "T1")
    lease = take_lease(on, promise())
    folder.create(promise())
    await conduct(on, folder, promise(), lease)
    assert phases == [Phase.WAITING, None]  # once proved, and once more when all is over


async def test_another_engine_that_comes_up_in_place_of_a_variant_is_named_and_not_measured(tmp_path):
    """The first report's second strike: production was restarted while the variant booted."""
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    on.site.launcher.start = _production_comes_up_instead(on.site.launcher.start, world)
    document = await conducted(on)
    [incident, _] = document.arms[1].incidents
    assert f"production's own settings ({PRODUCTION.fingerprint})" in incident["reason"]
    assert VARIANT.fingerprint in incident["reason"]
    assert [run.figures for run in document.arms[1].runs] == [[], []]
    assert [record.verdict for record in document.verdicts] == [Verdict.UNDECIDED]  # a watchdog's deed is no result
    assert "2 of 2 block(s) left out as invalid" in document.verdicts[0].reason
    assert world.up == PRODUCTION


@pytest.mark.parametrize(("by_hand", "verdict"), [(True, Verdict.UNDECIDED), (False, Verdict.WORSE)])
async def test_an_engine_that_somebody_stopped_is_not_held_against_its_arm_and_a_crash_is(tmp_path, by_hand, verdict):
    world = World(up=PRODUCTION, dead_on_boot=VARIANT.fingerprint, stopped_by_hand=by_hand)
    document = await run(tmp_path, world)
    assert [record.verdict for record in document.verdicts] == [verdict]
    assert ("somebody stopped it" in document.arms[1].incidents[0]["reason"]) == by_hand


async def test_an_arm_that_comes_up_with_a_wrong_patch_is_not_measured_and_is_not_worse_for_it(tmp_path):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)

    async def wrong(site):
        return "patch cublas: it belongs to another image" if site.spec == VARIANT else ""

    on.crew.unfit = wrong
    document = await conducted(on)
    assert [len(run.figures) for arm in document.arms for run in arm.runs] == [1, 1, 0, 0]
    assert [one["reason"] for one in document.arms[1].incidents] == ["patch cublas: it belongs to another image"] * 2
    assert [record.verdict for record in document.verdicts] == [Verdict.UNDECIDED]
    assert "patch cublas" in document.verdicts[0].reason
    assert world.up == PRODUCTION


def _production_comes_up_instead(start, world):
    async def wrapped(spec, environ):
        started = await start(spec, environ)
        if spec == VARIANT:
            world.up = PRODUCTION
        return started

    return wrapped


async def test_a_journal_without_room_touches_nothing_and_leaves_no_debt(tmp_path, monkeypatch):
    def full(_journal):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_module.Journal, "keep_reserve", full)
    world = World(up=PRODUCTION)
    with pytest.raises(UsageError, match="no room"):
        await run(tmp_path, world)
    home = stage(tmp_path, world).home
    assert (world.effects, owed(home), open_trials(home), read_lease(home)) == (0, [], [], None)


ADMISSION = (
    "engine smol died 20 s after its start: ValueError: Free memory on device cuda:0 (109.53/121.69 GiB) on startup is "
    "less than desired GPU memory utilization (0.91, 110.74 GiB)."
)


@pytest.mark.parametrize(("refusals", "incidents"), [(2, 0), (3, 1)])
async def test_a_start_check_that_finds_too_little_memory_is_asked_three_times(tmp_path, refusals, incidents):
    world = World(up=PRODUCTION)
    on = stage(tmp_path, world)
    on.site.launcher.start = _too_little_memory(on.site.launcher.start, refusals)
    document = await conducted(on)
    assert len(document.arms[1].incidents) == incidents
    assert document.production.restored
    assert "short by 1.21 GiB" in str(document.log)


def _too_little_memory(start, refusals):
    left = [refusals]

    async def wrapped(spec, environ):
        if spec == VARIANT and left[0]:
            left[0] -= 1
            raise EngineFailed(ADMISSION)
        return await start(spec, environ)

    return wrapped
