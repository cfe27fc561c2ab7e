import asyncio
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.launch.launcher import Running
from pitstop.services import memory_table as table
from pitstop.services.memory_table import docker_stats_of, gpu_by_pid, memory_table, parse_gpu_processes

MIB = 2**20


def test_a_process_on_two_gpus_is_added_up_and_an_unknown_size_is_left_out():
    assert parse_gpu_processes("11, 500\n12, [N/A]\n11, 24\nNo running processes found\n") == {11: 524 * MIB}


@given(st.text(max_size=100))
def test_any_answer_of_the_driver_is_read(text):
    parse_gpu_processes(text)


async def test_a_box_without_a_driver_says_so():
    held, why = await gpu_by_pid("no-such-nvidia-smi")
    assert held is None
    assert why


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"memory.current": "900\n", "memory.stat": "anon 1\ninactive_file 300\n"}, 600),
        ({"memory.usage_in_bytes": "900\n", "memory.stat": "inactive_file 1\ntotal_inactive_file 300\n"}, 600),
        ({"memory.current": "900\n"}, 900),
        ({"memory.current": "max\n"}, None),
        ({}, None),
    ],
)
def test_docker_stats_is_the_control_group_without_its_idle_file_cache(tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert docker_stats_of(tmp_path) == expected


async def test_each_engine_is_seen_by_its_whole_tree_and_the_rest_of_the_gpu_by_its_holder(monkeypatch):
    code = "import os, time; x = bytearray(30 * 2**20); pid = os.fork(); time.sleep(30)"
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", code, start_new_session=True)
    try:

        async def driver(_binary="nvidia-smi"):
            return {process.pid: 50 * MIB, 999_999: 7 * MIB}, ""

        monkeypatch.setattr(table, "gpu_by_pid", driver)
        running = Running(engine="a", fingerprint="f", started_at="", pid=process.pid)
        for _ in range(200):
            seen = await memory_table({"a": running, "b": None}, 12 * 2**30)
            if seen.engines[0].processes == 2 and (seen.engines[0].host_bytes or 0) > 30 * MIB:
                break
            await asyncio.sleep(0.02)
        up, down = seen.engines
        assert (up.processes, up.gpu_bytes) == (2, 50 * MIB)
        assert 30 * MIB < up.host_bytes < 60 * MIB  # both hold the same 30 MiB, which count once
        assert (down.up, down.gpu_bytes, down.host_bytes) == (False, None, None)
        assert (seen.unowned_gpu_pids, seen.unowned_gpu_bytes) == ((999_999,), 7 * MIB)
        assert seen.margin_bytes == seen.memory.available_bytes - 12 * 2**30
    finally:
        os.killpg(process.pid, 9)
        await process.wait()
