"""How many bytes of KV cache one token takes, from a model's own `config.json`; and when a formula must not be used.

Every attention layer counts, sliding ones included: vLLM pages them all. gpt-oss-120b: 36 layers, 8 heads of 64, two
bytes, key and value: 73,728 bytes a token, and 5.38 GiB hold what its log says. For hybrids (Mamba, linear attention)
a token count says nothing about requests: state is per request, and one page may hold thousands of tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_DTYPE_BYTES = {"fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "int8": 1, "float16": 2, "bfloat16": 2, "half": 2, "float32": 4}
_STATEFUL = ("mamba", "linear", "recurrent", "ssm", "conv", "gated_delta", "gdn", "rwkv")
_STATE_KEYS = ("mamba_d_state", "ssm_state_size", "mamba_num_heads", "linear_num_value_heads", "mamba_n_heads",
               "hybrid_override_pattern", "full_attention_interval", "attn_layer_period")  # fmt: skip


@dataclass(frozen=True)
class ModelShape:
    """What decides the KV cache. `attention_layers` is None for a hybrid that does not say which layers attend."""

    layers: int
    attention_layers: int | None
    kv_heads: int
    head_dim: int
    hybrid: bool
    latent_dim: int | None = None  # of MLA: one compressed vector in place of keys and values
    dtype_bytes: int = 2


def shape_of(config: Mapping[str, Any]) -> ModelShape | None:
    """Read a `config.json`; None when it lacks what is needed. A text part inside counts in its place."""
    text = config.get("text_config")
    raw: Mapping[str, Any] = {**config, **text} if isinstance(text, Mapping) else config
    layers, heads = _whole(raw, "num_hidden_layers", "n_layer"), _whole(raw, "num_attention_heads", "n_head")
    if layers is None or heads is None:
        return None
    hidden = _whole(raw, "hidden_size", "n_embd")
    head_dim = _whole(raw, "head_dim") or (hidden // heads if hidden else None)
    if head_dim is None:
        return None
    rank, rope = _whole(raw, "kv_lora_rank"), _whole(raw, "qk_rope_head_dim")
    kinds = [str(kind).lower() for kind in _list(raw.get("layer_types")) or _list(raw.get("layers_block_type"))]
    stateful = [kind for kind in kinds if any(word in kind for word in _STATEFUL)]
    hybrid = bool(stateful) or any(raw.get(key) for key in _STATE_KEYS)
    return ModelShape(
        layers=layers,
        attention_layers=_attention_layers(raw, layers, kinds, stateful, hybrid=hybrid),
        kv_heads=_whole(raw, "num_key_value_heads") or heads,
        head_dim=head_dim,
        hybrid=hybrid,
        latent_dim=rank + (rope or 0) if rank else None,
        dtype_bytes=_DTYPE_BYTES.get(str(raw.get("torch_dtype") or raw.get("dtype")).removeprefix("torch."), 2),
    )


def bytes_per_token(shape: ModelShape, kv_dtype: str = "auto") -> int | None:
    """Bytes of attention cache one token takes; None for a hybrid of unknown layers. fp8 halves this part only."""
    if shape.attention_layers is None:
        return None
    width = _DTYPE_BYTES.get(kv_dtype, shape.dtype_bytes)
    per_layer = shape.latent_dim if shape.latent_dim is not None else 2 * shape.kv_heads * shape.head_dim
    return shape.attention_layers * per_layer * width


def tokens_in(cache_bytes: int, per_token_bytes: int) -> int:
    return cache_bytes // per_token_bytes


def requests_in(tokens: int, tokens_each: int, shape: ModelShape | None) -> float | None:
    """How many requests of that length fit at once; None for a hybrid, where dividing tokens would mislead."""
    if shape is not None and shape.hybrid:
        return None
    return tokens / tokens_each


def share_of_smallest_request(attention_block_tok: int, pool_tok: int, groups: int = 1) -> float:
    """The least that any request takes of a hybrid's pool: one page per group, however short its prompt."""
    return min(1.0, attention_block_tok * groups / pool_tok)


def _attention_layers(
    raw: Mapping[str, Any], layers: int, kinds: list[str], stateful: list[str], *, hybrid: bool
) -> int | None:
    if kinds:
        return len(kinds) - len(stateful)
    pattern = raw.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return pattern.count("*")  # Nemotron-H: M is Mamba, - an MLP, * attention
    interval = _whole(raw, "full_attention_interval", "attn_layer_period")
    if interval:
        return layers // interval
    return None if hybrid else layers


def _whole(raw: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
