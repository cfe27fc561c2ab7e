"""From memory crossing the floor to the death of the eater: the guard beside earlyoom, and what each costs.

    python -m benchmarks.guard_latency [--runs 10] [--rate 1000] [--idle 30]

The eater takes real memory at RATE MiB/s; a third process reads MemAvailable about a thousand times a second and notes
when it was first below the floor, and a pidfd tells when the eater is gone. Both killers get the same floor, 1 GiB
below what is available at the start, and may read once a second at most. The eater has oom_score_adj 1000, so that
earlyoom, which kills whoever scores highest, cannot choose another process of this machine.
Cost is taken while memory is far from the floor: CPU from /proc/PID/schedstat, memory from VmRSS.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pitstop.services.guard.memory import MemoryReader

MIB = 2**20
EATER = """
import sys, time
step, pause = 10 * 2**20, 10 / float(sys.argv[1])
open("/proc/self/oom_score_adj", "w").write("1000")
sys.stdin.readline()
held, due = [], time.monotonic()
for _ in range(300):
    block = bytearray(step)
    block[::4096] = b"x" * len(block[::4096])
    held.append(block)
    due += pause
    time.sleep(max(0, due - time.monotonic()))
time.sleep(5)
"""


def available() -> int:
    reading = MemoryReader().read().available_bytes
    assert reading is not None
    return reading


@contextmanager
def eater(rate_mib_s: float) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", EATER, str(rate_mib_s)], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


@contextmanager
def killer(name: str, floor_bytes: int, pid: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One of the two, watching; both at their own adaptive pace with one second as the longest sleep."""
    if name == "earlyoom":
        kib = str(floor_bytes // 1024)
        argv = ["earlyoom", "-M", f"{kib},{kib}", "-m", "99,99", "-s", "100,100", "-r", "3600"]
    else:
        argv = [sys.executable, "-m", "pitstop", "guard", "--pid", str(pid), "--json", "--min-available"]
        argv += [f"{floor_bytes}B", "--max-swap-growth", "1TiB", "--interval", "1s", "--log", str(folder / "rows.csv")]
    process = subprocess.Popen(
        argv,
        env={**os.environ, "PITSTOP_HOME": str(folder / "home")},
        stdout=(folder / "out").open("wb"),
        stderr=(folder / "err").open("wb"),
    )
    try:
        time.sleep(1.5)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(60)


@dataclass(frozen=True)
class Kill:
    """Seconds from the crossing to the eater's death, None when it died before memory crossed the floor (the slope).

    Death comes after the signal: the kernel gives a gibibyte back first. `own_s` is the guard's own time from the
    reading that crossed to the last signal; `bound_s` adds the age of the reading before it, and the crossing lies
    within that.
    """

    late_s: float | None
    own_s: float | None = None
    bound_s: float | None = None


def one_kill(name: str, rate_mib_s: float) -> Kill | None:
    """Let one eater be killed; None when others on this machine freed so much meanwhile that it had its fill."""
    with tempfile.TemporaryDirectory() as place, eater(rate_mib_s) as victim:
        folder, floor = Path(place), available() - 1024 * MIB
        with killer(name, floor, victim.pid, folder) as watching:
            gone, reader = select.poll(), MemoryReader()
            gone.register(os.pidfd_open(victim.pid), select.POLLIN)
            assert victim.stdin is not None
            victim.stdin.write(b"go\n")
            victim.stdin.flush()
            crossed: float | None = None
            until = time.monotonic() + 30
            while not gone.poll(0) and time.monotonic() < until:
                now = time.monotonic()
                seen = reader.read().available_bytes or floor
                if crossed is None and seen < floor:
                    crossed = now
                time.sleep(0.001)
            died = time.monotonic()
            if name != "earlyoom":
                watching.wait(60)
        late = died - crossed if crossed is not None else None
        if name == "earlyoom":
            return Kill(late)
        report = json.loads((folder / "out").read_text())
        if report["verdict"] != "tripped":
            return None
        own = report["reading_to_signal_ms"] / 1000
        return Kill(late, own, own + (report["since_previous_reading_ms"] or 0.0) / 1000)


def cost(name: str, seconds: float) -> tuple[float, int]:
    """Share of a core and resident bytes while memory is far from the floor."""
    with (
        tempfile.TemporaryDirectory() as place,
        eater(1) as bystander,
        killer(name, 256 * MIB, bystander.pid, Path(place)) as watching,
    ):
        before = _cpu_ns(watching.pid)
        time.sleep(seconds)
        share = (_cpu_ns(watching.pid) - before) / 1e9 / seconds
        return share, _resident(watching.pid)


def _cpu_ns(pid: int) -> int:
    """On the CPU, over all threads."""
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))


def _resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=1000.0, help="MiB/s that the eater takes")
    parser.add_argument("--idle", type=float, default=30.0, help="seconds over which the cost is taken")
    asked = parser.parse_args()
    names = ["guard", *(["earlyoom"] if shutil.which("earlyoom") else [])]
    for name in names:
        share, resident = cost(name, asked.idle)
        print(f"{name:9} far from the floor: {share:.3%} of a core, {resident / MIB:.1f} MiB resident")
    for name in names:
        tries = (one_kill(name, asked.rate) for _ in range(3 * asked.runs))
        results = list(itertools.islice((kill for kill in tries if kill is not None), asked.runs))
        late = sorted(1000 * one.late_s for one in results if one.late_s is not None)
        words = f"{len(results) - len(late)} of {len(results)} died before the floor was crossed"
        if late:
            words += f"; crossing to death: median {statistics.median(late):.1f} ms, {late[0]:.1f} to {late[-1]:.1f}"
        own = sorted(1000 * one.own_s for one in results if one.own_s is not None)
        if own:
            bounds = sorted(1000 * one.bound_s for one in results if one.bound_s is not None)
            words += f"; reading to signal: median {statistics.median(own):.2f} ms, at most {own[-1]:.2f}"
            words += f"; crossing to signal: at most {bounds[-1]:.0f} ms"
        print(f"{name:9} at {asked.rate:.0f} MiB/s: {words}")


if __name__ == "__main__":
    main()
