"""How many bytes of weights one generated token reads, from a checkpoint's own headers: nothing is loaded.

Counted: every weight but those that decoding does not touch. Of routed experts a token reads `per token / experts`, of
the input embedding one row (unless it is the output head too), of vision, audio and draft (MTP) parts nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.engines.gguf import read_gguf

MAX_HEADER_BYTES = 100 * 10**6  # the format's own limit

# Hugging Face's names, and llama.cpp's (`token_embd`, `ffn_up_exps`, `nextn`).
_ROUTED = re.compile(r"\.experts\.|_exps\.")
_EMBEDDING = re.compile(r"(?:^|\.)(?:embed_tokens|word_embeddings|wte|tok_embeddings|token_embd)\.weight")
_HEAD = re.compile(r"(?:^|\.)(?:lm_head|output|embed_out)\.")
_ASIDE = re.compile(
    r"(?:^|\.)(?:visual|vision_tower|vision_model|audio_tower|audio_model|multi_modal_projector|mtp|mtp_layers|nextn)\."
)
_MTP = re.compile(r"(?:^|\.)(?:mtp|mtp_layers|nextn)\.")
_LAYER = re.compile(r"(?:^|\.)layers\.(\d{1,4})\.")  # from num_hidden_layers on they are draft (MTP) layers
_DRAFT_BLOCK = re.compile(r"(blk\.\d+\.)nextn\.")  # llama.cpp's, of which only some tensors are named so
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_PER_TOKEN = ("num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_topk", "moe_top_k")


@dataclass(frozen=True)
class WeightBytes:
    """`active_bytes` are those that one token reads; `how` says what was left out."""

    total_bytes: int
    active_bytes: int
    how: str


def weight_bytes(folder: Path) -> WeightBytes | None:
    """Of a Hugging Face folder or of a GGUF file, named by any of its parts.

    None when there is no complete set of safetensors files, or a damaged one.
    """
    if folder.suffix == ".gguf":
        return _gguf_bytes(folder)
    try:
        sizes = _tensor_sizes(folder)
        config = _json(folder / "config.json")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return active_of(sizes, config) if sizes else None


@dataclass(frozen=True)
class StoredBytes:
    """What a checkpoint holds. `mtp_bytes` are the model's own draft heads, None where it has none by their name."""

    total_bytes: int
    mtp_bytes: int | None


def stored_bytes(folder: Path) -> StoredBytes | None:
    """Of a Hugging Face folder, whatever its config.json says; None as for `weight_bytes`."""
    try:
        sizes = _tensor_sizes(folder)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    mtp = sum(size for name, size in sizes.items() if _MTP.search(name))
    return StoredBytes(sum(sizes.values()), mtp or None) if sizes else None


def active_of(sizes: Mapping[str, int], config: Mapping[str, Any]) -> WeightBytes | None:
    """From the size in bytes of each tensor. None for routed experts of which the configuration gives no numbers."""
    tied = not any(_HEAD.search(name) for name in sizes)
    layers = _number(config, ("num_hidden_layers",))
    aside = {name for name in sizes if _ASIDE.search(name) or (not tied and _EMBEDDING.search(name))}
    aside |= {name for name in sizes if layers and (at := _LAYER.search(name)) and int(at[1]) >= layers}
    routed = {name for name in sizes if _ROUTED.search(name)} - aside
    total = sum(sizes.values())
    experts, per_token = _number(config, _EXPERTS), _number(config, _PER_TOKEN)
    if routed and (experts is None or per_token is None or per_token > experts):
        return None
    share = per_token / experts if routed and per_token and experts else 0.0
    active = sum(size for name, size in sizes.items() if name not in aside | routed)
    active += round(share * sum(sizes[name] for name in routed))
    how = f"{per_token} of {experts} experts a token" if routed else "dense"
    return WeightBytes(total, active, how)


def _gguf_bytes(file: Path) -> WeightBytes | None:
    try:
        header = read_gguf(file)
    except (OSError, ValueError):
        return None
    counts = {"num_experts": header.number(".expert_count"), "num_experts_per_tok": header.number(".expert_used_count")}
    return active_of(_drafts_named(header.sizes), counts) if header.sizes else None


def _drafts_named(sizes: Mapping[str, int]) -> dict[str, int]:
    """Every tensor of a draft block named as one."""
    drafts = tuple({found[1] for name in sizes if (found := _DRAFT_BLOCK.match(name))})
    return {f"nextn.{name}" if name.startswith(drafts) else name: size for name, size in sizes.items()}


def _tensor_sizes(folder: Path) -> dict[str, int]:
    """Bytes of each tensor over all files. KeyError and OSError when a file that the index names is missing."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        files = [folder / name for name in sorted(set(_json(index)["weight_map"].values()))]
    else:
        files = sorted(folder.glob("*.safetensors"))
    sizes: dict[str, int] = {}
    for file in files:
        sizes |= _header(file)
    return sizes


def _header(file: Path) -> dict[str, int]:
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if not 0 < length <= MAX_HEADER_BYTES:
            raise ValueError(f"{file.name} is no safetensors file")
        header = json.loads(opened.read(length))
    extents = {name: entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"}
    return {name: _extent(*offsets) for name, offsets in extents.items()}


def _extent(begin: int, end: int) -> int:
    if not (isinstance(begin, int) and isinstance(end, int) and 0 <= begin <= end):
        raise ValueError("offsets that are none")
    return end - begin


def _json(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_bytes())
    if not isinstance(value, dict):
        raise TypeError(f"{path.name} is no JSON object")
    return value


def _number(config: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The first of `names`, in the configuration or in its text part."""
    text = config.get("text_config")
    for place in (config, text if isinstance(text, dict) else {}):
        for name in names:
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
