import errno
import os
import shutil
import subprocess
import sys

import pytest

from pitstop.core.documents import encode
from pitstop.core.errors import LeaseHeld, UsageError
from pitstop.core.home import Home
from pitstop.core.process_id import ProcessId, is_alive, own_id, process_id
from pitstop.decisions.lease import Claimant, Phase, Standing
from pitstop.services.lease import LeaseLost, acquire, lease_standing, read_lease
from support.kept import a_trial


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path).prepared()


def take(home, now=100.0, **options):
    return acquire(home, lambda: now, purpose="trial nightly", engines=("qwen",), **options)


def test_two_cannot_hold_it(home):
    take(home)
    with pytest.raises(LeaseHeld, match=f"process {os.getpid()}"):
        take(home)


def test_it_is_free_again_after_the_release(home):
    take(home).release()
    assert read_lease(home) is None
    take(home)


def test_a_recovery_takes_a_stalled_lease_and_the_old_holder_finds_out_before_it_acts(home):
    stalled = take(home, now=100.0, trial="T1")
    with pytest.raises(LeaseHeld):
        take(home, now=500.0)
    take(home, now=500.0, claimant=Claimant.RECOVERY)
    with pytest.raises(LeaseLost):
        stalled.check()
    with pytest.raises(LeaseLost):
        stalled.renew()
    stalled.release()
    assert read_lease(home) is not None


def test_a_lease_that_was_deleted_is_still_its_holders_and_is_written_again(home):
    (home.trials / "T1").mkdir()
    (home.trials / "T1/promise.json").write_bytes(b"{}")
    held = take(home, trial="T1")
    home.lease.unlink()
    held.check()
    held.renew()
    assert read_lease(home) == held.lease
    home.lease.unlink()
    ended = a_trial("T1", state="interrupted")  # as a recovery that took it over and is through leaves it
    (home.trials / "T1/trial.json").write_bytes(encode(ended))
    with pytest.raises(LeaseLost):
        held.check()


def test_a_lease_is_given_back_where_its_folder_is_gone(home):
    held = take(home, trial="T1")
    shutil.rmtree(home.root)
    held.release()


TAKE_AND_DIE = """
import os, pathlib, sys
from pitstop.core.home import Home
from pitstop.services.lease import acquire
acquire(Home(pathlib.Path(sys.argv[1])), lambda: 100.0, purpose="trial nightly", engines=("qwen",), trial="T1")
os._exit(9)
"""


@pytest.mark.parametrize("owes", [True, False])
def test_the_lease_of_a_killed_trial_is_kept_for_recovery_while_it_owes_a_restore(home, owes):
    if owes:
        (home.trials / "T1").mkdir()
        (home.trials / "T1/promise.json").write_bytes(b"not readable, so nobody can say that nothing is owed")
    died = subprocess.run([sys.executable, "-c", TAKE_AND_DIE, home.root], timeout=30, check=False)
    assert died.returncode == 9
    assert lease_standing(home, 101.0)[1] is (Standing.ABANDONED if owes else Standing.LEFT_OVER)
    if not owes:
        take(home)
        return
    with pytest.raises(LeaseHeld, match="without putting production back") as caught:
        take(home)
    assert "trial recover" in caught.value.hint
    take(home, claimant=Claimant.RECOVERY)


@pytest.mark.parametrize("content", [b"", b"{", b'{"token": 1}', b"\xff\xfe"])
def test_a_torn_file_is_no_lease(home, content):
    home.lease.write_bytes(content)
    take(home)


def test_renewing_pushes_the_expiry_and_changes_the_phase(home):
    now = [100.0]
    held = acquire(home, lambda: now[0], purpose="trial", engines=("q",), phase=Phase.WAITING)
    now[0] = 150.0
    held.renew(Phase.ACTIVE)
    assert (read_lease(home).expires_at_s, read_lease(home).phase) == (210.0, Phase.ACTIVE)


def test_a_pid_that_was_reused_or_belongs_to_another_boot_is_not_alive():
    mine = own_id()
    assert is_alive(mine)
    assert not is_alive(ProcessId(mine.pid, mine.start_ticks + 1, mine.boot_id))
    assert not is_alive(ProcessId(mine.pid, mine.start_ticks, "another-boot"))
    assert process_id(2**22 + 1) is None


def full_disk(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_recovery_gets_the_lease_on_a_full_disk(home, monkeypatch):
    take(home, now=100.0, trial="T1")
    monkeypatch.setattr("pitstop.core.durable.write_durably", full_disk)
    held = take(home, now=500.0, claimant=Claimant.RECOVERY, trial="T1")
    held.check()
    held.renew(Phase.ACTIVE)
    assert read_lease(home) == held.lease


def test_new_work_on_a_full_disk_is_refused_with_a_sentence(home, monkeypatch):
    monkeypatch.setattr("pitstop.core.durable.write_durably", full_disk)
    with pytest.raises(UsageError, match=r"lease\.json cannot be used: No space left"):
        take(home)


def test_a_lease_that_cannot_be_read_is_not_taken_for_none(home):
    home.lease.mkdir()
    with pytest.raises(UsageError, match="cannot be used"):
        lease_standing(home, 100.0)
