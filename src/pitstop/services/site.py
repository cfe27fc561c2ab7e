"""One engine where it stands: how it is reached, launched, asked and looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from pitstop.client.endpoint import Endpoint
from pitstop.client.target import parse_target
from pitstop.core.config.engine import Engine
from pitstop.core.config.nearest import nearest
from pitstop.core.config.schema import Config
from pitstop.core.documents import EngineIdentity
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.engines.adapter import Adapter
from pitstop.engines.detect import kind_at
from pitstop.engines.registry import adapter_for
from pitstop.launch.launcher import Launcher, LaunchSpec, Running
from pitstop.launch.plan import environ_with_literals, plan
from pitstop.launch.registry import launcher_for


@dataclass(frozen=True)
class Site:
    """An engine with its launcher; `spec` and `launcher` are None for a server that pitstop did not launch."""

    name: str
    config: Engine
    endpoint: Endpoint
    adapter: Adapter
    launcher: Launcher | None
    spec: LaunchSpec | None
    environ: Mapping[str, str]  # holds secrets; for the launcher only

    def with_spec(self, spec: LaunchSpec) -> Site:
        """The same engine under another launch value."""
        return replace(self, spec=spec)

    async def running(self) -> Running | None:
        """What the launcher finds running; None when it is down or was not launched by pitstop."""
        if self.launcher is None or self.spec is None:
            return None
        return await self.launcher.inspect(self.spec)

    async def identity(self) -> EngineIdentity:
        """Which engine answers now: what it says of itself, and what the launcher finds running."""
        said = await self.adapter.identity(self.endpoint)
        running = await self.running()
        if running is None or self.launcher is None or self.spec is None:
            return said
        inside = await self.launcher.version(self.spec)
        return msgspec.structs.replace(
            said,
            version=inside or said.version,
            version_source="version_command" if inside else said.version_source,
            image_digest=running.image_digest,
            container_id=running.container_id,
            pid=running.pid,
            started_at=running.started_at,
            fingerprint=running.fingerprint,
        )


def site_of(name: str, engine: Engine, home: Home, environ: Mapping[str, str]) -> Site:
    """The site of an engine with its default settings."""
    key = environ.get(engine.api_key_env) if engine.api_key_env else None
    if engine.api_key_env and not key:
        raise UsageError(
            f"engine {name} needs its key in {engine.api_key_env}, which is not set.",
            hint=f"Export {engine.api_key_env}, or remove api_key_env from [engine.{name}].",
        )
    spec = plan(name, engine, environ=environ) if engine.launch else None
    return Site(
        name=name,
        config=engine,
        endpoint=Endpoint(engine.base_url, engine.model, key),
        adapter=adapter_for(engine.kind),
        launcher=launcher_for(spec, home) if spec else None,
        spec=spec,
        environ=environ_with_literals(engine, environ),
    )


async def site_by_url(base_url: str, model: str, kind: str, api_key_env: str, environ: Mapping[str, str]) -> Site:
    """The site of a server that stands in no configuration; it is asked which engine it is when `kind` is empty."""
    parse_target(base_url)  # before anything else: UsageError says what is wrong with it
    key = environ.get(api_key_env) if api_key_env else None
    if api_key_env and not key:
        raise UsageError(f"{api_key_env} is not set.", hint="Export the variable that holds the key.")
    endpoint = Endpoint(base_url, model, key)
    adapter = adapter_for(kind or await kind_at(endpoint))
    raw = {"kind": adapter.kind, "model": model, "base_url": base_url, "api_key_env": api_key_env}
    return Site(base_url, msgspec.convert(raw, Engine), endpoint, adapter, None, None, environ)


def engine_named(config: Config, name: str | None) -> tuple[str, Engine]:
    """The engine of that name; without a name the production engine, or the only one there is."""
    if name is None:
        production = [key for key, engine in config.engine.items() if engine.production] or list(config.engine)
        if len(production) == 1:
            return production[0], config.engine[production[0]]
        known = ", ".join(config.engine) or "none"
        raise UsageError("Which engine is meant?", hint=f"Name one of: {known}.")
    if name not in config.engine:
        known = ", ".join(config.engine) or "none"
        raise UsageError(f"there is no engine {name!r}{nearest(name, config.engine)}", hint=f"There are: {known}.")
    return name, config.engine[name]
