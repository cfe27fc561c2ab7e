"""What a run was asked with stands in its document, so that another question is another run."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from pitstop.core.config.quality import Quality
from pitstop.core.documents import EngineIdentity
from pitstop.core.errors import UsageError
from pitstop.engines.adapter import Capabilities
from pitstop.rulers.ruler import Settings
from pitstop.services.assignment import Assignment
from pitstop.services.compare.comparable import differences
from pitstop.services.compare.measured import of_run
from pitstop.services.run_document import opened

TASK = 'prompt = "?"\n[answer]\nnumber = {}'


async def identity():
    return EngineIdentity(kind="vllm", model="qwen", started_at="2026-01-01")


async def opened_with(folder, interrupted=None, rulers=("decode", "quality")):
    assignment = Assignment("run", rulers, Settings(quality=Quality(tasks=str(folder))))
    site = SimpleNamespace(identity=identity)
    return await opened(site, assignment, Capabilities(), datetime(2026, 1, 1, tzinfo=UTC), interrupted)


async def test_own_tasks_that_were_changed_meanwhile_are_another_run(tmp_path):
    (tmp_path / "a.toml").write_text(TASK.format(7))
    interrupted = await opened_with(tmp_path)
    assert await opened_with(tmp_path, interrupted) is interrupted
    (tmp_path / "a.toml").write_text(TASK.format(8))
    with pytest.raises(UsageError, match=r"settings\.quality_tasks: own/\w+ then, own/\w+ now"):
        await opened_with(tmp_path, interrupted)


async def test_a_run_that_goes_on_with_quality_learns_which_tasks_it_asks(tmp_path):
    (tmp_path / "a.toml").write_text(TASK.format(7))
    begun = await opened_with(tmp_path, rulers=("decode",))
    assert "quality_tasks" not in begun.settings
    whole = await opened_with(tmp_path, begun)
    assert whole.settings["quality_tasks"].startswith("own/")
    (tmp_path / "a.toml").write_text(TASK.format(8))
    with pytest.raises(UsageError, match="quality_tasks"):
        await opened_with(tmp_path, whole)


async def test_speeds_are_compared_whatever_tasks_were_asked_beside_them(tmp_path):
    (tmp_path / "a.toml").write_text(TASK.format(7))
    with_tasks = await opened_with(tmp_path, rulers=("decode", "quality"))
    without = await opened_with(tmp_path, rulers=("decode",))
    assert differences(of_run(with_tasks, "a"), of_run(without, "b")) == []


async def test_own_tasks_are_read_before_anything_is_measured_and_only_where_they_are_asked(tmp_path):
    with pytest.raises(UsageError, match="is no folder of tasks"):
        await opened_with(tmp_path / "missing")
    assert "quality_tasks" not in (await opened_with(tmp_path / "missing", rulers=("decode",))).settings
