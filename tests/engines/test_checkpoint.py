import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.engines.checkpoint import active_of, weight_bytes

DENSE = {"model.embed_tokens.weight": 100, "model.layers.0.mlp.up_proj.weight": 1000, "lm_head.weight": 100}
EXPERTS = {f"model.layers.0.mlp.experts.{i}.up_proj.weight": 50 for i in range(8)}


def safetensors(path: Path, sizes: dict[str, int]) -> None:
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, size in sizes.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    encoded = json.dumps(header).encode()
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + b"\0" * at)


def test_an_embedding_is_read_by_the_row_unless_it_is_the_head_too() -> None:
    found = active_of(DENSE, {})
    assert found is not None
    assert (found.total_bytes, found.active_bytes, found.how) == (1200, 1100, "dense")
    tied = active_of({name: size for name, size in DENSE.items() if "lm_head" not in name}, {})
    assert tied is not None
    assert tied.active_bytes == 1100


@pytest.mark.parametrize("nested", [False, True])
def test_of_routed_experts_a_token_reads_its_share(nested: bool) -> None:
    numbers = {"num_experts": 8, "num_experts_per_tok": 2}
    found = active_of(DENSE | EXPERTS, {"text_config": numbers} if nested else numbers)
    assert found is not None
    assert (found.total_bytes, found.active_bytes) == (1600, 1200)
    assert found.how == "2 of 8 experts a token"


def test_shared_experts_are_always_read() -> None:
    shared = {
        "model.layers.0.mlp.shared_expert.up_proj.weight": 70,
        "model.layers.0.mlp.shared_experts.up_proj.weight": 30,
    }
    found = active_of(DENSE | shared, {})
    assert found is not None
    assert found.active_bytes == 1200


def test_vision_and_draft_parts_are_not_read() -> None:
    found = active_of(DENSE | {"visual.blocks.0.weight": 999, "mtp.layers.0.mlp.experts.0.weight": 999}, {})
    assert found is not None
    assert found.active_bytes == 1100


def test_layers_beyond_the_models_own_are_draft_layers() -> None:
    found = active_of(DENSE | {"model.layers.1.mlp.up_proj.weight": 999}, {"num_hidden_layers": 1})
    assert found is not None
    assert found.active_bytes == 1100


@pytest.mark.parametrize(
    "config", [{}, {"num_experts": 8}, {"num_experts": 2, "num_experts_per_tok": 8}, {"num_experts": True}]
)
def test_experts_without_numbers_give_no_answer(config: dict[str, object]) -> None:
    assert active_of(DENSE | EXPERTS, config) is None


def test_a_folder_is_read_from_its_headers(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    safetensors(tmp_path / "model.safetensors", DENSE)
    found = weight_bytes(tmp_path)
    assert found is not None
    assert found.active_bytes == 1100


def test_a_missing_shard_gives_no_answer(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    safetensors(tmp_path / "a.safetensors", DENSE)
    index = {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert weight_bytes(tmp_path) is None


@settings(max_examples=40)  # each writes three files
@given(st.binary(max_size=200))
def test_no_damaged_file_makes_it_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("model")
    (folder / "config.json").write_text("{}")
    for prefix in (b"", (len(content)).to_bytes(8, "little")):
        (folder / "model.safetensors").write_bytes(prefix + content)
        assert weight_bytes(folder) is None


@pytest.mark.parametrize(
    "header", ["[]", '{"a": 1}', '{"a": {"data_offsets": [5, 1]}}', '{"a": {"data_offsets": "xy"}}']
)
def test_a_header_of_another_shape_gives_no_answer(tmp_path: Path, header: str) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header.encode())
    assert weight_bytes(tmp_path) is None
