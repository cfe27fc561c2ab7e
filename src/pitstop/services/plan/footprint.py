"""One engine's footprint: every part from the best source there is, and which that was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitstop.core.config.engine import DockerLaunch, Engine
from pitstop.core.home import Home
from pitstop.decisions.kv_cache import ModelShape, bytes_per_token, requests_in, shape_of, share_of_smallest_request
from pitstop.decisions.plan import CONTEXT_BYTES, HOST_BYTES, Footprint, gib
from pitstop.engines.checkpoint import StoredBytes, stored_bytes
from pitstop.engines.logs import StartupFacts
from pitstop.launch.launcher import LaunchSpec
from pitstop.services.plan.arguments import Arguments, on_the_host, read_arguments
from pitstop.services.plan.learnt import boots_of, summary


def footprint(
    name: str, engine: Engine, spec: LaunchSpec | None, facts: StartupFacts, home: Home, *, device_bytes: int
) -> Footprint:
    """What `name` takes of a device (or a shared memory) of `device_bytes`. UsageError for a fraction that is none."""
    said = read_arguments(engine.kind, _command(engine, spec))
    gathering = _Gathering(name, engine, said, facts, model_path(engine, spec))
    gathering.weights()
    gathering.cache()
    gathering.budget(device_bytes)
    gathering.around()
    if spec is not None and (boots := boots_of(home, name, spec.fingerprint)):
        gathering.learnt(*summary(boots), len(boots))
    return gathering.footprint()


def model_path(engine: Engine, spec: LaunchSpec | None) -> Path | None:
    """Where the model lies on this machine: as told, or as the command names it; None when it does not."""
    path = engine.footprint.checkpoint or read_arguments(engine.kind, _command(engine, spec)).model_path
    if not path:
        return None
    run = engine.launch.run if isinstance(engine.launch, DockerLaunch) and not engine.footprint.checkpoint else ()
    found = Path(on_the_host(path, run))
    return found if found.exists() else None


class _Gathering:
    """Collects parts with their sources."""

    def __init__(self, name: str, engine: Engine, said: Arguments, facts: StartupFacts, folder: Path | None) -> None:
        self._name, self._hints, self._said, self._facts, self._folder = name, engine.footprint, said, facts, folder
        self._engine = engine
        self._parts: dict[str, Any] = {"fraction": said.fraction}
        self._sources: dict[str, str] = {}
        self._notes: list[str] = []

    def weights(self) -> None:
        found = self._stored()
        size = self._folder.stat().st_size if self._folder and self._folder.is_file() else None  # a GGUF file
        total = found.total_bytes if found else size
        self._take("checkpoint_bytes", (total, f"files in {self._folder}"))
        self._take(
            "weights_bytes",
            (self._hints.weights, "configuration"),
            (self._facts.weights_bytes, "start-up log"),
            (total, "checkpoint"),
        )

    def cache(self) -> None:
        self._take(
            "kv_bytes",
            (self._hints.kv, "configuration"),
            (self._said.kv_bytes, "--kv-cache-memory-bytes"),
            (self._facts.kv_memory_bytes, "start-up log"),
        )
        self._notes += _cache_notes(self._said, self._facts, self._shape())

    def budget(self, device_bytes: int) -> None:
        """What the server gives itself. A fraction is a budget, and with an explicit cache only a test at the start."""
        fraction = self._said.fraction
        if self._engine.memory is not None:
            self._take("budget_bytes", (int(self._engine.memory), "configuration (memory)"))
            return
        if fraction is None:
            return
        budget = round(fraction * device_bytes)
        if self._said.fraction_is_default:
            self._notes.append(
                f"--gpu-memory-utilization is not given, so vLLM takes its own {fraction:g} of everything"
            )
        if self._said.kv_bytes is None:
            self._take("budget_bytes", (budget, f"{fraction:g} of {gib(device_bytes)}"))
            return
        self._take("admission_bytes", (budget, f"{fraction:g} of {gib(device_bytes)}"))
        self._notes.append(
            f"with --kv-cache-memory-bytes the fraction {fraction:g} is only a test at the start: "
            f"{gib(budget)} must be free"
        )

    def around(self) -> None:
        """What comes on top of the budget."""
        self._take("context_bytes", (self._hints.context, "configuration"), (CONTEXT_BYTES, "the second report"))
        self._take("host_bytes", (self._hints.host, "configuration"), (HOST_BYTES, "the second report"))
        self._take("start_extra_bytes", (self._hints.start_extra, "configuration"))
        stored = self._stored()
        heads = stored.mtp_bytes if stored else None
        if self._said.mtp_outside or self._hints.draft is not None:
            self._take("draft_bytes", (self._hints.draft, "configuration"), (heads, "MTP tensors of the checkpoint"))
            if "draft_bytes" not in self._parts:
                self._parts["draft_bytes"] = None
                self._notes.append(
                    f"{self._said.speculates} heads lie outside the fraction, and their size is not known here; the "
                    f"second report put one with 256 experts at 15 GB. Say it: [engine.{self._name}.footprint] draft"
                )

    def learnt(self, start_bytes: int, steady_bytes: int, boots: int) -> None:
        self._take("learnt_start_bytes", (start_bytes, f"{boots} boot(s) of this box"))
        self._take("learnt_steady_bytes", (steady_bytes, f"{boots} boot(s) of this box"))

    def footprint(self) -> Footprint:
        return Footprint(self._name, sources=self._sources, notes=tuple(self._notes), **self._parts)

    def _take(self, part: str, *candidates: tuple[int | None, str]) -> None:
        """The first candidate that is known, with where it is from."""
        for value, source in candidates:
            if value is not None:
                self._parts[part], self._sources[part] = int(value), source
                return

    def _stored(self) -> StoredBytes | None:
        return stored_bytes(self._folder) if self._folder and self._folder.is_dir() else None

    def _shape(self) -> ModelShape | None:
        return shape_of(_json(self._folder / "config.json")) if self._folder and self._folder.is_dir() else None


def _cache_notes(said: Arguments, facts: StartupFacts, shape: ModelShape | None) -> list[str]:
    """What the cache holds, in the server's own figures where there are any; no formula for a hybrid."""
    notes = []
    if facts.kv_cache_tok and facts.kv_memory_bytes and facts.kv_memory_bytes > 0:
        each = facts.kv_memory_bytes / facts.kv_cache_tok
        notes.append(
            f"KV cache: {facts.kv_cache_tok:,} tokens in {gib(facts.kv_memory_bytes)}, {each:,.0f} bytes a token"
        )
    if facts.attention_block_tok and facts.kv_cache_tok:
        share = share_of_smallest_request(facts.attention_block_tok, facts.kv_cache_tok)
        notes.append(
            f"hybrid: one page holds {facts.attention_block_tok:,} tokens, so a request takes at least {share:.1%} of "
            "the pool per group of layers; tokens divided by length would promise too much"
        )
    elif shape is not None and shape.hybrid:
        notes.append("hybrid: only the server's own figures count; boot it once, and read its log or kv_cache_usage")
    elif shape is not None and (each_tok := bytes_per_token(shape, said.kv_dtype)):
        notes.append(f"KV cache by config.json: {each_tok:,} bytes a token ({said.kv_dtype})")
        if said.kv_bytes and said.max_model_len:
            fits = requests_in(said.kv_bytes // each_tok, said.max_model_len, shape)
            notes.append(f"that is {fits:.2f} requests of {said.max_model_len:,} tokens")
    return notes


def _command(engine: Engine, spec: LaunchSpec | None) -> tuple[str, ...]:
    if spec is None:
        return ()
    if isinstance(engine.launch, DockerLaunch):
        at = int(spec.options.get("image_at", "0"))
        return spec.argv[at + 1 :]
    return spec.argv


def _json(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
