"""The methods of the two reports, whole, so that their owners can reproduce their tables."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.core.config.nearest import nearest
from pitstop.core.config.quality import Quality
from pitstop.core.errors import UsageError
from pitstop.rulers.ruler import Settings


@dataclass(frozen=True)
class Preset:
    """Rulers and settings together. `differs` says what cannot be as it was."""

    rulers: tuple[str, ...]
    settings: Settings
    differs: str


PRESETS = {
    # Second report, "Wie wir messen": up to 512 tokens, temperature 0, reasoning on, the first German prompt for a
    # single stream and the first eight for eight streams, three runs, medians; long inputs, thinking budget 64.
    "spark": Preset(
        rulers=("decode", "concurrency", "long-input", "mutual-load"),
        settings=Settings(
            runs=3,
            max_tokens=512,
            temperature=0.0,
            thinking=("on",),
            cases=("code/de/*",),
            prompt_order="first",
            concurrency=(1, 8),
            depths=(8000, 32000),
        ),
        differs=(
            "its ten prompts are not published, so these are others of the same kinds; every request opens with a "
            "nonce; decode_tok_s_seed is the report's formula; its long text was the beginning of Goethe's Werther "
            "(--text)"
        ),
    ),
    # First report, "What I measured": prose and code, thinking on and off, tokens from usage; prefill at 8,000 and
    # 30,000 tokens with a nonce, one token out, three runs after a warm-up.
    "swap": Preset(
        rulers=("decode", "prefill", "quality"),
        settings=Settings(
            runs=3,
            max_tokens=512,
            temperature=0.0,
            thinking=("off", "on"),
            pp=(8000, 30000),
            cases=("*/en/*",),
            quality=Quality(language="en", temperature=0.6, max_tokens=32_000, thinking="on", repeats=1),
        ),
        differs=(
            "its prompts and its 28 tasks are not published, so these are others of the same kinds, drawn by a seed"
        ),
    ),
}


def preset_for(name: str) -> Preset:
    """The preset of that name; UsageError for one that there is not, with the nearest known name."""
    if name not in PRESETS:
        raise UsageError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}{nearest(name, PRESETS)}")
    return PRESETS[name]
