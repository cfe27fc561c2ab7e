import os
import select
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.engines.conditions import Conditions, snapshot
from pitstop.engines.contamination import changes, contaminations
from pitstop.engines.nvidia_smi import Gpu, parse_gpus, read_gpus
from pitstop.engines.procfs import Activity, Memory, read_activity, read_memory
from pitstop.engines.since import ForeignTraffic

MEMINFO = """MemTotal: 1000 kB
MemFree:  300 kB
MemAvailable:   700 kB
Cached: 400 kB
SwapTotal: 50 kB
SwapFree: 20 kB
Shmem: 100 kB
"""
NOTHING = Memory()
SPARK_LINE = "0, 2405, [N/A], 31.20, 48, 96, [Not Supported], 0x0000000000000024, NVIDIA GB10"
TICKS = os.sysconf("SC_CLK_TCK")


def procfs(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def stat(user_s: int, system_s: int, name: str = "kcompactd0) S (") -> str:
    return f"77 ({name}) S 2 0 0 0 -1 69238880 0 0 0 0 {user_s * TICKS} {system_s * TICKS} 0 0 20 0 1 0 44 0 0\n"


def look(
    second: int = 0, gpus: tuple[Gpu, ...] | None = None, memory: Memory = NOTHING, **activity: float
) -> Conditions:
    at = datetime(2026, 11, 29, 12, 0, second, tzinfo=UTC).isoformat(timespec="milliseconds")
    return Conditions(at=at, memory=memory, activity=msgspec.convert(activity, Activity), gpus=gpus)


def test_memory_is_read_in_kib_and_swap_and_page_cache_are_differences(tmp_path: Path) -> None:
    seen = read_memory(procfs(tmp_path, {"meminfo": MEMINFO}))
    assert (seen.available_bytes, seen.free_bytes) == (700 * 1024, 300 * 1024)
    assert (seen.swap_used_bytes, seen.page_cache_bytes) == (30 * 1024, 300 * 1024)


def test_pressure_paging_and_compaction_are_counts_of_seconds_and_pages(tmp_path: Path) -> None:
    files = {
        "pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.0 total=500000\n",
        "vmstat": "pswpin 3\npswpout 4\ncompact_stall 5\noom_kill 1\n",
        "loadavg": "1.50 1.00 0.50 2/345 6789\n",
        "77/comm": "kcompactd0\n",
        "77/stat": stat(3, 4),
        "78/comm": "kcompactd1\n",
        "78/stat": stat(1, 0),
        "79/comm": "python\n",
        "79/stat": stat(500, 0),
    }
    seen = read_activity(procfs(tmp_path, files))
    assert (seen.psi_memory_some_s, seen.psi_memory_full_s, seen.load_1min, seen.kcompactd_cpu_s) == (
        2.5,
        0.5,
        1.5,
        8.0,
    )
    assert (seen.pages_swapped_in, seen.pages_swapped_out, seen.compaction_stalls, seen.oom_kills) == (3, 4, 5, 1)


def test_a_kernel_that_says_nothing_gives_nothing_and_not_zero(tmp_path: Path) -> None:
    assert read_memory(tmp_path) == Memory()
    assert read_activity(tmp_path / "missing") == Activity()


@settings(max_examples=40)  # each writes six files
@given(st.text(max_size=200), st.text(max_size=80))
def test_no_content_of_procfs_makes_it_raise(tmp_path_factory: pytest.TempPathFactory, text: str, line: str) -> None:
    names = ("meminfo", "vmstat", "loadavg", "pressure/memory", "77/comm", "77/stat")
    folder = procfs(tmp_path_factory.mktemp("proc"), dict.fromkeys(names, text) | {"77/comm": "kcompactd0\n"})
    (folder / "meminfo").write_text(f"MemAvailable: {line} kB\n{text}")
    read_memory(folder)
    read_activity(folder)


def test_what_the_driver_does_not_know_is_absent_and_never_zero() -> None:
    (gpu,) = parse_gpus(SPARK_LINE + "\n", with_reasons=True)
    assert (gpu.memory_mhz, gpu.memory_used_bytes) == (None, None)
    assert (gpu.index, gpu.name, gpu.sm_mhz, gpu.power_w, gpu.utilization) == (0, "NVIDIA GB10", 2405.0, 31.2, 0.96)
    assert gpu.slowed_by == ("power cap", "software thermal slowdown")


@pytest.mark.parametrize("cell", ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "nan", "inf", "", "ERR!"])
def test_every_way_of_not_saying_a_number_is_absent(cell: str) -> None:
    (gpu,) = parse_gpus(", ".join([cell] * 8 + ["A, B"]), with_reasons=True)
    assert gpu == Gpu(name="A, B")


@given(st.text(max_size=200))
def test_no_answer_of_nvidia_smi_makes_it_raise(text: str) -> None:
    parse_gpus(text, with_reasons=True)
    parse_gpus(text, with_reasons=False)


def nvidia_smi(folder: Path, script: str) -> str:
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_driver_that_knows_the_old_name_only_is_asked_again(tmp_path: Path) -> None:
    script = f'case "$1" in *event*) echo "Field is not a valid field to query."; exit 2;; esac\necho "{SPARK_LINE}"'
    gpus, error = read_gpus(nvidia_smi(tmp_path, script), timeout_s=20)
    assert (error, len(gpus or ())) == ("", 1)


def test_an_nvidia_smi_that_hangs_is_ended_with_its_children_and_named(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! > {tmp_path}/child\nwait"
    gpus, error = read_gpus(nvidia_smi(tmp_path, script), timeout_s=0.5)
    assert gpus is None
    assert "did not answer within 0.5 s" in error
    child = (tmp_path / "child").read_text().strip() if (tmp_path / "child").exists() else ""
    assert not child or ended(int(child))


def ended(pid: int) -> bool:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], 60)[0])
    finally:
        os.close(watched)


def test_an_nvidia_smi_that_fails_or_is_missing_is_no_gpu_and_no_fault(tmp_path: Path) -> None:
    gpus, error = read_gpus(nvidia_smi(tmp_path, "echo 'Failed to initialize NVML'; exit 255"), timeout_s=20)
    assert gpus is None
    assert "Failed to initialize NVML" in error
    assert read_gpus(str(tmp_path / "none")) == (None, "")


def test_a_snapshot_of_this_box_knows_its_memory() -> None:
    seen = snapshot()
    assert (seen.memory.available_bytes or 0) > 0
    assert msgspec.json.decode(msgspec.json.encode(seen), type=Conditions) == seen


def test_changes_are_after_minus_before_and_unknown_where_either_is() -> None:
    before = look(0, memory=Memory(available_bytes=100), kcompactd_cpu_s=1.5, pages_swapped_in=9, oom_kills=5)
    after = look(30, memory=Memory(available_bytes=40, swap_used_bytes=7), kcompactd_cpu_s=4.0, oom_kills=0)
    done = changes(before, after)
    assert (done.elapsed_s, done.available_bytes, done.kcompactd_cpu_s) == (30.0, -60, 2.5)
    assert (done.swap_used_bytes, done.pages_swapped_in) == (None, None)
    assert done.oom_kills is None  # a count that went down: the machine was restarted


@pytest.mark.parametrize(
    ("before", "after", "foreign", "codes"),
    [
        ({}, {}, {}, []),
        ({"kcompactd_cpu_s": 0}, {"kcompactd_cpu_s": 28.0}, {}, ["kcompactd"]),
        ({"kcompactd_cpu_s": 0}, {"kcompactd_cpu_s": 1.0}, {}, []),
        ({"pages_swapped_out": 0}, {"pages_swapped_out": 50_000}, {}, ["swap"]),
        ({"psi_memory_full_s": 0}, {"psi_memory_full_s": 2.0}, {}, ["memory-pressure"]),
        ({"oom_kills": 0}, {"oom_kills": 1}, {}, ["oom-kill"]),
        ({}, {}, {"a": ForeignTraffic(requests=2)}, ["foreign-requests"]),
        ({}, {}, {"a": ForeignTraffic(requests=0, generation_tokens=9)}, []),
        ({}, {}, {"a": ForeignTraffic(generation_tokens=9)}, ["foreign-requests"]),
        (
            {},
            {},
            {"a": ForeignTraffic(running_before=1), "b": ForeignTraffic(reset="gone")},
            ["foreign-requests", "counter-reset"],
        ),
    ],
)
def test_what_disturbs_a_run_is_named(before, after, foreign, codes) -> None:
    found = contaminations(look(0, **before), look(30, **after), foreign)
    assert [notice.code for notice in found] == codes


def test_heat_disturbs_a_run_and_the_usual_power_limit_does_not() -> None:
    capped, hot = Gpu(index=0, slowed_by=("power cap",)), Gpu(index=0, slowed_by=("hardware thermal slowdown",))
    assert contaminations(look(gpus=(capped,)), look(30, gpus=(capped,)), {}) == ()
    assert [notice.code for notice in contaminations(look(gpus=(capped,)), look(30, gpus=(hot,)), {})] == ["gpu-slowed"]
    assert contaminations(look(gpus=None), look(30, gpus=(Gpu(),)), {}) == ()
