"""The nonce: the first tokens of every request, so that no prefix cache can have seen them.

A nonce is the decimal form of a hash over (seed, run id, counter), always of the same length. Why each part:

* the counter: no two requests of one run share their beginning, whichever ruler sends them, however often;
* the run id: no two runs share it either. Two arms of a trial with the same seed would otherwise send the same bytes,
  and a prefix cache that outlives the engine (on disk, or in a cache server) would serve the second arm what the first
  one computed;
* the seed: a run whose document is at hand can be sent again, byte for byte.

Both arms are treated alike because the form is alike: digits alone, as many of them in every nonce. Tokenizers either
split numbers digit by digit or in groups of up to three, so every nonce costs the same number of tokens.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

DIGITS = 16  # five tokens or more, so that two runs of 10,000 requests share one with a chance of one in 10^8


def nonce(seed: int, run_id: str, counter: int) -> str:
    """The `counter`-th nonce of a run: 16 decimal digits, the first one not zero."""
    digest = hashlib.sha256(f"{seed}\0{run_id}\0{counter}".encode()).digest()
    return str(10 ** (DIGITS - 1) + int.from_bytes(digest) % (9 * 10 ** (DIGITS - 1)))


@dataclass
class Nonces:
    """Hands out the nonces of one run, in order. One per run, shared by all of its rulers.

    The run id is drawn when none is given, so that whoever forgets it gets a cold cache and not a warm one.
    """

    seed: int = 1
    run_id: str = field(default_factory=lambda: secrets.token_hex(8))
    used: int = 0

    def next(self) -> str:
        self.used += 1
        return nonce(self.seed, self.run_id, self.used)
