"""Any document that the types allow, written by somebody who wishes us ill."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pitstop.core.documents import (
    ArmRecord,
    EngineIdentity,
    Figure,
    Notice,
    ProductionRecord,
    RequestRecord,
    RunDocument,
    Status,
    TrialDocument,
    Verdict,
    VerdictRecord,
)

HOSTILE = (
    "",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></svg></table>",
    "<!-- ]]> --> &amp; &lt; &#0;",
    "{{ 7 * 7 }} {% raw %}",
    "\x1b]0;owned\x07\x1b[31m\x00\x9b",
    "\u202egnp.exe\u2066",
    "\ud800 lone",
    "=cmd|' /C calc'!A0",
    "| a | b |\n|---|---|\n[x](javascript:alert(1))",
    "模型" * 90,
    "qwen/" + "x" * 5000,
    "pp99999999999999999999",
    "c٣",
    "c8",
    "pp8000",
    "pp16000",
    "pp30000",
)
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12), st.text(st.characters(codec="utf-8"), max_size=40))
floats = st.one_of(
    st.floats(),
    st.floats(0.001, 10_000),
    st.sampled_from([0.0, -0.0, 1e-320, 1e308, -1e308, 1e15, 1.0, 78.6]),
)
maybe_floats = st.none() | floats
pairs = st.none() | st.tuples(floats, floats)
counts = st.integers(-3, 10**9) | st.just(10**30)
rulers = (
    st.sampled_from(["decode", "prefill", "concurrency", "mutual-load", "thinking", "quality", "long-input"]) | texts
)
metrics = (
    st.sampled_from(["decode_tok_s", "prefill_tok_s", "throughput_tok_s", "ttft_s", "retention", "finished"]) | texts
)
units = st.sampled_from(["tok/s", "s", "fraction", "bytes", ""]) | texts
leaves = st.one_of(st.none(), st.booleans(), counts, floats, texts)
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
dicts: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["before", "after", "boots", "max_tokens", "memory_curve", "at", "arm", "x_bytes", "x_s"]) | texts,
    values,
    max_size=4,
)
memory_curves = st.fixed_dictionaries(
    {"floor_bytes": leaves, "samples": st.lists(st.lists(leaves, max_size=4), max_size=30) | values}
)

figures = st.builds(
    Figure,
    ruler=rulers,
    case=texts,
    metric=metrics,
    unit=units,
    value=maybe_floats,
    status=st.sampled_from(Status),
    source=texts,
    reason=texts,
    n=counts,
    samples=st.lists(floats, max_size=6).map(tuple),
    interval=pairs,
    detail=dicts,
)
requests = st.builds(
    RequestRecord,
    ruler=rulers,
    case=texts,
    ok=st.booleans(),
    error=texts,
    prompt_tokens=st.none() | counts,
    completion_tokens=st.none() | counts,
    ttft_s=maybe_floats,
)
identities = st.builds(
    EngineIdentity,
    kind=texts,
    model=texts,
    version=st.none() | texts,
    version_source=texts,
    image_digest=st.none() | texts,
    container_id=st.none() | texts,
    pid=st.none() | counts,
    started_at=st.none() | texts,
    fingerprint=st.none() | texts,
)
notices = st.builds(Notice, code=texts, text=texts)
runs = st.builds(
    RunDocument,
    id=texts,
    started_at=texts,
    engine=identities,
    tool=st.dictionaries(st.sampled_from(["name", "version"]), texts),
    host=dicts,
    conditions=dicts,
    settings=dicts,
    figures=st.lists(figures, max_size=8),
    requests=st.lists(requests, max_size=4),
    warnings=st.lists(notices, max_size=2),
)
verdicts = st.builds(
    VerdictRecord,
    arm=texts,
    ruler=rulers,
    case=texts,
    metric=metrics,
    verdict=st.sampled_from(Verdict),
    primary=st.booleans(),
    ratio=maybe_floats,
    interval=pairs,
    minimum_effect=floats,
    noise_floor=maybe_floats,
    blocks=counts,
    reason=texts,
    p_value=maybe_floats,
    blocks_to_decide=st.none() | counts,
)
arms = st.builds(
    ArmRecord,
    name=texts,
    overrides=st.dictionaries(texts, texts, max_size=2),
    fingerprint=texts,
    runs=st.lists(runs, max_size=2),
    incidents=st.lists(dicts | st.fixed_dictionaries({"memory_curve": memory_curves}), max_size=2),
)
productions = st.builds(
    ProductionRecord,
    engine=texts,
    fingerprint_before=texts,
    fingerprint_after=st.none() | texts,
    restored=st.booleans(),
    proved_by=texts,
    downtime_s=maybe_floats,
)
trials = st.builds(
    TrialDocument,
    id=texts,
    name=texts,
    state=st.sampled_from(["running", "finished", "not-restored"]) | texts,
    started_at=texts,
    production=productions,
    finished_at=st.none() | texts,
    plan=dicts,
    arms=st.lists(arms, max_size=3),
    verdicts=st.lists(verdicts, max_size=5),
    log=st.lists(dicts, max_size=3),
    warnings=st.lists(notices, max_size=2),
)
documents = st.one_of(runs, trials)
