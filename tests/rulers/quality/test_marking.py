"""Every right form is taken, and no wrong one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.rulers.quality.answers import put_forward
from pitstop.rulers.quality.keys import NumberKey, WordKey
from pitstop.rulers.quality.logic import BACKWARDS, HONEST
from pitstop.rulers.quality.marking import mark_answer
from support.solver import decimal, forms

F = Fraction
DAYS = WordKey(("Friday",), {"Friday": ("Freitag",), "Monday": ("Montag",), "Sunday": ("Sonntag",)})
ROW = WordKey(("Ada", "Ben", "Ida"), {"Ada": (), "Ben": (), "Ida": ()}, against=BACKWARDS)
LIARS = WordKey(("Ada", "Ben"), {"Ada": (), "Ben": (), "Ida": ()}, ordered=False, against=HONEST)

RIGHT = [
    (
        F(12),
        "",
        "en",
        [
            "12",
            "The sum of 7 and 5 is 12.",
            "7 + 5 = 12",
            "Answer: 12 apples",
            "**Answer:** **12**",
            "Answer: 12.0",
            "first 5\n\n\\[\\boxed{12}\\]",
            "Answer: 12 (3 × 4)",
            "Answer: 3 × 4 = 12",
            "Answer: twelve",
            "<think>13</think>\nAnswer: 12.",
            "Answer:\n12",
            "### Answer\n\nThe final answer is $12$.",
            "**Final Answer**\n\\[ \\boxed{12} \\]",
            "Answer: x = 12",
            "Answer: +12",
            "Answer: 13\nWait.\nAnswer: 12",
            "Answer: `12`",
            "Answer: 1.2e1",
            "Answer: 12 = 24/2",
            "Answer: 1.2 × 10^1",
        ],
    ),
    (
        F(3, 4),
        "",
        "en",
        [
            "$\\boxed{\\dfrac{3}{4}}$",
            "Answer: 0.75",
            "Answer: .75",
            "Answer: 75%",
            "Answer: 75 \\%",
            "Answer: 6/8",
            "Answer: ¾",
            "Answer: \\frac34",
            "Answer: 3/4 (that is 0.75)",
            "Answer: 0.75 = 3/4",
        ],
    ),
    (F(3, 4), "", "de", ["Antwort: 0,75", "Antwort: **3/4**", "Die Antwort lautet 0,75.", "Ergebnis: 75 Prozent"]),
    (F(7, 2), "", "en", ["Answer: 3 1/2", "Answer: 3½", "Answer: 3\\frac{1}{2}", "Answer: x = 7/2"]),
    (F(1234567), "", "de", ["Antwort: 1.234.567", "Antwort: 1 234 567", "Antwort: 1234567"]),
    (F(1234), "", "de", ["Antwort: 1.234", "Antwort: 1.234,00"]),
    (
        F(1234567),
        "",
        "en",
        ["Answer: 1,234,567", "Answer: $1{,}234{,}567$", "Answer: $1\\,234\\,567$", "Answer: 1_234_567"],
    ),
    (
        F(20),
        "m/s",
        "en",
        [
            "Answer: 20 m/s",
            "Answer: 72 km/h",
            "\\boxed{20\\ \\text{m/s}}",
            "$\\boxed{20}$ m/s",
            "Answer: 20",
            "Answer: 20 meters per second",
            "Answer: $20\\,\\mathrm{m\\,s^{-1}}$",
        ],
    ),
    (F(20), "m/s", "de", ["Antwort: 20 Meter pro Sekunde.", "**Antwort: 20 m/s**"]),
    (F(25, 2), "€", "de", ["Antwort: 12,50 Euro", "Antwort: **12,50 €**", "Antwort: 1250 Cent", "Antwort: 12.50 EUR"]),
    (F(25, 2), "€", "en", ["Answer: €12.50", "Answer: EUR 12.50", "Answer: 12.5 euros"]),
    (
        F(5, 12),
        "",
        "en",
        ["Answer: 5/12 ≈ 0.4167", "Answer: 0.4167", "Answer: 0.41\\overline{6}", "Answer: 0.416666667"],
    ),
    (F(-7, 3), "", "en", ["Answer: x = -7/3", "x = $-\\frac{7}{3}$", "Answer: −7/3"]),
]
WRONG = [
    (
        F(12),
        "",
        "en",
        [
            "The answer is not 12.",
            "Answer: 12 or 13",
            "Answer: 12 (or 13)",
            "Answer: -12",
            "Answer: 120",
            "Answer: 1,2",
            "Answer: 12%",
            "Answer: 12 km",
            "12 is what I first thought. Answer: 13",
            "",
            "Answer:",
            "7 and 5",
            "12 apples, 13 pears",
            "Answer: 12 = 13",
            "Answer: 7+5",
            "Answer: eleven",
            "Answer: 1/0",
            "Answer: 12-13",
            "Answer: 12,13",
            "<think>Answer: 12",
            "Answer: x12",
            "Answer: 12e1",
            "Answer: 12 = 3 × 5 = 15",
            "Answer: it is 12 and it is 13",
            "Answer: 12 is wrong",
            "Answer: 0.12",
            "Answer: 12/1/2",
        ],
    ),
    (F(20), "m/s", "en", ["Answer: 20 km/h", "Answer: 20 m", "Answer: 20 s", "Answer: 72"]),
    (F(3, 4), "", "en", ["Answer: 4/3", "Answer: 0.7", "Answer: 75", "Answer: 3.4", "Answer: 3, 4"]),
    (F(5, 12), "", "en", ["Answer: 0.42", "Answer: 0.4166", "Answer: 0.417", "Answer: 5.12"]),
    (F(1234), "", "en", ["Answer: 1.234", "Answer: 12,34", "Answer: 1,23,4"]),
    (F(25, 2), "€", "en", ["Answer: 12.50 %", "Answer: 12.05 €", "Answer: 1250", "Answer: 12.50 cents"]),
]
RIGHT += [
    (
        F(12),
        "",
        "en",
        [
            "Answer: 13, no wait, 12",
            "The answer is 13. Wait, no, it is 12.",
            "Answer: 13\n\nNo wait, that is wrong. It is 12.",
            "The answer is 12, not 13.",
            "Answer: 12 (not 13)",
            "12 is the answer.",
            "Answer - 12",
            "Answer: 12!",
            "Answer: the sum of 7 and 5 is 12",
            "Answer: 7 plus 5 equals 12",
            "Answer: ~~13~~ 12",
            "Answer: 12\n\nThe result is the sum of 7 and 5.",
            "Answer: 12\n\nSo the answer is correct.",
            "7 + 5 = 12\n\nI hope this helps!",
            "Is it 13? No, it is 12.",
            "<answer>12</answer>",
        ],
    ),
    (F(12), "", "de", ["Antwort: 13. Moment, nein, 12.", "Antwort: 13\nDas ist falsch. Antwort: 12"]),
    (F(30), "€", "en", ["Answer: thirty euros", "Ada pays 30 euros for 6 notebooks."]),
    (F(21), "", "de", ["Antwort: einundzwanzig"]),
    (F(62), "", "en", ["After 30 rounds, x = 62.", "x is 62 after 30 rounds.", "Answer: x_{30} = 62"]),
    (
        F(5, 3),
        "",
        "en",
        [
            "Answer: 5/3 ≈ 1.67",
            "Answer: x = 5/3 or approximately 1.67",
            "Answer: 5/3 which is about 1.667",
            "Answer: 1.666...",
            "Answer: 1.6666…",
            "Answer: 1.(6)",
            "Answer: 1.666666666666",
            "Answer: {5 \\over 3}",
            "Answer: 5÷3",
            "Answer: \\frac{-5}{-3}",
            "Answer: -(-5/3)",
            "Answer: (5)/(3)",
            "Answer: <sup>5</sup>/<sub>3</sub>",
        ],
    ),
    (
        F(-5, 3),
        "",
        "en",
        ["Answer: minus 5/3", "Answer: \\frac{5}{-3}", "Answer: (-5)/3", "Answer: x = - \\frac{5}{3}"],
    ),
    (F(1512, 5), "€", "en", ["Answer: EUR302.40", "Answer: 302 euros and 40 cents"]),
    (
        F(25, 2),
        "m/s",
        "en",
        ["Answer: 750 m/min", "Answer: 12.5\\,\\frac{\\text{m}}{\\text{s}}", "Answer: 12.5 m.s^-1"],
    ),
    (F(25, 2), "m/s", "de", ["Antwort: 45 Stundenkilometer"]),
    (F(41, 91), "", "en", ["Answer: 41 out of 91", "Answer: 41/91 or about 45.1%", "Answer: 41/91 ≈ 45 %"]),
    (
        F(10**13),
        "",
        "en",
        ["Answer: 10\\!,000\\!,000\\!,000\\!,000", "Answer: 1 × 10¹³", "Answer: 10{\\,}000{\\,}000{\\,}000{\\,}000"],
    ),
]
WRONG += [
    (
        F(12),
        "",
        "en",
        [
            f"Answer: {one}"
            for one in (
                ">12", "≥ 12", "\\leq 12", "x != 12", "±12", "\\pm 12", "at least 12", "more than 12", "minus 12",
                "minus twelve", "√12", "\\sqrt{12}", "12²", "12^2", "12x", "12k", "12 thousand", "12 Mio",
                "twelve hundred", "half of 12", "twice 12", "12 squared", "12 halves", "12 and a half", "12 + x",
                "anything but 12", "I don't know, 12?", "x = 13, y = 12", "12. Wait, actually 13.",
                "12\nCorrection: 13", "12\n\nActually, that's wrong. It is 13.", "12\n\nI made a mistake. 7 + 6 = 13.",
                "12\n\nAnswer: 13",
            )
        ],
    ),
    (F(13), "", "en", ["\\boxed{12} or \\boxed{13}"]),
    (F(5, 3), "", "en", ["Answer: 5/3 ≈ 1.76", "Answer: 5/3 = 1.67", "Answer: 5/3²", "Answer: 1.66…1"]),
    (
        F(25, 2),
        "m/s",
        "en",
        [
            f"Answer: 12.5 {unit}"
            for unit in ("mph", "cm/s", "m/min", "ft/s", "knots", "m/s²", "s/m", "\\frac{\\text{km}}{\\text{h}}")
        ]
        + ["\\boxed{12.5}\\,\\text{km/h}"],
    ),
    (F(30), "€", "en", ["Answer: 30 dollars", "Answer: £30", "Answer: 30 million euros", "Answer: thirty cents"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "unit", "language", "reply"), [(*case[:3], reply) for case in RIGHT for reply in case[3]]
)
def test_a_right_number_is_right_however_it_is_written(value, unit, language, reply):
    assert mark_answer(NumberKey(value, unit), reply, language).right


@pytest.mark.parametrize(
    ("value", "unit", "language", "reply"), [(*case[:3], reply) for case in WRONG for reply in case[3]]
)
def test_a_wrong_number_is_wrong_however_near_it_looks(value, unit, language, reply):
    assert not mark_answer(NumberKey(value, unit), reply, language).right


@pytest.mark.parametrize(
    ("key", "reply", "right"),
    [
        (DAYS, "Answer: Friday", True),
        (DAYS, "Antwort: Freitag", True),
        (DAYS, "After Monday come four days, so it is **Friday**.", True),
        (DAYS, "Answer: Friday or Monday", False),
        (DAYS, "Answer: not Friday", False),
        (DAYS, "Answer: Fridays", False),
        (DAYS, "Answer: Monday", False),
        (DAYS, "Answer: someday", False),
        (ROW, "Answer: Ada, Ben, Ida", True),
        (ROW, "Answer: Ada – Ben – Ida", True),
        (ROW, "Answer: Ida, Ben, Ada", False),
        (ROW, "Answer: Ada, Ben", False),
        (LIARS, "Answer: Ben, Ada", True),
        (LIARS, "Answer: Ben and Ada", True),
        (LIARS, "Answer: Ben, Ada, Ida", False),
        (LIARS, "Answer: Ben", False),
        (DAYS, "Answer: Friday, not Monday", True),
        (DAYS, "If today is Monday, it will be Friday.", True),
        (DAYS, "Answer: Monday + 4 days = Friday", True),
        (DAYS, "Friday is 4 days from Monday.", True),
        (DAYS, "Answer: the day after Friday", False),
        (DAYS, "Answer: Friday + 1", False),
        (DAYS, "Answer: every day except Friday", False),
        (DAYS, "Answer: Friday\n\nWait, that is wrong, it is Sunday.", False),
        (DAYS, "Answer: weder Freitag noch Montag", False),
        (ROW, "Answer: 1. Ada 2. Ben 3. Ida", True),
        (ROW, "Answer:\n1. Ada\n2. Ben\n3. Ida", True),
        (ROW, "Answer:\nAda\nBen\nIda\n\nIda is last.", True),
        (ROW, "Answer: Ada, Ben, Ida, Ada", False),
        (ROW, "Answer: Ada, Ben, Ida (from right to left)", False),
        (LIARS, "Ada and Ben are the liars.", True),
        (LIARS, "The liars are Ada and Ben; the rest tell the truth.", True),
        (LIARS, "Answer: Ada and Ben tell the truth", False),
        (LIARS, "Answer: neither Ada nor Ben", False),
        (LIARS, "Answer: Ada or Ben", False),
    ],
)
def test_words_are_right_when_they_are_those_and_no_others(key, reply, right):
    assert mark_answer(key, reply, "en").right is right


numbers = st.fractions(min_value=-10_000, max_value=10_000, max_denominator=40)
units = st.sampled_from(["", "m/s", "€", "km", "%"])
openings = st.sampled_from(["Answer: ", "**Answer:** ", "So the final answer is ", "Some work 3 × 4.\n\nAnswer: "])


@given(numbers, units, st.sampled_from(["en", "de"]), openings, st.data())
def test_every_written_form_of_a_number_is_taken(value, unit, language, opening, data):
    key = NumberKey(value, unit)
    reply = opening + data.draw(st.sampled_from(forms(key, language)))
    assert mark_answer(key, reply, language).right, reply


@given(numbers, numbers, units, st.sampled_from(["en", "de"]), openings, st.data())
def test_no_written_form_of_another_number_is_taken(value, other, unit, language, opening, data):
    """But for German thousands and decimals, which are written alike, and for what rounds to four places."""
    key = NumberKey(value, unit)
    reply = opening + data.draw(st.sampled_from(forms(NumberKey(other, unit), language)))
    near = abs(value - other) < F(1, 1000) or other in (value * 1000, value / 1000)
    if not near:
        assert not mark_answer(key, reply, language).right, reply


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_two_different_answers_are_none(one, other):
    if one != other:
        assert not mark_answer(NumberKey(F(one)), f"Answer: {one} or {other}", "en").right
        assert not mark_answer(NumberKey(F(one)), f"Answer: {one}, {other}", "en").right or other < 1000


@given(st.text(max_size=300), numbers, st.sampled_from(["en", "de"]))
def test_nothing_that_is_said_breaks_the_judge(text, value, language):
    mark_answer(NumberKey(value, "€"), text, language)
    mark_answer(ROW, text, language)


HOSTILE = (
    "Wait, no. ",
    "1. a\n",
    "that is wrong 1 ",
    "12 is ",
    "1",
    "1,",
    "Answer: ",
    "\\boxed{",
    "(",
    "1/",
    "*",
    "is ",
    "1 ",
    "\\frac{1}{",
    "\\overline{",
    "= ",
    "€ ",
)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("opening", ["", "Answer: "])
def test_a_hostile_reply_is_judged_in_a_moment(opening, piece):
    mark_answer(NumberKey(F(12)), opening + piece * 20_000, "en")
    mark_answer(NumberKey(F(12)), opening + piece * 60, "de")


def test_a_decimal_is_written_exactly():
    assert [decimal(F(1, 8)), decimal(F(-5, 2), ","), decimal(F(3))] == ["0.125", "-2,5", "3"]


def test_what_is_taken_for_the_answer_can_be_shown():
    assert put_forward("We get $7 \\times 5$.\n\nAnswer: $\\boxed{35}$ km").split() == ["35", "km"]


COMPOUND = [
    ("125 min", "de", ["2 h 5 min", "2 Stunden und 5 Minuten", "2 h und 5 min", "2h 5min"]),
    ("7.5 h", "en", ["7 h 30 min", "7 hours and 30 minutes", "7 h 30 min 0 s", "450 min"]),
    ("3725 s", "en", ["1 h 2 min 5 s", "62 min 5 s"]),
    ("1.2 m", "en", ["1 m 20 cm", "1 m and 20 cm"]),
    ("3.25 kg", "de", ["3 kg 250 g", "3 Kilo und 250 Gramm"]),
]
NOT_COMPOUND = [
    (
        "125 min",
        "de",
        ["2 h", "5 min", "2 h 6 min", "2 h, 5 min", "2 h 65 min", "5 min 2 h", "2 h oder 5 min", "1,5 h 35 min"],
    ),
    ("7.5 h", "en", ["7 h 5 min", "7 h 30 s", "7 kg 30 min", "7 h or 30 min", "-7 h 30 min"]),
    ("5 min", "en", ["2 h 5 min"]),
    ("2 h", "en", ["2 h 5 min"]),
]


def quantity(told):
    value, _, unit = told.partition(" ")
    return NumberKey(F(value), unit)


@pytest.mark.parametrize(("key", "language", "said"), [(k, lang, one) for k, lang, some in COMPOUND for one in some])
def test_a_quantity_in_two_units_is_one_number(key, language, said):
    mark = mark_answer(quantity(key), f"Answer: {said}", language)
    assert mark.right, (mark.got, mark.reason)


@pytest.mark.parametrize(
    ("key", "language", "said"), [(k, lang, one) for k, lang, some in NOT_COMPOUND for one in some]
)
def test_two_quantities_are_not_one(key, language, said):
    assert not mark_answer(quantity(key), f"Answer: {said}", language).right


@pytest.mark.parametrize("said", ["10^6", "$10^6$", "10**6", "10⁶", "1 × 10^6", "10^{6}"])
def test_a_power_of_ten_is_a_number(said):
    assert mark_answer(NumberKey(F(10**6)), f"Answer: {said}", "en").right


@pytest.mark.parametrize(
    "said", ["10^5", "n · 10^6", "n*10^6", "2^10^6", "10^6^2", "10^6x", "√10^6", "1/10^6", "10^6.5", "5 · 10^6"]
)
def test_a_part_of_another_number_is_no_power_of_ten(said):
    assert not mark_answer(NumberKey(F(10**6)), f"Answer: {said}", "en").right
