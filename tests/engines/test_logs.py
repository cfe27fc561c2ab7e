from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engines.acceptance import acceptance
from pitstop.engines.logs import StartupFacts, count_cuda_errors, parse_startup
from pitstop.engines.spec_logs import parse_speculation, speculation

DATA = Path(__file__).parent / "data"
GIB = 2**30
REPORT = (
    "INFO 11-29 [gpu_worker.py:298] Available KV cache memory: 53.84 GiB",
    "INFO 11-29 [kv_cache_utils.py:864] GPU KV cache size: 4,073,445 tokens",
    "INFO 11-29 [kv_cache_utils.py:868] Maximum concurrency for 131,072 tokens per request: 31.08x",
)
V0 = (
    "INFO metrics.py:446] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, "
    "Number of speculative tokens: 3, Number of accepted tokens: 8547, Number of draft tokens: 13311, "
    "Number of emitted tokens: 10616."
)


def startup(release: str) -> list[str]:
    return (DATA / f"vllm-{release}-startup.log").read_text().splitlines()


@pytest.mark.parametrize("release", ["0.28.0", "0.32.0"])
def test_logs_of_real_vllm_on_a_cpu_are_read_under_either_wording(release: str) -> None:
    facts = parse_startup(startup(release))
    assert (facts.version, facts.ready, facts.kv_cache_tok, facts.kv_memory_bytes) == (release, True, 46592, GIB)
    assert (facts.max_concurrency, facts.max_concurrency_tok, facts.max_model_len) == (11.38, 4096, 4096)
    assert None not in (facts.weights_load_s, facts.engine_init_s, facts.checkpoint_bytes)


def test_the_reports_lines_give_its_bytes_a_token() -> None:
    facts = parse_startup(REPORT)
    assert round(facts.kv_bytes_per_tok or 0) == 14192
    assert (facts.kv_cache_tok or 0) / (facts.max_concurrency_tok or 1) == pytest.approx(
        facts.max_concurrency, abs=0.005
    )


def test_a_hybrid_gives_no_bytes_a_token() -> None:
    assert parse_startup([*REPORT, "Setting attention block size to 7808 tokens"]).kv_bytes_per_tok is None


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("Model loading took 15.2700 GiB memory and 25.300000 seconds", "weights_bytes", round(15.27 * GIB)),
        ("Model loading took 8.3215 GiB and 25.3 seconds", "weights_bytes", round(8.3215 * GIB)),
        ("Loading model weights took 15.27 GB", "weights_bytes", 15_270_000_000),
        ("Loading weights took 20.51 seconds", "weights_load_s", 20.51),
        ("\x1b[32mINFO\x1b[0m Available KV cache memory: \x1b[1m-3.21 GiB", "kv_memory_bytes", round(-3.21 * GIB)),
        ("torch.compile takes 40.10 s in total", "compile_s", 40.10),
        ("Graph capturing finished in 12 secs, took 0.30 GiB", "graph_capture_s", 12.0),
        ("init engine (profile, create kv cache, warmup model) took 61.20 seconds", "engine_init_s", 61.2),
        ("INFO vLLM API server version 0.11.0", "version", "0.11.0"),
        ("Initializing a V1 LLM engine (v0.23.0) with config", "version", "0.23.0"),
        ("llama_kv_cache_unified: size =  180.00 MiB (  8192 cells,  30 layers)", "kv_cache_tok", 8192),
        ("print_info: model size       = 92.10 MiB (5.74 BPW)", "weights_bytes", round(92.1 * 2**20)),
        ("srv init: build_info: b4567-abcdef0", "version", "b4567-abcdef0"),
        ("main: server is listening on http://127.0.0.1:8080", "ready", True),
    ],
)
def test_each_line_gives_its_fact(line: str, field: str, value: object) -> None:
    assert getattr(parse_startup([f"(Worker pid=1) {line}"]), field) == value


def test_of_two_boots_in_one_log_only_the_last_counts() -> None:
    again = [*startup("0.32.0"), "(APIServer pid=2) █ █ version 0.33.0", "Loading weights took 9.00 seconds"]
    assert parse_startup(again) == StartupFacts(version="0.33.0", weights_load_s=9.0)


def test_cuda_errors_are_counted_and_mentions_of_cuda_are_not() -> None:
    lines = [
        "torch.AcceleratorError: CUDA error: out of memory",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 72.00 MiB",
        "RuntimeError: CUBLAS_STATUS_EXECUTION_FAILED",
        "INFO CUDA graphs captured; CUBLAS_STATUS_SUCCESS",
        "INFO Using CUDA 13.0",
    ]
    assert count_cuda_errors(lines) == 3


def test_a_cumulative_line_of_v0_is_read_in_both_wordings() -> None:
    short = "Draft acceptance rate: 0.642, System efficiency: 0.598, accepted 8547, draft 13311, emitted 10616"
    for line in (V0, short):
        found = parse_speculation(line)
        assert found is not None
        assert (found.accepted_tokens, found.draft_tokens, found.cumulative) == (8547, 13311, True)
    assert acceptance(speculation([V0, V0])).rate == pytest.approx(0.642, abs=5e-4)


def test_intervals_of_v1_are_added_up() -> None:
    lines = startup("0.32.0")
    last = parse_speculation(lines[-1])
    assert last is not None
    assert (last.mean_length, last.per_position) == (3.38, (0.875, 0.875, 0.625))
    assert (speculation(lines).accepted_tokens, speculation(lines).draft_tokens) == (50, 60)


def test_a_log_without_speculation_says_nothing_of_it() -> None:
    assert not acceptance(speculation(REPORT)).known


@given(
    st.lists(
        st.text(max_size=120) | st.sampled_from(REPORT).flatmap(lambda line: st.integers(0, 80).map(lambda n: line[:n]))
    )
)
def test_no_log_makes_it_raise(lines: list[str]) -> None:
    parse_startup(lines)
    speculation(lines)
    count_cuda_errors(lines)
