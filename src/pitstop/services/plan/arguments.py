"""What a server's command line says about memory. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pitstop.core.errors import UsageError

DEFAULT_FRACTION = 0.9  # vLLM's own, where the flag is absent
_FRACTION = {"vllm": "--gpu-memory-utilization", "sglang": "--mem-fraction-static"}
_MTP = ("mtp", "nextn", "deepseek_mtp", "qwen3_next_mtp", "ernie_mtp", "glm4_moe_mtp")


@dataclass(frozen=True)
class Arguments:
    """None is what the command does not say."""

    fraction: float | None = None
    fraction_is_default: bool = False
    kv_bytes: int | None = None  # --kv-cache-memory-bytes: no profiling, and the fraction is only an admission test
    kv_dtype: str = "auto"
    max_model_len: int | None = None
    model_path: str = ""
    draft_path: str = ""
    speculates: str = ""  # the method
    mtp_outside: bool = False  # heads of the model itself, which the second report found outside the fraction


def read_arguments(kind: str, command: Sequence[str]) -> Arguments:
    """Read `--flag value` and `--flag=value`; UsageError for a fraction that is none."""
    said = _options(command)
    fraction = _fraction(said.get(_FRACTION.get(kind, ""), ""), _FRACTION.get(kind, ""))
    method, draft = _speculation(said)
    return Arguments(
        fraction=fraction if fraction is not None else DEFAULT_FRACTION if kind == "vllm" else None,
        fraction_is_default=fraction is None and kind == "vllm",
        kv_bytes=_whole(said.get("--kv-cache-memory-bytes", "")),
        kv_dtype=said.get("--kv-cache-dtype", "auto"),
        max_model_len=_whole(said.get("--max-model-len", "") or said.get("--context-length", "")),
        model_path=said.get("--model") or said.get("--model-path") or said.get("-m") or _positional(command),
        draft_path=draft,
        speculates=method,
        mtp_outside=method in _MTP and not draft,
    )


def on_the_host(path: str, run_options: Sequence[str]) -> str:
    """A path inside the container as the host knows it, by `-v`, `--volume` and `--mount`; itself when none fits."""
    best, found = "", path
    for source, target in _mounts(run_options):
        inside = PurePosixPath(path).is_relative_to(target)
        if inside and len(target) > len(best):
            best, found = target, str(PurePosixPath(source) / PurePosixPath(path).relative_to(target))
    return found


def _options(command: Sequence[str]) -> dict[str, str]:
    said: dict[str, str] = {}
    for at, word in enumerate(command):
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            following = command[at + 1] if at + 1 < len(command) else ""
            said[name.replace("_", "-") if name.startswith("--") else name] = value if equals else following
    return said


def _fraction(text: str, flag: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise UsageError(f"{flag} {text!r} is no number.", hint="Write a fraction, as in 0.45.") from None
    if not 0 < value <= 1 or text.endswith("%"):
        hint = f"Write {value / 100:g} for {value:g} percent." if 1 < value <= 100 else "Write a fraction, as in 0.45."
        raise UsageError(f"{flag} {text} is no fraction between 0 and 1.", hint=hint)
    return value


def _speculation(said: dict[str, str]) -> tuple[str, str]:
    """The method and the path of a draft model of its own, from either way of writing them."""
    raw = said.get("--speculative-config", "")
    try:
        config = json.loads(raw) if raw else {}
    except ValueError:
        config = {}
    config = config if isinstance(config, dict) else {}
    draft = str(config.get("model") or said.get("--speculative-config.model") or "")
    method = str(config.get("method") or said.get("--speculative-config.method") or ("draft" if draft else ""))
    return method, draft


def _mounts(run_options: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for at, word in enumerate(run_options):
        name, equals, value = word.partition("=")
        value = value if equals else run_options[at + 1] if at + 1 < len(run_options) else ""
        if name in ("-v", "--volume") and value.count(":") >= 1:
            found.append((value.split(":")[0], value.split(":")[1]))
        if name == "--mount":
            parts = dict(part.partition("=")[::2] for part in value.split(","))
            source, target = parts.get("source") or parts.get("src"), parts.get("target") or parts.get("dst")
            if source and target:
                found.append((source, target))
    return found


def _positional(command: Sequence[str]) -> str:
    """The model behind `serve`; nothing where the next word is an option."""
    for at, word in enumerate(command[:-1]):
        if word == "serve" and not command[at + 1].startswith("-"):
            return command[at + 1]
    return ""


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None
