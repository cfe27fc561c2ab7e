"""Traces of /proc/meminfo, replayed at their own pace to the real command: who is killed, and who is not."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass

import pytest

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Trace:
    """Rows of (MemAvailable, MemFree, SwapTotal, SwapFree) in MiB, one every `step_s`."""

    name: str
    rows: tuple[tuple[int, int, int, int], ...]
    step_s: float
    options: tuple[str, ...]
    cause: str | None


def flat(count, *row):
    return tuple(row for _ in range(count))


# The descent is recorded (a Spark that was killed at 6018 MiB); the others are made to carry one trap each.
DESCENT = tuple((mib, mib - 327, 40_797, 40_797) for mib in (7_488, 7_463, 7_281, 6_761, 6_018))
FLOOR = ("--min-available", "12000MiB", "--max-swap-growth", "8000MiB")
TRACES = (
    Trace("a recorded descent, floor 6 GiB", DESCENT, 5.0, ("--min-available", "6GiB"), "floor"),
    Trace("the same, floor 6 GB", DESCENT, 5.0, ("--min-available", "6GB"), None),
    Trace("the same, floor 4 GiB", DESCENT, 5.0, ("--min-available", "4GiB"), None),
    Trace("low MemFree alone", flat(8, 20_000, 90, 16_000, 16_000), 1.0, FLOOR, None),
    Trace("swap used before", flat(8, 20_000, 900, 16_000, 100), 1.0, FLOOR, None),
    Trace("no swap", flat(8, 20_000, 900, 0, 0), 1.0, FLOOR, None),
    Trace("swap added later", (*flat(3, 20_000, 900, 0, 0), *flat(4, 20_000, 900, 64_000, 64_000)), 1.0, FLOOR, None),
    Trace("swap fills first", tuple((19_000, 900, 16_000, 16_000 - 1_500 * n) for n in range(8)), 1.0, FLOOR, "swap"),
    Trace("a vendor's setting, 8.4 GiB within five seconds",
          tuple((mib, 900, 16_000, 16_000) for mib in (110_000, 84_000, 58_000, 33_000, 8_552)), 1.0, FLOOR, "floor"),
    Trace("a load that stops above the floor",
          (*((mib, 900, 16_000, 16_000) for mib in (110_000, 70_000, 30_000, 13_000)), *flat(4, 12_800, 900, 0, 0)),
          1.0, FLOOR, None),
)  # fmt: skip


async def replay(folder, trace):
    """Run one guard over one trace; returns its report and whether its engine lives."""
    folder.mkdir()
    write(folder, trace.rows[0])
    engine = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(120)")
    argv = ["guard", "--pid", str(engine.pid), "--procfs", str(folder), "--log", str(folder / "rows.csv"), "--json"]
    seconds = trace.step_s * len(trace.rows) + 2
    guard = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pitstop", *argv, *trace.options, "--for", f"{seconds}s",
        env={**os.environ, "PITSTOP_HOME": str(folder / "home")}, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        while b"watching" not in (line := await asyncio.wait_for(guard.stderr.readline(), 60)):
            assert line, "the guard ended before it watched"
        for row in trace.rows:
            write(folder, row)
            await asyncio.sleep(trace.step_s)
        out, _ = await asyncio.wait_for(guard.communicate(), 60)
        return json.loads(out), engine.returncode is None, guard.returncode
    finally:
        if engine.returncode is None:
            engine.kill()
        await engine.wait()


def write(folder, row):
    names = ("MemAvailable", "MemFree", "SwapTotal", "SwapFree")
    text = "".join(f"{name}:{mib * 1024:>14} kB\n" for name, mib in zip(names, row, strict=True))
    (folder / "next").write_text(text)
    (folder / "next").replace(folder / "meminfo")


async def test_every_trace_has_its_own_end(tmp_path):
    """All at once, since each takes half a minute."""
    results = await asyncio.gather(*(replay(tmp_path / str(at), trace) for at, trace in enumerate(TRACES)))
    for trace, (report, lives, code) in zip(TRACES, results, strict=True):
        assert report["cause"] == trace.cause, trace.name
        assert lives is (trace.cause is None), trace.name
        assert code == (0 if trace.cause is None else 5), trace.name
