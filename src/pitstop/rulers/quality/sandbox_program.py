"""Runs in the sandbox, as text: takes one order on stdin, writes what the tested code gave on stdout.

It knows the arguments of the hidden tests and not their results: those are compared outside, as plain JSON. So there
is nothing here that tested code could imitate, read or patch to pass; the worst that it can do is to spoil its own.

The parent (process 1 of a container, which nothing inside can signal to death) keeps the time and the size of what it
passes on. The child, which runs the tested code, may start no process or thread, write no file, and use so much
memory. Written for Python 3.8 and newer, with the standard library alone.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any, NoReturn


def main() -> NoReturn:
    order = json.loads(sys.stdin.buffer.read())
    sys.stdout.write("ready\n")  # from here on, whatever goes wrong is the tested code's doing
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        run(order, writing)
    os.close(writing)
    found = collect(reading, order["time_limit_s"], order["output_limit"])
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    sys.stdout.buffer.write(found)
    sys.stdout.flush()
    os._exit(0)


def collect(reading: int, time_limit_s: float, output_limit: int) -> bytes:
    """What the child wrote until it ended, the time was up, or it was too much."""
    until, size = time.monotonic() + time_limit_s, 0
    parts: list[bytes] = []
    while size <= output_limit:
        left_s = until - time.monotonic()
        if left_s <= 0 or not select.select([reading], [], [], left_s)[0]:
            return b'"time"'
        part = os.read(reading, 65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    return b'"size"'


def run(order: dict[str, Any], writing: int) -> NoReturn:
    """The tested code's own words go nowhere; whatever it does, this process ends here."""
    confine(order)
    try:
        space: dict[str, Any] = {"__name__": "solution"}
        exec(compile(order["code"], "solution.py", "exec"), space)  # noqa: S102 - it is what a sandbox is for
        function = space[order["function"]]
        text = json.dumps([called(function, arguments) for arguments in order["calls"]], allow_nan=False)
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt too
        text = json.dumps({"failed": named(error)})
    write_all(writing, text.encode())
    os._exit(0)


def confine(order: dict[str, Any]) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    sys.stdin = io.StringIO()
    seconds, memory = int(order["time_limit_s"]) + 1, order["memory_bytes"]
    for what, limit in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(what, (limit, limit))


def called(function: Any, arguments: list[Any]) -> dict[str, Any]:
    """What one call gave: a value that JSON can hold, or the name of the error and its kinds."""
    try:
        value = function(*arguments)
    except Exception as error:  # noqa: BLE001 - any error is a result
        return {"error": named(error)}
    try:
        json.dumps(value, allow_nan=False)
    except Exception as error:  # noqa: BLE001 - of a value's own making
        return {"error": named(error), "unsendable": True}
    return {"value": value}


def named(error: BaseException) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__][:8]


def write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


if __name__ == "__main__":
    main()
