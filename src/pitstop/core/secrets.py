"""Which settings are secrets, and what may be kept or shown of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

HIDDEN = "***"
_WORDS = "KEY|KEYS|TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIAL|CREDENTIALS|AUTH|COOKIE|BEARER"
_NAME = re.compile(rf"(?:^|[_.\-])(?:{_WORDS})(?:$|[_.\-])|APIKEY|ACCESSKEY|PRIVATEKEY", re.IGNORECASE)
# Tokens whose issuers gave them a recognisable beginning, and addresses with a password in them.
_VALUE = re.compile(r"^(?:hf_|sk-|ghp_|gho_|github_pat_|glpat-|nvapi-|xox[abp]-)\S{8,}|://[^/@\s:]+:[^/@\s]+@")
# The word ends the option's name: --hf-token takes a secret, --api-key-env, --password-file, --eos-token-id and
# vLLM's --long-prefill-token-threshold do not.
_OPTION = re.compile(
    rf"--?(?:[a-z0-9_.\-]*[_.\-])?(?:(?:{_WORDS})[_.\-]?\d*|\w*(?:api|access|private)key)", re.IGNORECASE
)


def is_secret(name: str, value: str = "") -> bool:
    """Whether a variable's value must not be shown or stored: by its name, or by what the value looks like.

    Whole words of the name count, so that TOKENIZERS_PARALLELISM and MAX_TOKENS are no secrets and HF_TOKEN is one.
    """
    return _NAME.search(name) is not None or _VALUE.search(value) is not None


def masked(env: Mapping[str, str]) -> dict[str, str]:
    """The same variables with secret values hidden."""
    return {name: HIDDEN if is_secret(name, value) else value for name, value in env.items()}


def digest(owner: str, name: str, value: str) -> str:
    """Sixteen hex digits by which two values can be told apart; slow to compute, so that guessing does not pay."""
    salt = f"pitstop/{owner}/{name}".encode()
    return hashlib.scrypt(value.encode(), salt=salt, n=2**13, r=8, p=1, dklen=8).hex()


def secret_words(words: Sequence[str]) -> list[int]:
    """The positions in a command line that hold a secret: a value after `--api-key`, or in NAME=VALUE."""
    return [at for at, word in enumerate(words) if _is_secret_word(words[at - 1] if at else "", word)]


def redacted(words: Sequence[str]) -> list[str]:
    """The command line as it may be shown."""
    hidden = set(secret_words(words))
    return [_hide(word) if at in hidden else word for at, word in enumerate(words)]


def _is_secret_word(before: str, word: str) -> bool:
    name, equals, value = word.partition("=")
    if equals and value and not value.startswith("$"):
        return (_names_secret(name) if name.startswith("-") else is_secret(name)) or bool(_VALUE.search(value))
    if _names_secret(before) and "=" not in before and not word.startswith("-"):
        return True
    return _VALUE.search(word) is not None


def _names_secret(option: str) -> bool:
    return _OPTION.fullmatch(option) is not None


def _hide(word: str) -> str:
    name, equals, _ = word.partition("=")
    return f"{name}={HIDDEN}" if equals else HIDDEN
