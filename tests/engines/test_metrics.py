from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engines import metrics
from pitstop.engines.acceptance import acceptance
from pitstop.engines.adapter import Counters

DATA = Path(__file__).parent / "data"
PER_POSITION = (639, 502, 384, 319, 266, 211, 163)


def spec_lines(engine: str = "0", model: str = "qwen38-27b") -> str:
    """The first public sample of field case M1, with the `_created` series that surround it in real texts."""
    labels = f'engine="{engine}",model_name="{model}"'
    counts = (("drafts", 814), ("draft_tokens", 5698), ("accepted_tokens", 2484))
    lines = [f"vllm:spec_decode_num_{name}_total{{{labels}}} {value}.0" for name, value in counts]
    for position, value in enumerate(PER_POSITION):
        name, at = "vllm:spec_decode_num_accepted_tokens_per_pos", f'{labels},position="{position}"'
        lines += [f"{name}_total{{{at}}} {value}.0", f"{name}_created{{{at}}} 1756736798.73"]
    return "\n".join(lines) + "\n"


def vllm(text: str, *models: str) -> Counters:
    return metrics.vllm_counters(metrics.read(text), models or ("qwen38-27b",))


def llamacpp(text: str) -> Counters:
    return metrics.llamacpp_counters(metrics.read(text))


def sglang(text: str, model: str = "m") -> Counters:
    return metrics.sglang_counters(metrics.read(text), (model,))


def test_the_public_sample_gives_the_published_acceptance() -> None:
    seen = acceptance(vllm(spec_lines()))
    assert seen.rate == pytest.approx(0.4359, abs=5e-5)
    assert seen.length == pytest.approx(4.0516, abs=5e-5)
    assert seen.per_position == pytest.approx([0.785, 0.617, 0.472, 0.392, 0.327, 0.259, 0.200], abs=5e-4)
    assert not seen.disagreement
    assert "bonus" in seen.length_estimator


def test_positions_that_are_not_there_are_absent() -> None:
    text = (
        'vllm:spec_decode_num_drafts_total{model_name="x"} 1050\nvllm:spec_decode_num_draft_tokens_total'
        '{model_name="x"} 3150\nvllm:spec_decode_num_accepted_tokens_total{model_name="x"} 2401\n'
    )
    seen = acceptance(vllm(text, "x"))
    assert (round(seen.rate or 0, 3), round(seen.length or 0, 3), seen.per_position) == (0.762, 3.287, None)


def test_several_engines_of_one_model_are_summed_and_other_models_left_out() -> None:
    embedder = 'vllm:num_requests_running{engine="0",model_name="embedder"} 3.0\n'
    running = 'vllm:num_requests_running{engine="0",model_name="qwen38-27b"} 1\n'
    text = spec_lines("0") + spec_lines("1") + embedder + running + running.replace('engine="0"', 'engine="1"')
    seen = vllm(text)
    assert (seen.drafts, seen.accepted_tokens, seen.requests_running) == (1628, 4968, 2)
    assert seen.accepted_per_position == tuple(2 * count for count in PER_POSITION)
    assert acceptance(seen).rate == pytest.approx(2484 / 5698)


@pytest.mark.parametrize(
    "text",
    [
        'vllm:gpu_cache_usage_perc{model_name="m"} 0.968\n',
        'vllm:kv_cache_usage_perc{model_name="m"} 0.968\n',
        'vllm:gpu_cache_usage_perc{model_name="m"} 0.968\nvllm:kv_cache_usage_perc{model_name="m"} 0.968\n',
    ],
)
def test_cache_usage_is_one_fraction_under_either_name(text: str) -> None:
    assert vllm(text, "m").kv_cache_usage == 0.968


@pytest.mark.parametrize(
    "text", ["", 'vllm:kv_cache_usage_perc{model_name="m"} NaN\n', "vllm:kv_cache_usage_perc 96\n"]
)
def test_cache_usage_that_is_missing_or_no_fraction_is_unknown(text: str) -> None:
    assert vllm(text, "m").kv_cache_usage is None


def test_old_and_new_prefix_cache_names_are_one_counter() -> None:
    old = (
        'vllm:gpu_prefix_cache_queries_total{model_name="m"} 100\nvllm:gpu_prefix_cache_hits_total{model_name="m"} 40\n'
    )
    both = old + old.replace("gpu_prefix", "prefix")
    for text in (old, both, old.replace("_total", "")):
        assert (vllm(text, "m").prefix_queries_tok, vllm(text, "m").prefix_hits_tok) == (100, 40)


def test_finished_requests_are_summed_over_their_reasons() -> None:
    lines = [
        f'vllm:request_success_total{{engine="0",finished_reason="{reason}",model_name="m"}} {count}'
        for reason, count in (("stop", 5), ("length", 2), ("abort", 1))
    ]
    assert vllm("\n".join(lines), "m").requests_finished == 8


@pytest.mark.parametrize("value", ["NaN", "-1", "+Inf", "1e300"])
def test_a_sum_with_a_part_that_is_no_count_is_unknown(value: str) -> None:
    good, bad = (f'vllm:generation_tokens_total{{engine="{e}",model_name="m"}}' for e in "01")
    text = f"{good} 5\n{bad} {value}\n"
    assert vllm(text, "m").generation_tokens is None


@pytest.mark.parametrize("position", ["", "one", "-1", "9999", "²"])
def test_a_position_that_is_no_number_makes_positions_unknown(position: str) -> None:
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    text = f'{name}{{model_name="m",position="0"}} 5\n{name}{{model_name="m",position="{position}"}} 4\n'
    assert vllm(text, "m").accepted_per_position is None


def test_a_missing_position_makes_positions_unknown() -> None:
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    text = f'{name}{{model_name="m",position="0"}} 5\n{name}{{model_name="m",position="2"}} 4\n'
    assert vllm(text, "m").accepted_per_position is None


def test_an_empty_text_knows_nothing() -> None:
    for counters in (vllm("", "m"), llamacpp(""), sglang("")):
        assert counters == Counters()
    assert metrics.any_counters(metrics.read(""), ("m",)) is None


def test_llamacpp_is_read_without_labels_and_with_or_without_total() -> None:
    text = (
        "llamacpp:prompt_tokens_total 6886\nllamacpp:prompt_seconds_total 2903.63\n"
        "llamacpp:tokens_predicted_total 3469\nllamacpp:tokens_predicted_seconds_total 3544.27\n"
        "llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\n"
    )
    for form in (text, text.replace("_total", "")):
        seen = llamacpp(form)
        assert (seen.prompt_tokens, seen.generation_tokens) == (6886, 3469)
        assert (seen.requests_running, seen.requests_waiting) == (1, 2)
    old = llamacpp(text)
    assert (old.drafts, old.prefix_hits_tok, old.kv_cache_usage, old.requests_finished) == (None, None, None, None)


def test_llamacpp_prompt_tokens_hold_what_came_from_the_cache() -> None:
    seen = llamacpp("llamacpp:prompt_tokens_total 32\nllamacpp:prompt_tokens_cached_total 30\n")
    assert (seen.prompt_tokens, seen.prefix_queries_tok, seen.prefix_hits_tok) == (62, 62, 30)


def test_llamacpp_before_the_first_request_divides_nothing_by_zero() -> None:
    names = ("draft_tokens", "accepted_tokens", "drafts")
    seen = acceptance(llamacpp("".join(f"llamacpp:spec_decode_num_{name}_total 0\n" for name in names)))
    assert (seen.rate, seen.length, seen.per_position, seen.known) == (None, None, None, False)


def test_sglang_ranks_show_one_engine_and_priorities_are_parts_of_their_sum() -> None:
    text = "".join(
        f'sglang:num_running_reqs{{model_name="m",pp_rank="0",priority="{priority}",tp_rank="{rank}"}} {value}\n'
        for rank in "01"
        for priority, value in (("", 14), ("-1", 0), ("0", 14))
    )
    assert sglang(text).requests_running == 14


def test_sglang_ranks_that_count_the_same_count_once() -> None:
    lines = (f'sglang:spec_verify_calls_total{{engine_type="unified",tp_rank="{rank}"}} 40\n' for rank in "01")
    assert sglang("".join(lines)).drafts == 40


def test_sglang_data_parallel_ranks_are_engines() -> None:
    text = (
        'sglang:num_running_reqs{dp_rank="0",model_name="m"} 1\nsglang:num_running_reqs{dp_rank="1",model_name="m"} 2\n'
    )
    assert sglang(text).requests_running == 3


def test_sglang_acceptance_is_estimated_from_steps_and_says_so() -> None:
    text = (
        'sglang:generation_tokens_total{is_streaming="true",model_name="m"} 3000\n'
        'sglang:generation_tokens_total{is_streaming="false",model_name="m"} 20\n'
        'sglang:num_requests_total{model_name="m"} 20\nsglang:spec_verify_calls_total{engine_type="unified"} 1200\n'
        'sglang:cached_tokens_total{model_name="m"} 7\nsglang:prompt_tokens_total{model_name="m"} 70\n'
    )
    seen = acceptance(sglang(text))
    assert (seen.rate, seen.length) == (None, 2.5)
    assert "verification steps" in seen.length_estimator
    assert sglang(text).prefix_hits_tok == 7


@pytest.mark.parametrize("release", ["0.28.0", "0.32.0"])
def test_texts_of_real_vllm_are_read(release: str) -> None:
    seen = vllm((DATA / f"vllm-{release}-metrics.txt").read_text(), "smol")
    assert None not in (seen.requests_finished, seen.generation_tokens, seen.prefix_queries_tok, seen.process_start_s)
    assert (seen.requests_running, seen.kv_cache_usage) == (0, 0.0)
    assert seen.accepted_tokens == sum(seen.accepted_per_position or ())
    assert not acceptance(seen).disagreement


def test_the_text_of_real_vllm_has_nothing_of_another_model() -> None:
    seen = vllm((DATA / "vllm-0.32.0-metrics.txt").read_text(), "embedder")
    assert (seen.requests_finished, seen.requests_running, seen.drafts) == (None, None, None)


def test_the_prefix_of_the_names_tells_an_unknown_server() -> None:
    for text, of in ((spec_lines(), "vllm"), ("llamacpp:tokens_predicted_total 1\n", "llamacpp")):
        found = metrics.any_counters(metrics.read(text), ("qwen38-27b",))
        assert found == (vllm(text) if of == "vllm" else llamacpp(text))


@given(st.lists(st.tuples(st.sampled_from("0123"), st.integers(0, 10**12)), min_size=1, unique_by=lambda pair: pair[0]))
def test_a_counter_over_engines_is_the_sum_of_its_parts(engines: list[tuple[str, int]]) -> None:
    text = "".join(f'vllm:prompt_tokens_total{{engine="{e}",model_name="m"}} {count}\n' for e, count in engines)
    assert vllm(text, "m").prompt_tokens == sum(count for _, count in engines)
