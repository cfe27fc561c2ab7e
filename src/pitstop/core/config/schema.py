"""The whole of `pitstop.toml`, as one type; its JSON Schema comes from the same source."""

from __future__ import annotations

from typing import Any

import msgspec

from pitstop.core.config.engine import Engine
from pitstop.core.config.gateway import Gateway
from pitstop.core.config.host import Host
from pitstop.core.config.patch import Patch
from pitstop.core.config.pins import Pins
from pitstop.core.config.quality import Quality
from pitstop.core.config.trial import Trial
from pitstop.core.config.watch import Watch
from pitstop.core.units import Duration, Share, Size

_EXAMPLES: dict[type, str] = {Size: "12 GiB", Duration: "5 min", Share: "3 %"}


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    host: Host = msgspec.field(default_factory=Host)
    engine: dict[str, Engine] = {}
    trial: dict[str, Trial] = {}
    gateway: Gateway | None = None
    quality: Quality = msgspec.field(default_factory=Quality)
    watch: Watch = msgspec.field(default_factory=Watch)
    pins: Pins = msgspec.field(default_factory=Pins)
    patch: dict[str, Patch] = {}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `pitstop.toml` (draft 2020-12)."""
    return msgspec.json.schema(Config, schema_hook=_quantity_schema)


def _quantity_schema(kind: type) -> dict[str, Any]:
    if kind in _EXAMPLES:
        return {"type": "string", "examples": [_EXAMPLES[kind]]}
    raise NotImplementedError(kind)
