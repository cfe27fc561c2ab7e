import pytest

from pitstop.core.secrets import is_secret, masked


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
