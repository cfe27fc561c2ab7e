import pytest

from pitstop.core.secrets import is_secret, masked, redacted, secret_words


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "API_KEY", "OPENAI_API_KEY", "DB_PASSWORD", "aws_secret_access_key", "VLLM_API_KEY"]
)
def test_names_that_carry_secrets_are_known(name):
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["MTP_K", "MAX_NUM_BATCHED_TOKENS", "TOKENIZERS_PARALLELISM", "MONKEY", "PATH", "KEYBOARD"]
)
def test_names_of_the_trade_are_no_secrets(name):
    assert not is_secret(name)


def test_a_masked_value_is_gone_and_the_rest_stays():
    shown = masked({"HF_TOKEN": "hf_one", "A": "b", "URL": "https://me:geheim@host/"})
    assert "hf_one" not in str(shown)
    assert "geheim" not in str(shown)
    assert shown["A"] == "b"


@pytest.mark.parametrize(
    "option",
    ["--api-key", "--hf-token", "--token", "-hf_token", "--auth.password", "--apikey", "--access-key-2", "--pass"],
)
def test_an_option_whose_name_ends_in_such_a_word_takes_a_secret(option):
    assert redacted(["serve", option, "geheim", "--port", "1"]) == ["serve", option, "***", "--port", "1"]
    assert redacted(["serve", f"{option}=geheim"]) == ["serve", f"{option}=***"]


@pytest.mark.parametrize(
    "option",
    [
        "--api-key-env", "--password-file", "--ssl-keyfile", "--long-prefill-token-threshold", "--eos-token-id",
        "--speculative-token-map", "--max-num-batched-tokens", "--tokenizer", "--author", "--key-value",
    ],
)  # fmt: skip
def test_options_of_the_trade_take_none(option):
    assert secret_words(["serve", option, "x1"]) == []
    assert secret_words(["serve", f"{option}=x1"]) == []


def test_variables_on_a_command_line_and_tokens_with_a_known_beginning_are_hidden():
    shown = redacted(["docker", "run", "-e", "HF_TOKEN=geheim", "-e", "A=$HF_TOKEN", "hf_abcdefghijkl"])
    assert shown == ["docker", "run", "-e", "HF_TOKEN=***", "-e", "A=$HF_TOKEN", "***"]
