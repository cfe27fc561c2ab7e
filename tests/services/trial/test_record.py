"""What the document of a trial tells of its folder, beyond what the journal says."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from pitstop.core.config.quality import Quality
from pitstop.core.config.schema import Config
from pitstop.decisions.trial import State
from pitstop.services.trial.conduct import conduct, take_lease
from pitstop.services.trial.crew import assignment
from pitstop.services.trial.folder import TrialFolder
from pitstop.services.trial.journal import entries
from pitstop.services.trial.prepare import trial_named
from pitstop.services.trial.record import MEMORY, arms_that_changed, document
from support.trial_world import World, promise, stage

_HEADER = "time,mem_available_mib,mem_free_mib,swap_used_mib,event\n"


async def _with_a_dead_arm(root):
    return await _a_trial(root, World(up=promise().production, dead_on_boot=promise().arms[1].spec.fingerprint))


async def _a_trial(root, world):
    on = stage(root, world)
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


async def test_an_arm_whose_boots_ran_different_images_is_told(tmp_path):
    folder = await _a_trial(tmp_path, World(up=promise().production))
    told = document(folder.path, promise(), folder.state())
    assert arms_that_changed(told) == []
    second = told.arms[1].runs[1]
    second.engine = msgspec.structs.replace(second.engine, image_digest="sha256:moved", version="0.33.0")
    [notice] = arms_that_changed(told)
    assert "boots of k2 were not one engine" in notice.text
    assert "sha256:moved" in notice.text


OWN = Quality(repeats=4, max_tokens=64, language="en")


@pytest.mark.parametrize(
    ("own", "common", "asked"), [(OWN, Quality(repeats=2), OWN), (None, OWN, OWN), (None, Quality(), Quality())]
)
def test_the_quality_ruler_of_a_trial_asks_as_its_own_table_says_else_as_quality_does(own, common, asked):
    trial = msgspec.structs.replace(promise().trial, engine="smol", rulers=("decode", "quality"), quality=own)
    config = Config(engine={"smol": promise().engine}, trial={"nightly": trial}, quality=common)
    promised = msgspec.structs.replace(promise(), trial=trial_named(config, "nightly"))
    for boot in promised.boots:
        assert assignment(promised, boot).settings.quality == asked
    plan = document_of(promised)["plan"]
    assert plan["quality"]["repeats"] == asked.repeats
    assert plan["minimum_score_effect"] == 0.1
    assert plan["primary"] == ["decode/*/decode_tok_s", "quality/all/score"]


def test_a_trial_without_quality_says_nothing_of_scores_and_its_own_choice_of_figures_stands():
    promised = promise()
    assert "quality" not in document_of(promised)["plan"]
    named = msgspec.structs.replace(promised.trial, primary=("decode/prose/en/decode_tok_s",))
    assert document_of(msgspec.structs.replace(promised, trial=named))["plan"]["primary"] == list(named.primary)


def document_of(promised):
    with tempfile.TemporaryDirectory() as folder:
        return msgspec.to_builtins(document(Path(folder), promised, State(promised.boots)))
