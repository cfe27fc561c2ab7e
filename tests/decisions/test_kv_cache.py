import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.kv_cache import bytes_per_token, requests_in, shape_of, share_of_smallest_request, tokens_in

GPT_OSS_120B = {
    "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "hidden_size": 2880,
    "torch_dtype": "bfloat16", "layer_types": ["sliding_attention", "full_attention"] * 18,
}  # fmt: skip


def test_every_attention_layer_counts_sliding_ones_included():
    shape = shape_of(GPT_OSS_120B)
    assert bytes_per_token(shape) == 73_728
    assert tokens_in(round(5.38 * 2**30), 73_728) == pytest.approx(
        78_352, abs=1
    )  # vLLM, of which 5.38 is rounded, says 78,384


def test_the_logs_own_numbers_agree_with_each_other():
    assert round(53.84 * 2**30 / 4_073_445) == 14_192
    assert requests_in(4_073_445, 131_072, shape_of(GPT_OSS_120B)) == pytest.approx(31.08, abs=0.005)


HYBRIDS = {
    "Qwen-Next, by its layer types": {
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        "num_hidden_layers": 4,
    },
    "by its interval": {"full_attention_interval": 4, "num_hidden_layers": 4},
    "Nemotron-H, by its pattern": {"hybrid_override_pattern": "M-M*", "num_hidden_layers": 4},
    "Jamba, by its period": {"attn_layer_period": 4, "num_hidden_layers": 4, "mamba_d_state": 16},
}


@pytest.mark.parametrize("name", HYBRIDS)
def test_of_a_hybrid_only_attention_layers_grow_with_tokens_and_no_requests_are_promised(name):
    shape = shape_of({**HYBRIDS[name], "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128})
    assert shape.hybrid
    assert bytes_per_token(shape) == 1 * 2 * 2 * 128 * 2
    assert bytes_per_token(shape, "fp8") == 1 * 2 * 2 * 128
    assert requests_in(530_081, 200_000, shape) is None


def test_a_hybrid_that_does_not_say_which_layers_attend_gets_no_formula():
    shape = shape_of({"num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 64, "mamba_d_state": 16})
    assert shape.hybrid
    assert bytes_per_token(shape) is None


def test_the_smallest_request_of_a_hybrid_takes_whole_pages():
    """7808 tokens a page, four groups' worth of them held, of a pool of 457,880 tokens."""
    assert share_of_smallest_request(7808, 457_880) == pytest.approx(0.01705, abs=1e-4)
    assert share_of_smallest_request(7808, 100) == 1.0


def test_a_compressed_cache_holds_one_vector_a_layer():
    shape = shape_of({
        "num_hidden_layers": 61, "num_attention_heads": 128, "hidden_size": 7168,
        "kv_lora_rank": 512, "qk_rope_head_dim": 64,
    })  # fmt: skip
    assert bytes_per_token(shape) == 61 * 576 * 2


def test_the_text_part_of_a_model_that_also_sees_is_read():
    assert bytes_per_token(shape_of({"architectures": ["X"], "text_config": GPT_OSS_120B})) == 73_728


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 99) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
)


@given(
    st.dictionaries(
        st.sampled_from([*GPT_OSS_120B, "text_config", "mamba_d_state", "hybrid_override_pattern"]), json_values
    )
)
def test_any_configuration_has_a_shape_or_none(config):
    shape = shape_of(config)
    if shape is not None:
        per_token = bytes_per_token(shape)
        assert per_token is None or per_token >= 0
