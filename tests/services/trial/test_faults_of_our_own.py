"""Whatever is raised between the take-down and the proof, by us or by what we read, production comes back."""

import contextlib
import errno

import msgspec
import pytest

from pitstop.core.documents import Status
from pitstop.core.encoding import encoded
from pitstop.core.errors import EngineFailed
from pitstop.services import lease as lease_module
from pitstop.services.lease import LeaseLost, read_lease
from pitstop.services.trial import journal as journal_module
from pitstop.services.trial.conduct import conduct, take_lease
from pitstop.services.trial.folder import TrialFolder, owed
from pitstop.services.trial.journal import Entry
from support.trial_world import FakeMemory, World, promise, stage

PRODUCTION, VARIANT = (arm.spec for arm in promise().arms)
HALF = "\ud83d"  # of a character: servers' JSON and command lines may hold one, UTF-8 has no form for it


async def conducted(root, fault):
    """A trial with a fault in its world: where it was conducted, what is up, and its document."""
    world = World(up=PRODUCTION)
    on = stage(root, world)
    fault(on, world)
    folder = TrialFolder(on.home.trials / "T1")
    lease = take_lease(on, promise())
    folder.create(promise())
    return on, world, await conduct(on, folder, promise(), lease)


def while_the_variant_is_measured(do):
    def fault(on, _world):
        measure = on.crew.measure

        async def wrapped(site, promised, boot):
            document = await measure(site, promised, boot)
            if boot.arm == 1:
                do(on)
            return document

        on.crew.measure = wrapped

    return fault


def a_reason_that_utf8_cannot_hold(_on):
    raise EngineFailed(f"port 8001 is taken by pid 7 (serve {HALF} \udcff)")


def a_lease_that_cannot_be_read(on):
    if on.home.lease.is_file():
        on.home.lease.unlink()
        on.home.lease.mkdir()


def no_word_about_memory(on):
    async def broken(*_args):
        raise UnicodeDecodeError("utf-8", b"\xc3", 0, 1, "unexpected end of data")

    memory = FakeMemory()
    memory.expected = memory.back = broken
    on.crew.memory = memory


@pytest.mark.parametrize("do", [a_reason_that_utf8_cannot_hold, a_lease_that_cannot_be_read, no_word_about_memory])
async def test_production_comes_back_all_the_same(tmp_path, do):
    on, world, document = await conducted(tmp_path, while_the_variant_is_measured(do))
    assert world.up == PRODUCTION
    assert document.production.restored
    assert not owed(on.home)


async def test_a_reason_is_told_as_far_as_it_can_be_written(tmp_path):
    _, _, document = await conducted(tmp_path, while_the_variant_is_measured(a_reason_that_utf8_cannot_hold))
    assert "taken by pid 7 (serve \ufffd" in document.arms[1].incidents[0]["reason"]
    assert document.state == "finished"


async def test_a_token_that_utf8_cannot_hold_is_a_proof(tmp_path):
    def fault(on, _world):
        async def generate(_site):
            return HALF

        on.crew.generate = generate

    _, world, document = await conducted(tmp_path, fault)
    assert document.production.restored
    assert world.boots.count(PRODUCTION.fingerprint) == 3  # its own two boots, and one restore


async def test_what_is_tidied_up_after_the_proof_is_not_worth_another_restart(tmp_path):
    def fault(on, _world):
        async def broken(*_args):
            raise ValueError("no such label")

        on.crew.images.let_go = broken

    _, world, document = await conducted(tmp_path, fault)
    assert document.production.restored
    assert world.boots.count(PRODUCTION.fingerprint) == 3
    assert "no such label" in str(document.log)


@pytest.mark.parametrize("error", [ValueError("invalid literal"), EngineFailed("/proc/meminfo does not say")])
async def test_a_boot_of_which_nothing_can_be_told_keeps_its_figures_and_is_no_crash(tmp_path, error):
    def fault(on, _world):
        async def broken(*_args):
            raise error

        on.crew.info = broken

    _, _, document = await conducted(tmp_path, fault)
    assert document.state == "finished"
    assert [arm.incidents for arm in document.arms] == [[], []]
    runs = [run for arm in document.arms for run in arm.runs]
    assert {figure.status for run in runs for figure in run.figures} == {Status.OK}
    assert {str(error) in notice.text for run in runs for notice in run.warnings} == {True}


@pytest.mark.parametrize("error", [ValueError("a number"), RuntimeError("closed"), OSError(errno.EIO, "I/O error")])
async def test_a_ledger_that_fails_in_its_own_way_costs_a_warning(tmp_path, error):
    def fault(on, _world):
        def broken():
            raise error

        on.open_ledger = broken

    on, _, document = await conducted(tmp_path, fault)
    assert (document.state, len(document.verdicts)) == ("finished", 1)
    [notice] = document.warnings
    assert notice.code == "ledger"
    assert f"{on.home.trials}/T1/trial.json" in notice.text
    assert read_lease(on.home) is None


async def test_a_journal_that_cannot_be_folded_any_more_costs_the_story_and_not_the_end(tmp_path, monkeypatch):
    def damage(on):
        path = on.home.trials / "T1" / journal_module.FILE
        path.write_bytes(path.read_bytes().replace(b"2026-11-29T", b"2026-11-99T"))

    on, world, document = await conducted(tmp_path, while_the_variant_is_measured(damage))
    assert world.up == PRODUCTION
    assert document.production.restored
    assert "cannot be read as a trial" in document.warnings[0].text
    assert not owed(on.home)


@pytest.mark.parametrize(("at", "up"), [("expected", VARIANT), ("back", None)])
async def test_who_loses_the_lease_in_the_middle_of_a_step_stops_and_starts_nothing(tmp_path, at, up):
    """Stopped by SIGSTOP for longer than its lease, while a recovery put production back."""
    worlds = []

    def fault(on, world):
        asked = getattr(on.crew.memory, at)

        async def overslept(*args):
            if world.up == up and VARIANT.fingerprint in world.boots and not worlds:
                other = msgspec.structs.replace(read_lease(on.home), token="the recovery's")
                on.home.lease.write_bytes(msgspec.json.encode(other))
                world.up = PRODUCTION
                worlds.append((world, world.effects))
            return await asked(*args)

        setattr(on.crew.memory, at, overslept)

    with pytest.raises(LeaseLost):
        await conducted(tmp_path, fault)
    [(world, effects)] = worlds
    assert (world.up, world.effects) == (PRODUCTION, effects)


async def test_a_state_folder_that_turned_read_only_costs_no_word_about_the_trial(tmp_path, monkeypatch):
    def read_only(_path):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(lease_module, "remove_durably", read_only)
    _, _, document = await conducted(tmp_path, lambda *_: None)
    assert document.state == "finished"


async def test_an_unreadable_journal_is_a_restore_that_may_be_owed(tmp_path):
    on, _, _ = await conducted(tmp_path, lambda *_: None)
    folder = TrialFolder(on.home.trials / "T1")
    (folder.path / "trial.json").unlink()
    assert not folder.owes_restore()
    with contextlib.suppress(FileNotFoundError):
        (folder.path / journal_module.FILE).unlink()
    (folder.path / journal_module.FILE).mkdir()
    assert folder.owes_restore()
    assert [one.id for one in owed(on.home)] == ["T1"]


def test_what_utf8_has_no_form_for_is_replaced_wherever_it_stands():
    assert encoded({f"a{HALF}": [HALF, ("\ud83d\ude00",)]}) == '{"a\ufffd":["\ufffd",["😀"]]}'.encode()
    entry = Entry("now", "note", text=HALF)
    assert msgspec.json.decode(encoded(entry), type=Entry).text == "\ufffd"
