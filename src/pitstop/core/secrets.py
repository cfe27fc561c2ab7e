"""Which environment variables carry secrets, judged by name, and how such a value is shown: not at all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

_SECRET = re.compile(
    r"(^|_)(KEYS?|TOKENS?|SECRETS?|PASS(WORD|WD|PHRASE)?|CREDENTIALS?|AUTH)($|_)|APIKEY", re.IGNORECASE
)
# Words of the trade that only look like one: a number of tokens is not a token.
_HARMLESS = re.compile(r"MAX_.*TOKENS|NUM_.*TOKENS|BATCHED_TOKENS|TOKENS_PER|TOKENIZERS?_|KEY_VALUE", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a variable of this name is treated as a secret."""
    return bool(_SECRET.search(name)) and not _HARMLESS.search(name)


def masked(env: Mapping[str, str]) -> dict[str, str]:
    """The same variables, with secret values replaced by a short hash that still tells two values apart."""
    return {name: f"<secret {short_hash(value)}>" if is_secret(name) else value for name, value in env.items()}


def short_hash(value: str) -> str:
    """Eight hex digits: enough to see that a secret changed, too few to attack a good one."""
    return hashlib.sha256(value.encode()).hexdigest()[:8]
