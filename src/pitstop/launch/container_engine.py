"""Docker or Podman through their command line: each act is an argv value that is run by `command`."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pitstop.core.errors import EngineFailed
from pitstop.launch import command, container
from pitstop.launch.command import CommandFailed, Failure
from pitstop.launch.container import Container

_QUICK_S = 30.0  # an answer about what is; a daemon under memory pressure takes seconds
_SLOW_S = 180.0  # an act: creating a container from a large image, saving a log
_BUSY_S = 30.0  # how long a name may stay taken by a removal that is under way
_POLL_S = 0.25
_WORTH_ANOTHER_TRY = (Failure.REMOVAL_RUNNING, Failure.NAME_TAKEN, Failure.KILLED)


@dataclass(frozen=True)
class ContainerEngine:
    """One container engine. `environ` is what its client sees: PATH, DOCKER_HOST and the like."""

    binary: str
    environ: Mapping[str, str]

    async def inspect(self, name: str) -> Container | None:
        """The container with this name or id, up or not; None when there is none."""
        try:
            done = await self._do(["container", "inspect", name], _QUICK_S)
        except CommandFailed as failed:
            if failed.failure is Failure.NOT_FOUND:
                return None
            raise
        try:
            return container.parse(done)
        except EngineFailed as error:  # whatever the container engine says, no arm is at fault
            raise CommandFailed(Failure.NOT_UNDERSTOOD, [self.binary, "container", "inspect"], error.message) from error

    async def up(self) -> frozenset[str]:
        """The ids of all containers that run."""
        return frozenset((await self._do(["ps", "--quiet", "--no-trunc"], _QUICK_S)).split())

    async def labelled(self, label: str) -> frozenset[str]:
        """The ids of all containers with this label (`key=value`), up or not."""
        words = ["ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={label}"]
        return frozenset((await self._do(words, _QUICK_S)).split())

    async def run(self, argv: Sequence[str], secret_values: Mapping[str, str]) -> str:
        """Run a whole `docker run --detach …` or `docker create …`; returns the container's id."""
        environ = {**self.environ, **secret_values}
        done = await command.run(argv, environ=environ, timeout_s=_SLOW_S)
        return done.out.strip().splitlines()[-1] if done.out.strip() else ""

    async def twin(self, run_argv: Sequence[str], name: str) -> Container:
        """What this `docker run` would make, created under another name, looked at, and removed; it never runs."""
        other = f"{name}-pitstop-twin-{secrets.token_hex(4)}"
        await command.run(create_argv(run_argv, other), environ=self.environ, timeout_s=_SLOW_S)
        try:
            made = await self.inspect(other)
        finally:
            await self.remove(other)
        if made is None:
            raise CommandFailed(Failure.NOT_FOUND, [self.binary, "create"], f"{other} vanished")
        return made

    async def start(self, name: str) -> None:
        """Start a container that was created."""
        await self._do(["start", name], _SLOW_S)

    async def stop(self, name: str, grace_s: float) -> None:
        """Ask it to end, and kill it after `grace_s`; a container that is gone is no error."""
        try:
            await self._do(stop_words(name, grace_s), grace_s + _QUICK_S)
        except CommandFailed as failed:
            if failed.failure is Failure.NOT_FOUND:
                return
            if failed.failure in (Failure.MISSING, Failure.DAEMON_DOWN, Failure.FORBIDDEN):
                raise
            await self._kill(name)

    async def _kill(self, name: str) -> None:
        """Kill it; that it has ended meanwhile, by the stop that nobody heard of, is no error."""
        try:
            await self._do(["kill", name], _QUICK_S)
        except CommandFailed:
            left = await self.inspect(name)
            if left is not None and (left.state.running or left.state.restarting):
                raise

    async def remove(self, name: str) -> None:
        """Remove a container that does not run, with its anonymous volumes; waits for a removal that is under way."""
        await self._patiently(remove_words(name), gone_is_fine=True)

    async def rename(self, name: str, other: str) -> None:
        await self._patiently(["rename", name, other], gone_is_fine=True)

    async def set_restart_policy(self, name: str, policy: str) -> None:
        """Change what happens when it ends; CommandFailed where the engine cannot (podman before 5.1)."""
        await self._do(["update", f"--restart={policy}", name], _QUICK_S)

    async def logs(self, name: str, lines: int | None) -> str:
        """Both streams, the last `lines` of them, or all."""
        tail = ["--tail", str(lines)] if lines is not None else []
        done = await command.run([self.binary, "logs", *tail, name], environ=self.environ, timeout_s=_SLOW_S)
        return done.out + done.err

    async def execute(self, name: str, argv: Sequence[str]) -> str:
        """Run a program inside; returns what it printed."""
        return await self._do(["exec", name, *argv], _QUICK_S)

    async def image(self, reference: str) -> tuple[str, tuple[str, ...]] | None:
        """The image's own id and its registry digests (`repository@sha256:…`); None when it is not on this machine."""
        try:
            text = await self._do(["image", "inspect", reference], _QUICK_S)
        except CommandFailed as failed:
            if failed.failure is Failure.NOT_FOUND:
                return None
            raise
        try:
            found = msgspec.json.decode(text, type=list[_Image])
        except msgspec.MsgspecError as error:
            raise CommandFailed(Failure.NOT_UNDERSTOOD, [self.binary, "image", "inspect"], str(error)) from error
        return (found[0].id, tuple(found[0].digests or ())) if found else None

    async def _do(self, words: Sequence[str], timeout_s: float) -> str:
        return (await command.run([self.binary, *words], environ=self.environ, timeout_s=timeout_s)).out

    async def _patiently(self, words: Sequence[str], *, gone_is_fine: bool) -> None:
        deadline = asyncio.get_running_loop().time() + _BUSY_S
        while True:
            try:
                await self._do(words, _SLOW_S)
            except CommandFailed as failed:
                gone = failed.failure is Failure.NOT_FOUND and gone_is_fine
                busy = failed.failure in _WORTH_ANOTHER_TRY
                if not gone and (not busy or asyncio.get_running_loop().time() > deadline):
                    raise
                if gone:
                    return
            else:
                return
            await asyncio.sleep(_POLL_S)


def stop_words(name: str, grace_s: float) -> list[str]:
    return ["stop", "--time", str(max(1, round(grace_s))), name]


def remove_words(name: str) -> list[str]:
    return ["rm", "--force", "--volumes", name]


def create_argv(run_argv: Sequence[str], name: str) -> list[str]:
    """The `docker create` that makes the same container under another name, without starting it. Pure."""
    words = list(run_argv)
    words[words.index("run")] = "create"
    words.remove("--detach")
    words[words.index("--name") + 1] = name
    return words


def registry_digest(image_id: str, digests: Sequence[str], reference: str) -> str:
    """The digest to name an image by: of the repository it was asked from, else its own id (a local build). Pure."""
    wanted = _repository(reference)
    for one in digests:
        repository, _, digest = one.partition("@")
        if digest and _repository(repository) == wanted:
            return digest
    return image_id


def _repository(reference: str) -> str:
    name = reference.partition("@")[0]
    head, slash, last = name.rpartition("/")
    full = head + slash + last.partition(":")[0]
    return full.removeprefix("docker.io/").removeprefix("library/")


class _Image(msgspec.Struct):
    id: str = msgspec.field(name="Id")
    digests: list[str] | None = msgspec.field(name="RepoDigests", default=None)
