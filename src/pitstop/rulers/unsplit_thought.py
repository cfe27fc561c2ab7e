"""A thought that stands in the answer, because no parser of the server split it off."""

from __future__ import annotations

import re

# As the templates have them: Qwen, DeepSeek, GLM, MiniMax (think), Seed, Magistral, Kimi, OpenThinker, Apertus, gpt-oss
# (harmony, whose next channel ends the thought), Gemma; and what models are told in prompts.
_BEGIN = re.compile(
    r"<(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|inner_prefix\|>"
    r"|<\|channel\|>analysis\b|<\|channel>thought\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"</(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|inner_suffix\|>"
    r"|<\|channel\|>(?:final\b(?:<\|message\|>)?|commentary\b)|<channel\|>",
    re.IGNORECASE,
)
_BARE_HARMONY = re.compile(r"\Aanalysis.*assistantfinal", re.DOTALL)  # gpt-oss without its special tokens


def without_thought(answer: str) -> str:
    """What was answered, without blanks around. A thought that was never closed swallows the rest."""
    rest = _BARE_HARMONY.sub("", answer)
    ends = [match.end() for match in _END.finditer(rest)]
    rest = rest[ends[-1] :] if ends else rest
    return _BEGIN.split(rest, maxsplit=1)[0].strip()


def holds_thought(answer: str) -> bool:
    return bool(_BEGIN.search(answer) or _END.search(answer))
