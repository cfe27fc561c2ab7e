"""A GGUF header, as llama.cpp writes it and as nobody should."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.engines.checkpoint import weight_bytes
from pitstop.engines.gguf import read_gguf


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(tensors, metadata=(), *, version=3):
    """`tensors` are names with their bytes, each a multiple of 32; `metadata` are keys with type and packed value."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, kind, packed in metadata:
        head += text(key) + struct.pack("<I", kind) + packed
    at = 0
    for name, size in tensors.items():
        head += text(name) + struct.pack("<IQIQ", 1, size, 0, at)
        at += size
    return head + b"\0" * (-len(head) % 32) + b"\0" * at


def number(key, value):
    return key, 4, struct.pack("<I", value)


VOCABULARY = ("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("bc"))
SCORES = ("tokenizer.ggml.scores", 9, struct.pack("<IQff", 6, 2, 0.5, 1.5))
NAME = ("general.name", 8, text("small"))
DENSE = {"token_embd.weight": 320, "blk.0.attn_output.weight": 3200, "output.weight": 320}


def written(tmp_path, content, name="model.gguf"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_a_tensor_reaches_to_where_the_next_begins(tmp_path, version):
    header = read_gguf(written(tmp_path, gguf(DENSE, [NAME, VOCABULARY, SCORES, number("q.x", 7)], version=version)))
    assert header.sizes == DENSE
    assert header.number(".x") == 7


def test_an_embedding_is_read_by_the_row_unless_it_is_the_head_too(tmp_path):
    assert weight_bytes(written(tmp_path, gguf(DENSE))).active_bytes == 3520
    tied = {name: size for name, size in DENSE.items() if name != "output.weight"}
    assert weight_bytes(written(tmp_path, gguf(tied))).active_bytes == 3520


def test_of_routed_experts_a_token_reads_its_share_and_of_shared_ones_all(tmp_path):
    experts = {"blk.0.ffn_up_exps.weight": 6400, "blk.0.ffn_up_shexp.weight": 64}
    numbers = [number("qwen3moe.expert_count", 8), number("qwen3moe.expert_used_count", 2)]
    found = weight_bytes(written(tmp_path, gguf(DENSE | experts, numbers)))
    assert (found.active_bytes, found.how) == (3520 + 1600 + 64, "2 of 8 experts a token")
    assert weight_bytes(written(tmp_path, gguf(DENSE | experts))) is None


def test_a_draft_block_is_not_read_however_its_tensors_are_called(tmp_path):
    draft = {"blk.1.attn_q.weight": 640, "blk.1.nextn.eh_proj.weight": 640, "blk.10.attn_q.weight": 32}
    found = weight_bytes(written(tmp_path, gguf(DENSE | draft)))
    assert (found.total_bytes, found.active_bytes) == (3840 + 1312, 3520 + 32)


def test_the_parts_of_one_model_are_added_up_whichever_is_named(tmp_path):
    first = written(tmp_path, gguf(DENSE, [number("m.block_count", 2)]), "m-00001-of-00002.gguf")
    assert weight_bytes(first) is None
    second = written(tmp_path, gguf({"blk.1.attn_q.weight": 96}), "m-00002-of-00002.gguf")
    assert weight_bytes(first) == weight_bytes(second)
    assert weight_bytes(second).active_bytes == 3520 + 96


@settings(max_examples=200)
@given(st.integers(0, 400), st.binary(max_size=12))
def test_a_header_that_was_cut_or_garbled_is_no_crash(tmp_path_factory, at, garbage):
    content = gguf(DENSE, [NAME, VOCABULARY, SCORES])
    path = written(tmp_path_factory.getbasetemp(), content[:at] + garbage + content[at + len(garbage) :])
    found = weight_bytes(path)
    assert found is None or found.total_bytes >= 0


@pytest.mark.parametrize(
    "content",
    [
        b"", b"GGUF", b"GGML" + b"\0" * 40, gguf(DENSE)[:-1], gguf(DENSE, [number("general.alignment", 0)]),
        b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", 2**62),
    ],
)  # fmt: skip
def test_what_is_no_whole_gguf_gives_no_answer(tmp_path, content):
    found = weight_bytes(written(tmp_path, content))
    assert found is None or found.total_bytes == 3839  # one byte of the last tensor's padding


def test_a_missing_file_gives_no_answer():
    assert weight_bytes(Path("/nonexistent/model.gguf")) is None
