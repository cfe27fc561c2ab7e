"""The options of `bench` that say how the quality ruler asks, over what the configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pitstop.core.config.quality import Quality
    from pitstop.rulers.presets import Preset

# Option: key of [quality]; None where the option was not given.
_KEYS = {
    "repeats": "repeats",
    "parallel": "parallel",
    "language": "language",
    "tasks": "tasks",
    "quality_temperature": "temperature",
    "quality_max_tokens": "max_tokens",
    "quality_thinking": "thinking",
}


def quality_of(configured: Quality, options: Mapping[str, Any], preset: Preset | None) -> Quality:
    """The configuration's, or a preset's in its own sandbox, under what was given by hand.

    UsageError for a word that an option does not take.
    """
    import msgspec

    from pitstop.core.config.quality import Quality
    from pitstop.core.errors import UsageError

    base = configured
    if preset is not None and "quality" in preset.rulers:
        base = msgspec.structs.replace(preset.settings.quality, sandbox=configured.sandbox)
    given = {key: options[option] for option, key in _KEYS.items() if options[option] is not None}
    told = {name: getattr(base, name) for name in Quality.__struct_fields__}
    try:
        kept = msgspec.convert({**given, "sandbox": {}}, Quality)
    except msgspec.ValidationError as error:
        raise UsageError(f"quality: {error}.", hint="`pitstop bench --help` lists what each option takes.") from error
    return Quality(**{**told, **{key: getattr(kept, key) for key in given}})
