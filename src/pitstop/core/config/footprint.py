"""`[engine.NAME.footprint]`: what a person knows of an engine's memory and no file or command says."""

from __future__ import annotations

import msgspec

from pitstop.core.units import Size


class FootprintHints(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each one counts before what `pitstop plan` and `pitstop bench` would find or assume."""

    weights: Size | None = None  # the checkpoint in memory
    kv: Size | None = None  # the KV cache
    draft: Size | None = None  # MTP heads and draft models that the server's own budget does not cover
    context: Size | None = None  # CUDA context and graphs
    host: Size | None = None  # the process on the CPU side
    start_extra: Size | None = None  # compilation and profiling while it starts, above the steady state
    checkpoint: str = ""  # its folder, or a GGUF file, where the command does not name it
    active_weights: Size | None = None  # bytes of weights that one token reads, for the ceiling of a decode figure
