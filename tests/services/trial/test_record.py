"""What the document of a trial tells of its folder, beyond what the journal says."""

from __future__ import annotations

from datetime import datetime, timedelta

from pitstop.services.trial.conduct import conduct, take_lease
from pitstop.services.trial.folder import TrialFolder
from pitstop.services.trial.journal import entries
from pitstop.services.trial.record import MEMORY, document
from support.trial_world import World, promise, stage

_HEADER = "time,mem_available_mib,mem_free_mib,swap_used_mib,event\n"


async def _with_a_dead_arm(root):
    production, variant = promise().production, promise().arms[1].spec
    on = stage(root, World(up=production, dead_on_boot=variant.fingerprint))
    folder = TrialFolder(on.home.trials / "T1")
    lease = take_lease(on, promise())
    folder.create(promise())
    await conduct(on, folder, promise(), lease)
    return folder


async def test_a_failed_boot_brings_the_guards_readings_of_that_boot_and_no_others(tmp_path):
    folder = await _with_a_dead_arm(tmp_path)
    told = list(entries(folder.path))
    began = next(entry.at for entry in told if entry.action and entry.action.boot and entry.action.boot.arm == 1)
    before = (datetime.fromisoformat(began) - timedelta(hours=1)).isoformat()
    (folder.path / MEMORY).write_text(f"{_HEADER}{before},9,9,9,\n{began},7000,1,5,kill\n")
    incident = document(folder.path, promise(), folder.state()).arms[1].incidents[0]
    assert incident["memory_curve"]["samples"][0] == [0.0, 7000 * 2**20, 5 * 2**20]
    assert len(incident["memory_curve"]["samples"]) == 1
    assert incident["memory_curve"]["floor_bytes"] == int(promise().trial.guard.min_available)


async def test_no_readings_no_curve(tmp_path):
    folder = await _with_a_dead_arm(tmp_path)
    (folder.path / MEMORY).unlink(missing_ok=True)
    incidents = document(folder.path, promise(), folder.state()).arms[1].incidents
    assert incidents
    assert all("memory_curve" not in incident for incident in incidents)
