"""What judging costs: the ten coding tasks' hidden tests in each sandbox, and all 14 answers in prose.

`python -m benchmarks.quality_grading --use bubblewrap`, or `--use docker --image python:3-alpine`; an image without
Python takes `--python /usr/bin/python3 --mount /usr --mount /lib`.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import textwrap
from statistics import median
from time import perf_counter

from pitstop.core.config.quality import Sandbox
from pitstop.rulers.quality import coding_hard
from pitstop.rulers.quality.keys import CodeKey, NumberKey, WordKey
from pitstop.rulers.quality.marking import mark_answer
from pitstop.rulers.quality.sandbox import Box, find_sandbox
from pitstop.rulers.quality.task_set import task_set
from pitstop.rulers.ruler import Settings

RUNS, AT_ONCE = 3, 2
# As much work as a right answer to the hardest task does, whatever the task: the reference of `journey`.
CODE = textwrap.dedent(inspect.getsource(coding_hard._cheapest))


async def main() -> None:
    instances = task_set(Settings()).instances
    keys = [one.key for one in instances if isinstance(one.key, CodeKey)]
    box = await find_sandbox(_settings())
    assert isinstance(box, Box), box
    times = [await _ten(box, keys) for _ in range(RUNS)]
    spread = f"{min(times):.2f} to {max(times):.2f}, n={RUNS}"
    print(f"{box.mode}: ten tasks, {AT_ONCE} at once: {median(times):.2f} s ({spread})")
    begun = perf_counter()
    told = [(one.key, one.language) for one in instances if isinstance(one.key, NumberKey | WordKey)]
    for key, language in told:
        assert mark_answer(key, f"{'Some work. ' * 2000}\n\nAnswer: {key.words}", language).right
    print(f"{len(told)} answers of 22 kB in prose: {perf_counter() - begun:.3f} s")


def _settings() -> Sandbox:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--use", choices=("docker", "podman", "bubblewrap"), default="bubblewrap")
    options.add_argument("--image", default=Sandbox().image)
    options.add_argument("--python", default="python3")
    options.add_argument("--mount", action="append", default=[])
    told = options.parse_args()
    return Sandbox(use=told.use, image=told.image, python=told.python, mounts=tuple(told.mount))


async def _ten(box: Box, keys: list[CodeKey]) -> float:
    begun, places = perf_counter(), asyncio.Semaphore(AT_ONCE)

    async def one(key: CodeKey) -> None:
        async with places:
            code = f"import heapq\n{CODE}\ndef {key.function}(*a):\n    return _cheapest(['.' * 14] * 14, 2, 5, 2)"
            ran = await box.run(code, key.function, key.calls)
            assert ran.results, ran
            assert all("value" in result for result in ran.results), ran

    await asyncio.gather(*map(one, keys))
    return perf_counter() - begun


if __name__ == "__main__":
    asyncio.run(main())
