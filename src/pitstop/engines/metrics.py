"""What the metrics texts of vLLM, llama.cpp and SGLang say, in one vocabulary.

Names move between releases: each counter is a list of names that meant the same thing, the newest first, each with
`_total` or without, and the first one that the text has is read. Sources are in docs/engines.md.
"""

from __future__ import annotations

from collections.abc import Collection

from pitstop.engines.adapter import Counters
from pitstop.engines.exposition import Exposition, parse
from pitstop.engines.reading import Reading, models_named, start_time

VLLM = "vllm:"
LLAMACPP = "llamacpp:"
SGLANG = "sglang:"

_VLLM_NAMES = (
    "num_requests_running", "num_requests_waiting", "request_success", "prompt_tokens", "generation_tokens",
    "prefix_cache_queries", "prefix_cache_hits", "gpu_prefix_cache_queries", "gpu_prefix_cache_hits",
    "spec_decode_num_drafts", "spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens",
    "spec_decode_num_accepted_tokens_per_pos", "kv_cache_usage_perc", "gpu_cache_usage_perc", "num_preemptions",
    "cache_config_info",
)  # fmt: skip
_LLAMACPP_NAMES = (
    "requests_processing", "requests_deferred", "prompt_tokens", "prompt_tokens_cached", "tokens_predicted",
    "kv_cache_usage_ratio", "spec_decode_num_drafts", "spec_decode_num_draft_tokens",
    "spec_decode_num_accepted_tokens", "spec_decode_num_accepted_tokens_per_pos",
)  # fmt: skip
_SGLANG_NAMES = (
    "num_running_reqs", "num_queue_reqs", "num_requests", "prompt_tokens", "cached_tokens", "generation_tokens",
    "token_usage", "num_retracted_requests", "spec_verify_calls",
)  # fmt: skip
_WANTED = frozenset(
    [VLLM + name for name in _VLLM_NAMES]
    + [LLAMACPP + name for name in _LLAMACPP_NAMES]
    + [SGLANG + name for name in _SGLANG_NAMES]
    + ["process_start_time_seconds"]
)


def read(text: str) -> Exposition:
    """The series of a metrics text that any engine kind has a use for."""
    return parse(text, _WANTED)


def knows(text: Exposition, models: Collection[str]) -> bool:
    """Whether a series belongs to one of `models`, or none names a model at all."""
    named = models_named(text)
    return not named or not named.isdisjoint(models)


def vllm_counters(text: Exposition, models: Collection[str]) -> Counters:
    """Of `models`: the served name and its aliases. `kv_cache_usage_perc` is a fraction, whatever its name says."""
    of = Reading(text, frozenset(models))
    return Counters(
        requests_running=of.gauge("vllm:num_requests_running"),
        requests_waiting=of.gauge("vllm:num_requests_waiting"),
        requests_finished=of.count("vllm:request_success"),
        prompt_tokens=of.count("vllm:prompt_tokens"),
        generation_tokens=of.count("vllm:generation_tokens"),
        prefix_queries_tok=of.count("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries"),
        prefix_hits_tok=of.count("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"),
        drafts=of.count("vllm:spec_decode_num_drafts"),
        draft_tokens=of.count("vllm:spec_decode_num_draft_tokens"),
        accepted_tokens=of.count("vllm:spec_decode_num_accepted_tokens"),
        accepted_per_position=of.per_position("vllm:spec_decode_num_accepted_tokens_per_pos"),
        kv_cache_usage=of.share("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
        preemptions=of.count("vllm:num_preemptions"),
        process_start_s=start_time(text),
    )


def llamacpp_counters(text: Exposition) -> Counters:
    """Of the only model that there is. Its `prompt_tokens` leaves out what came from the cache; ours holds both.

    An old server that does not count cached tokens gives the processed ones alone.
    """
    of = Reading(text)
    processed, cached = of.count("llamacpp:prompt_tokens"), of.count("llamacpp:prompt_tokens_cached")
    prompt = None if processed is None else processed + (cached or 0)
    return Counters(
        requests_running=of.gauge("llamacpp:requests_processing"),
        requests_waiting=of.gauge("llamacpp:requests_deferred"),
        prompt_tokens=prompt,
        generation_tokens=of.count("llamacpp:tokens_predicted"),
        prefix_queries_tok=None if cached is None else prompt,
        prefix_hits_tok=cached,
        drafts=of.count("llamacpp:spec_decode_num_drafts"),
        draft_tokens=of.count("llamacpp:spec_decode_num_draft_tokens"),
        accepted_tokens=of.count("llamacpp:spec_decode_num_accepted_tokens"),
        accepted_per_position=of.per_position("llamacpp:spec_decode_num_accepted_tokens_per_pos"),
        kv_cache_usage=of.share("llamacpp:kv_cache_usage_ratio"),
        process_start_s=start_time(text),
    )


def sglang_counters(text: Exposition, models: Collection[str]) -> Counters:
    """Speculation there has one counter, verification steps; its acceptance gauges hold the last interval only."""
    of = Reading(text, frozenset(models))
    prompt, cached = of.count("sglang:prompt_tokens"), of.count("sglang:cached_tokens")
    return Counters(
        requests_running=of.gauge("sglang:num_running_reqs"),
        requests_waiting=of.gauge("sglang:num_queue_reqs"),
        requests_finished=of.count("sglang:num_requests"),
        prompt_tokens=prompt,
        generation_tokens=of.count("sglang:generation_tokens"),
        prefix_queries_tok=None if cached is None else prompt,
        prefix_hits_tok=cached,
        drafts=of.count("sglang:spec_verify_calls"),
        kv_cache_usage=of.share("sglang:token_usage"),
        preemptions=of.count("sglang:num_retracted_requests"),
        process_start_s=start_time(text),
    )


def any_counters(text: Exposition, models: Collection[str]) -> Counters | None:
    """By the prefix that the text uses, for a server of unknown kind; None when it is none of the known ones."""
    for prefix, counters in ((VLLM, vllm_counters), (SGLANG, sglang_counters)):
        if any(name.startswith(prefix) for name in text.names):
            return counters(text, models)
    if any(name.startswith(LLAMACPP) for name in text.names):
        return llamacpp_counters(text)
    return None
