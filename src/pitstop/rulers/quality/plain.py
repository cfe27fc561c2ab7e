"""Takes LaTeX and Markdown off a text, and writes what has several spellings in one."""

from __future__ import annotations

import re

_VULGAR = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5",
    "⅙": "1/6", "⅚": "5/6", "⅐": "1/7", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8", "⅑": "1/9", "⅒": "1/10",
}  # fmt: skip
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_SIGNS = {
    "≥": r"\\geq?\b|>=", "≤": r"\\leq?\b|<=", "≠": r"\\neq?\b|!=", "±": r"\\pm\b", "√": r"\\sqrt\b", "π": r"\\pi\b",
    "×": r"\\(?:times|cdot)\b", "≈": r"\\(?:approx|simeq)\b", "€": r"\\euro\b|\\texteuro\b",
}  # fmt: skip
_N = r"\d[\d.,]*"
_ABOUT = r"approximately|approx\.?|about|roughly|circa|ca\.|etwa|ungefähr|rund"
_TEXT = (r"\\(?:text|textbf|mathrm|mathbf|mathit|operatorname|boxed|fbox)\s*\{([^{}]*)\}", r" \1 ")


def plain_text(text: str) -> str:
    """Text without LaTeX and Markdown: fractions as a/b, thin blanks, signs that keyboards have."""
    text = re.sub(r"(?<=10)[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda power: f"^{power[0].translate(_RAISED)}", text)
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    for sign, fraction in _VULGAR.items():
        text = text.replace(sign, f" {fraction}")
    return text.strip()


_PLAIN: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"~~[^~\n]*~~", " "),  # struck out
        (r"</?[a-z]{1,8} ?/?>", ""),
        (r"\.{3,}|\\[lc]?dots\b", "…"),
        (r"(?<=[a-z)])_\{[^{}]*\}", ""),  # an index
        (r"\^\{(-?\d+)\}", r"^\1"),
        (r"\\!", ""),
        (r"\{(?:\\[,;: ])\}", "\u2009"),
        (r"\{([,.])\}", r"\1"),
        _TEXT,
        (r"\\[dtc]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r" \1/\2 "),
        (r"\\[dtc]?frac\s*(\d)\s*(\d)", r" \1/\2 "),
        (r"\{([^{}\\]{1,40})\\over\b([^{}\\]{1,40})\}", r" \1/\2 "),
        (r"\\(?:[,;: ]|quad|qquad)|~", "\u2009"),
        _TEXT,
        (r"\\%", "%"),
        (r"=>", "→"),
        *((pattern, sign) for sign, pattern in _SIGNS.items()),
        (r"\\(?:left|right|displaystyle)\b|\\[()\[\]]|\$", " "),
        (r"[−–‒]", "-"),
        (r"[⁄÷]", "/"),  # the fraction slash, and the division sign
        (r"(?<=\d)\*\*(?=-?\d)", "^"),  # a power, not bold
        (r"\*\*|__|`", ""),
        (r"(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", ""),
        (r"\b(?:minus|negative)\s+(?=[\d.(])", "-"),
        (rf"-\s*\(\s*-\s*({_N}(?:\s*/\s*{_N})?)\s*\)", r"+\1"),
        (rf"(?<=[-+/])\s*\(\s*({_N}(?:\s*/\s*{_N})?)\s*\)", r"\1"),
        (rf"/\s*\(\s*-\s*({_N})\s*\)", r"/-\1"),
        (rf"\(\s*(-?\s*{_N})\s*\)(?=\s*/)", r"\1"),
        (r"(\d[.,]\d{0,20})\((\d{1,20})\)", r"\1\\overline{\2}"),  # 1.(6)
        ("(\\d)\u0305", r"\\overline{\1}"),
        (r"(\d)\s*(?:€|euros?)\s*(?:and|und)?\s*(\d\d)\s*(?:cents?|ct)\b", r"\1.\2 €"),
        (r"\bEUR(?=\d)", "EUR "),
        (r"(?<=\d)\s+out of\s+(?=\d)", "/"),
        (rf"(?:,|\b(?:or|oder|bzw)\b\.?)?[ ]*\b(?:{_ABOUT})\s+(?=[-\d.€])", " ≈ "),
    )
)
