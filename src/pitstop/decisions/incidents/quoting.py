"""Text that users wrote: a log that repeats a prompt says nothing about the engine."""

from __future__ import annotations

import re

# What begins the commonest of these lines, for a look at the bytes alone.
REQUEST_LINES = (b"] Received request ", b"] Generated response ", b"obj=GenerateReqInput(")
# Lines of vLLM, SGLang, llama.cpp and gateways that repeat a request or an answer.
_QUOTES = re.compile(
    r"(?:Received|Added|Finished|Adding|Processing) request\b|Generated response"
    r"|GenerateReqInput\(|Receive: obj=|Finish: obj="
    r"|\b[Pp]rompt(?:_text)?[\"']?\s*[:=]|[\"'](?:messages|content|prompt|input|text|output|arguments|role)[\"']\s*:"
    r"|input_value=|\brequest (?:body|payload|data)\b|log_server_r|\boutput: ['\"]"
    r"|\b(?:user|assistant|client) (?:said|message|input)"
    r"|\btext='|\bchat_template\b|<\|im_start\|>|<\|user\|>",
)
_OPENED = re.compile(
    r"(?:[Pp]rompt|output|text|content|messages|input|body|payload|arguments)[\"']?\s*[:=]\s*\[?\{?(['\"])"
)
_QUOTED = re.compile(r"(?<!\w)(['\"`])(?:\\.|(?!\1).){0,20000}\1(?!\w)")


def quotes_a_user(text: str) -> bool:
    """Whether this line repeats what a client sent, or what a model answered."""
    return _QUOTES.search(text) is not None


def left_open(text: str) -> bool:
    """Whether the repeated text goes on in the next line: its quote is not closed in this one."""
    opened = None
    for match in _OPENED.finditer(text):
        opened = match
        break
    if opened is None:
        return text.rstrip().endswith((":", ": |", '"""', "```"))
    quote = re.escape(opened[1])
    return re.search(rf"(?<!\\){quote}\s*(?:[,)\]}}.]|$)", text[opened.end() :]) is None


def without_quotations(message: str) -> str:
    """The message with whatever stands in quotation marks blotted out, so that a cited sentence matches nothing."""
    return _QUOTED.sub("…", message)
