"""skopeo, run as argv values: questions that need a password or a SOCKS proxy, and copies that keep digests."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace

from pitstop.core.errors import Unreachable, UsageError
from pitstop.decisions.pins import Absent, Answer, Manifest, Unanswered
from pitstop.launch import command
from pitstop.launch.command import CommandFailed, Failure
from pitstop.supply.manifest import read_manifest, read_platform
from pitstop.supply.reference import Reference, is_loopback

_COPY_S = 4 * 3600.0  # an image of 20 GB over a slow line
_SOCKS = ("ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy")


def installed(environ: Mapping[str, str]) -> bool:
    return shutil.which("skopeo", path=environ.get("PATH")) is not None


def wants_socks(environ: Mapping[str, str]) -> bool:
    """Whether the way out is a SOCKS proxy, which only skopeo speaks."""
    return any(environ.get(name, "").startswith("socks") for name in _SOCKS)


async def ask(
    reference: Reference, which: str, *, environ: Mapping[str, str], deadline_s: float, plain_http: tuple[str, ...] = ()
) -> Answer:
    """The same question as `RegistryClient.manifest`, with skopeo's auth files and proxies."""
    name = f"{reference.repository}{'@' if which.startswith('sha') and ':' in which else ':'}{which}"
    try:
        body = await _inspect(["--raw"], name, reference.registry, environ, deadline_s, plain_http)
        answer, config = read_manifest(body)
        if isinstance(answer, Manifest) and config:
            said = await _inspect(["--config", "--raw"], name, reference.registry, environ, deadline_s, plain_http)
            return replace(answer, platform=read_platform(said))
    except CommandFailed as failed:
        return _refusal(failed)
    return answer


async def copy(
    source: Reference, target: Reference, *, environ: Mapping[str, str], plain_http: tuple[str, ...] = ()
) -> None:
    """Copy an image whole, every platform of it, so that its digest stays. Unreachable with skopeo's words."""
    try:
        await command.run(copy_argv(source, target, plain_http), environ=environ, timeout_s=_COPY_S)
    except CommandFailed as failed:
        if failed.failure is Failure.MISSING:
            raise UsageError(
                "skopeo is not installed, and a mirror needs it.", hint="Install it: apt-get install skopeo."
            ) from failed
        said = failed.said.strip().splitlines()
        raise Unreachable(
            f"skopeo could not copy {source.by_digest}: {said[-1][:500] if said else failed.message}",
            hint="Proxies and passwords are skopeo's: try the copy by hand; `skopeo login` helps where it is denied.",
        ) from failed


def copy_argv(source: Reference, target: Reference, plain_http: tuple[str, ...] = ()) -> list[str]:
    """The copy as it is run and shown. skopeo refuses a tag and a digest together."""
    flags = [
        f"--{side}-tls-verify=false"
        for side, one in (("src", source), ("dest", target))
        if is_loopback(one.registry) or one.registry in plain_http
    ]
    place = f"docker://{target.repository}:{target.tag}"
    return ["skopeo", "copy", "--all", "--preserve-digests", *flags, f"docker://{source.by_digest}", place]


async def _inspect(
    flags: list[str], name: str, registry: str, environ: Mapping[str, str], deadline_s: float, plain: tuple[str, ...]
) -> bytes:
    insecure = ["--tls-verify=false"] if is_loopback(registry) or registry in plain else []
    argv = ["skopeo", "inspect", *flags, *insecure, f"docker://{name}"]
    done = await command.run(argv, environ=environ, timeout_s=deadline_s)
    return done.out.encode()


def _refusal(failed: CommandFailed) -> Answer:
    """What skopeo's words mean; only the registry's own "unknown" says that something is gone."""
    said = failed.said.lower()
    last = failed.said.strip().splitlines()[-1][:300] if failed.said.strip() else failed.message
    if failed.failure in (Failure.MISSING, Failure.TIMED_OUT):
        return Unanswered(failed.message)
    if "manifest unknown" in said or "name unknown" in said:
        return Absent("skopeo: manifest unknown")
    denied = any(word in said for word in ("unauthorized", "denied", "authentication required"))
    return Unanswered(f"skopeo: {last}", denied=denied)
