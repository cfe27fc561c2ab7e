import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.load import parse
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.decisions.plan import GIB
from pitstop.engines.logs import StartupFacts, parse_startup
from pitstop.launch.plan import plan
from pitstop.services.guard.order import GuardReport
from pitstop.services.plan.arguments import on_the_host, read_arguments
from pitstop.services.plan.facts import facts_of
from pitstop.services.plan.footprint import footprint
from pitstop.services.plan.learnt import boots_of, learn, summary

NOTHING = StartupFacts()
LOG = """\
INFO [core.py:1] Available KV cache memory: 53.84 GiB
INFO [kv_cache_utils.py:2] GPU KV cache size: 4,073,445 tokens
INFO [kv_cache_utils.py:3] Maximum concurrency for 131,072 tokens per request: 31.08x
""".splitlines()


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home").prepared()


def engine_of(folder, *command, footprint_table=""):
    words = json.dumps(["vllm", "serve", "/models/M", *command])
    return parse(
        f"""
[engine.x]
kind = "vllm"
model = "m"
base_url = "http://127.0.0.1:8001/v1"
{footprint_table}
[engine.x.launch]
with = "docker"
name = "x"
image = "i"
run = ["-v", "{folder}:/models"]
command = {words}
"""
    ).engine["x"]


def measured(home, engine, facts=NOTHING, device_gib=100):
    spec = plan("x", engine, environ={"PATH": "/usr/bin"})
    return footprint("x", engine, spec, facts, home, device_bytes=device_gib * GIB)


def checkpoint(folder, **tensors):
    folder.mkdir()
    at, header = 0, {}
    for name, size in tensors.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    return folder


@pytest.mark.parametrize(
    "words",
    [["--gpu-memory-utilization", "0.45"], ["--gpu-memory-utilization=0.45"], ["--gpu_memory_utilization", "0.45"]],
)
def test_a_fraction_is_read_however_it_is_written(words):
    assert read_arguments("vllm", ["vllm", "serve", "m", *words]).fraction == 0.45


def test_without_a_fraction_vllm_takes_its_own(tmp_path, home):
    found = measured(home, engine_of(tmp_path))
    assert found.budget_bytes == 90 * GIB
    assert any("not given" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "hint"), [("75", "0.75 for 75 percent"), ("75%", "0.75"), ("0", ""), ("x", "0.45"), ("-1", "")]
)
def test_what_is_no_fraction_is_refused(text, hint):
    with pytest.raises(UsageError) as caught:
        read_arguments("vllm", ["vllm", "serve", "m", f"--gpu-memory-utilization={text}"])
    assert hint in str(caught.value)


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_command_is_read_or_refused(command):
    try:
        read_arguments("vllm", command)
    except UsageError as error:
        assert "gpu-memory-utilization" in error.message


def test_with_an_explicit_cache_the_fraction_is_only_a_test_at_the_start(tmp_path, home):
    checkpoint(tmp_path / "M", w=3000)
    words = ("--gpu-memory-utilization", "0.7", "--kv-cache-memory-bytes", "5000")
    found = measured(home, engine_of(tmp_path, *words))
    assert (found.budget_bytes, found.admission_bytes) == (None, 70 * GIB)
    assert (found.weights_bytes, found.kv_bytes) == (3000, 5000)
    assert found.steady_bytes == 8000 + found.context_bytes + found.host_bytes
    assert any("only a test at the start" in note for note in found.notes)


MTP = ("--speculative-config", '{"method":"mtp","num_speculative_tokens":2}')


def test_heads_of_the_model_itself_are_counted_from_its_checkpoint(tmp_path, home):
    checkpoint(tmp_path / "M", **{"model.w": 3000, "mtp.experts.w": 700})
    found = measured(home, engine_of(tmp_path, *MTP))
    assert found.draft_bytes == 700
    assert found.sources["draft_bytes"] == "MTP tensors of the checkpoint"


def test_heads_of_unknown_size_are_not_taken_for_nothing(tmp_path, home):
    found = measured(home, engine_of(tmp_path, *MTP))
    assert found.draft_bytes is None
    assert found.steady_bytes is None
    assert any("[engine.x.footprint] draft" in note for note in found.notes)


def test_what_a_person_says_counts_first(tmp_path, home):
    table = '[engine.x.footprint]\ndraft = "15 GB"\nhost = "2 GiB"\nstart_extra = "3 GiB"'
    found = measured(home, engine_of(tmp_path, *MTP, footprint_table=table))
    assert (found.draft_bytes, found.host_bytes, found.start_extra_bytes) == (15 * 10**9, 2 * GIB, 3 * GIB)
    assert found.start_bytes == found.steady_bytes + 3 * GIB


def test_a_draft_model_of_its_own_lies_inside_the_budget(tmp_path, home):
    words = ("--speculative_config.model", "/models/D", "--speculative_config.num_speculative_tokens", "3")
    assert measured(home, engine_of(tmp_path, *words)).draft_bytes == 0


def test_the_logs_own_figures_are_told_with_bytes_a_token(tmp_path, home):
    found = measured(home, engine_of(tmp_path), parse_startup(LOG))
    assert "KV cache: 4,073,445 tokens in 53.8 GiB, 14,192 bytes a token" in found.notes


def test_of_a_hybrid_the_least_of_a_request_is_told_and_no_number_of_requests(tmp_path, home):
    facts = StartupFacts(kv_cache_tok=457_880, kv_memory_bytes=10 * GIB, attention_block_tok=7_808)
    found = measured(home, engine_of(tmp_path), facts)
    assert any("7,808 tokens" in note and "at least 1.7%" in note for note in found.notes)


@pytest.mark.parametrize(
    ("path", "run", "expected"),
    [
        ("/models/A", ["-v", "/srv/models:/models"], "/srv/models/A"),
        ("/models/A", ["--volume=/srv/models:/models:ro"], "/srv/models/A"),
        ("/models/A", ["--mount", "type=bind,source=/s,target=/models"], "/s/A"),
        ("/models/A/x", ["-v", "/s:/models", "-v", "/t:/models/A"], "/t/x"),
        ("/modelsX/A", ["-v", "/s:/models"], "/modelsX/A"),
        ("org/name", ["-v", "/s:/models"], "org/name"),
        ("/m", ["-v"], "/m"),
    ],
)
def test_a_path_inside_is_found_on_the_host(path, run, expected):
    assert on_the_host(path, run) == expected


def test_what_boots_took_is_learnt_and_belongs_to_its_launch_value(home):
    def report(lowest, last, verdict="clean"):
        return GuardReport("x", verdict=verdict, first_available_bytes=100, lowest_available_bytes=lowest,
                           last_available_bytes=last)  # fmt: skip

    learn(home, "x", "f1", report(20, 40))
    learn(home, "x", "f1", report(10, 44))
    learn(home, "x", "f2", report(5, 6))
    assert learn(home, "x", "f1", report(1, 2, "tripped")) is None
    assert learn(home, "x", "f1", report(1, 100)) is None
    assert summary(boots_of(home, "x", "f1")) == (90, 58)


def test_a_log_of_the_defaults_says_nothing_of_a_variant(tmp_path, home):
    spec = plan("x", engine_of(tmp_path), environ={"PATH": "/usr/bin"})
    (home.logs / "x.log").write_text("\n".join(LOG))
    assert facts_of(spec, home, changed=False).kv_cache_tok == 4_073_445
    assert facts_of(spec, home, changed=True) == StartupFacts()
