"""Right answers to the tasks of the quality ruler, found without their generators' help: the code solves by itself."""

from __future__ import annotations

import textwrap
from fractions import Fraction

from pitstop.rulers.quality.keys import NumberKey, WordKey, terminates


def decimal(value: Fraction, mark: str = ".") -> str:
    """An exact decimal, where there is one."""
    assert terminates(value)
    sign, rest = "-" if value < 0 else "", abs(value)
    whole, part, places = rest.numerator // rest.denominator, rest % 1, ""
    while part:
        part *= 10
        places += str(part.numerator // part.denominator)
        part %= 1
    return f"{sign}{whole}{mark}{places}" if places else f"{sign}{whole}"


def grouped(value: int, mark: str) -> str:
    """1234567 as 1,234,567."""
    return f"{value:,}".replace(",", mark)


def forms(key: NumberKey | WordKey, language: str) -> list[str]:
    """Ways in which a person or a model writes the right answer, as the end of a reply."""
    if isinstance(key, WordKey):
        told = ", ".join(key.right)
        return [told, f"**{told}**", told.replace(", ", " , "), f"{told}."]
    value, written = key.value, []
    mark = "," if language == "de" else "."
    if terminates(value):
        written += [decimal(value, mark), decimal(value, "."), f"{decimal(value, mark)}."]
    if value.denominator == 1 and abs(value) >= 1000:
        written += [
            grouped(int(value), sep) for sep in ("." if language == "de" else ",", "\u202f", "\u00a0", "{,}", "'")
        ]
    else:
        top, bottom = value.numerator, value.denominator
        sign = "-" if top < 0 else ""
        written += [f"{top}/{bottom}", f"{sign}\\frac{{{abs(top)}}}{{{bottom}}}", f"{3 * top}/{3 * bottom}"]
    united = [f"{one.rstrip('.')} {key.unit}" for one in written] if key.unit else []
    boxed = [f"\\boxed{{{one.rstrip('.')}}}" for one in written]
    return [*written, *united, *boxed, *(f"${one.rstrip('.')}$" for one in written), *(f"**{one}**" for one in written)]


def fenced(code: str) -> str:
    return f"Here it is:\n\n```python\n{textwrap.dedent(code).strip()}\n```\nThat is all.\n"
