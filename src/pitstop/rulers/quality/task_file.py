"""One file of a task of one's own. The schema is in docs/quality-tasks.md."""

from __future__ import annotations

import keyword
import math
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import msgspec

from pitstop.core.errors import UsageError
from pitstop.rulers.quality.keys import Call, CodeKey, Expected, Key, NumberKey, ToolKey, WordKey
from pitstop.rulers.quality.marking import mark_answer
from pitstop.rulers.quality.task import Instance, Kind, Language, Level
from pitstop.rulers.quality.units import unit_named

_MOST_DIGITS = 400  # as in numerals: longer ones are not read
HINT = "docs/quality-tasks.md describes the files."


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    number: str | int | float | None = None
    unit: str = ""
    words: list[str] = []
    options: dict[str, list[str]] | list[str] = []
    any_order: bool = False


class _Test(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    args: list[Any]
    value: Any = None
    raises: str = ""


class _Code(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    function: str
    tests: list[_Test]


class _Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    result: str = '{"ok": true}'


class _Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    description: str
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})


class _Tools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    offered: list[_Tool]
    calls: list[_Call] = []


class OwnTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: `prompt`, and `answer`, `code` or `tools` (with an `answer` after the calls, if one is wanted)."""

    prompt: str
    language: Language = "en"
    level: Literal["easy", "medium", "hard"] = "medium"
    answer: _Answer | None = None
    code: _Code | None = None
    tools: _Tools | None = None


def parse(text: str, name: str, where: str) -> Instance:
    """One task; UsageError in a sentence."""
    try:
        told = tomllib.loads(text)
        _only_json(told)
        task = msgspec.convert(told, OwnTask)
        kind, key = _key(task)
        _takes_its_own_answer(key, task.language)
    except RecursionError as error:
        raise UsageError(f"{where}: it is nested too deeply.", hint=HINT) from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"{where}: {str(error).rstrip('.')}.", hint=HINT) from error
    return Instance(f"{kind}/{task.language}/{name}", kind, Level(task.level), task.language, task.prompt.strip(), key)


def _only_json(told: Any) -> None:
    """Everything here is sent or compared as JSON, which has neither dates nor infinity."""
    if isinstance(told, dict):
        told = list(told.values())
    if isinstance(told, list):
        for one in told:
            _only_json(one)
    elif not isinstance(told, str | int | float) or (isinstance(told, float) and not math.isfinite(told)):
        raise ValueError(f"{told} cannot be written as JSON; put it into quotes if a text is meant")


def _key(task: OwnTask) -> tuple[Kind, Key]:
    if not task.prompt.strip():
        raise ValueError("`prompt` is empty")
    if task.code is not None and task.answer is None and task.tools is None:
        return Kind.CODE, _code(task.code)
    if task.tools is not None and task.code is None:
        return Kind.TOOLS, _tools(task.tools, task.answer)
    if task.answer is not None and task.code is None:
        return Kind.MATH, _answer(task.answer)
    raise ValueError("a task has [answer], [code], or [tools] with or without [answer]")


def _takes_its_own_answer(key: Key, language: Language) -> None:
    """A task that no reply can pass says nothing of an engine; here one that states the answer must pass."""
    wanted = key.then if isinstance(key, ToolKey) else key
    if isinstance(wanted, CodeKey) or wanted is None:
        return
    mark = mark_answer(wanted, f"Answer: {wanted.words}", language)
    if not mark.right:
        raise ValueError(f"a reply of `Answer: {wanted.words[:80]}` would not be right ({mark.reason[:80]})")


def _answer(answer: _Answer) -> NumberKey | WordKey:
    if (answer.number is None) == (not answer.words):
        raise ValueError("[answer] has `number` or `words`")
    if answer.number is not None:
        if answer.options or answer.any_order:
            raise ValueError("`options` and `any_order` belong to `words`, and there is a `number`")
        if answer.unit and unit_named(answer.unit) is None:
            raise ValueError(f"the unit {answer.unit!r} is not known")
        return NumberKey(_number(answer.number), answer.unit)
    if answer.unit:
        raise ValueError("`unit` belongs to a `number`, and there are `words`")
    return _words(answer)


def _words(answer: _Answer) -> WordKey:
    options = answer.options if isinstance(answer.options, dict) else {word: [] for word in answer.options}
    spellings = {_spelling(word): tuple(map(_spelling, forms)) for word, forms in options.items()}
    words = tuple(map(_spelling, answer.words))
    missing = [word for word in words if word not in spellings]
    if missing:
        raise ValueError(f"`words` names {missing[0]!r}, which is none of the `options`")
    _tell_apart(spellings)
    return WordKey(words, spellings, ordered=not answer.any_order)


def _spelling(word: str) -> str:
    """As replies write it: single blanks, and `ü` as one character."""
    return " ".join(unicodedata.normalize("NFC", word).split())


def _number(told: str | float) -> Fraction:
    power = re.search(r"[eE]([-+]?\d+)", str(told))
    if power and abs(int(power[1])) > _MOST_DIGITS:
        raise ValueError(f"`number` is {told!r}; more than {_MOST_DIGITS} digits are not read in an answer")
    try:
        return Fraction(str(told).replace(" ", ""))
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(f'`number` is {told!r}; it is written as in 12, 12.5 or "3/4"') from error


def _tell_apart(spellings: Mapping[str, Sequence[str]]) -> None:
    """Each spelling must name one option, or an answer with it could not be judged."""
    named: dict[str, str] = {}
    for option, forms in spellings.items():
        for spelling in (option, *forms):
            if not spelling.strip():
                raise ValueError(f"one of the spellings of {option!r} is empty")
            if named.setdefault(spelling.casefold(), option) != option:
                raise ValueError(f"{spelling!r} may mean {named[spelling.casefold()]!r} and {option!r}")


def _code(code: _Code) -> CodeKey:
    if not code.function.isidentifier() or keyword.iskeyword(code.function):
        raise ValueError(f"{code.function!r} is no name of a function")
    if not code.tests:
        raise ValueError("[code] has no tests")
    if any(test.raises and test.value is not None for test in code.tests):
        raise ValueError("a test has `value` or `raises`, not both")
    nameless = [test.raises for test in code.tests if test.raises and not test.raises.isidentifier()]
    if nameless:
        raise ValueError(f"`raises` is {nameless[0]!r}; it is the name of an exception, as in ValueError")
    expected = tuple(Expected(test.value, test.raises) for test in code.tests)
    return CodeKey(code.function, tuple(tuple(test.args) for test in code.tests), expected)


def _tools(tools: _Tools, answer: _Answer | None) -> ToolKey:
    if not tools.offered:
        raise ValueError("[tools] offers no tool")
    unfit = [tool.name for tool in tools.offered if not re.fullmatch(r"[\w-]{1,64}", tool.name, re.ASCII)]
    if unfit:
        raise ValueError(f"{unfit[0]!r} is no name of a tool: letters, digits, _ and - are, up to 64")
    names = [tool.name for tool in tools.offered]
    if len(set(names)) < len(names):
        raise ValueError(f"two tools are called {max(names, key=names.count)!r}")
    unknown = [call.name for call in tools.calls if call.name not in names]
    if unknown:
        raise ValueError(f"the call of {unknown[0]!r} is of no tool that is offered")
    calls = tuple(Call(call.name, call.arguments, call.optional, call.result) for call in tools.calls)
    return ToolKey(calls, tuple(_offered(tools.offered)), _answer(answer) if answer else None)


def _offered(tools: list[_Tool]) -> Iterator[dict[str, Any]]:
    for tool in tools:
        function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        yield {"type": "function", "function": function}
