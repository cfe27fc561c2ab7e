"""The physical limit of a decode figure: every token needs the active weights once through memory.

limit = bandwidth / bytes per token x mean accepted length. The KV cache's reads are left out, so the true limit is
lower still; a measured figure above this one cannot be right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Makers' peak figures are met to about 95 % at best, clocks are read to a few per cent: above this share it is an error
# of measurement or of the bytes that were told, not a fast engine.
PLAUSIBLE_SHARE = 1.0


@dataclass(frozen=True)
class Ceiling:
    """`tok_s` is the limit of one stream; `inputs` says what it was worked out from."""

    tok_s: float
    inputs: str

    def share(self, measured_tok_s: float) -> float:
        """The measured figure as a fraction of the limit."""
        return measured_tok_s / self.tok_s

    def doubt(self, measured_tok_s: float) -> str:
        """Why a figure cannot be right, or ""."""
        share = self.share(measured_tok_s)
        if not share > PLAUSIBLE_SHARE:
            return ""
        limit = f"{self.tok_s:.1f} tok/s: {self.inputs}"
        return f"{measured_tok_s:.1f} tok/s is {share:.0%} of what the memory can do ({limit})"


def ceiling(bandwidth_bytes_s: float, active_bytes: float, mean_accepted_length: float | None = None) -> Ceiling | None:
    """The limit of one stream, in tokens a second; None where an input is unknown or nonsense.

    `active_bytes` are the weights that one token reads. `mean_accepted_length` is that of the measured text, 1 without
    speculation; a draft model's own bytes are left out.
    """
    length = 1.0 if mean_accepted_length is None else mean_accepted_length
    known = (bandwidth_bytes_s, active_bytes, length)
    if not all(math.isfinite(value) and value > 0 for value in known):
        return None
    inputs = f"{bandwidth_bytes_s / 1e9:.0f} GB/s over {active_bytes / 1e9:.2f} GB a token"
    if length != 1.0:
        inputs += f", {length:.2f} tokens a step"
    return Ceiling(bandwidth_bytes_s / active_bytes * length, inputs)
