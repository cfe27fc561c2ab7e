"""Options that prose is not read as: right answers are right, whatever the words are, and wrong ones stay wrong."""

import pytest

from pitstop.rulers.quality.keys import WordKey
from pitstop.rulers.quality.marking import mark_answer
from pitstop.rulers.quality.stand_ins import stand_ins
from pitstop.rulers.quality.task_set import task_set
from pitstop.rulers.ruler import Settings


def key(right, *options, ordered=True):
    return WordKey(tuple(right.split("|")), dict.fromkeys(options, ()), ordered)


TRUTH = ("richtig", "falsch")
PROOF = ("correct", "incorrect")
KNOWN = ("yes", "no", "cannot be determined")
RIGHT = [
    (
        key("falsch", *TRUTH),
        "de",
        ["Antwort: falsch", "Falsch.", "Die Aussage ist falsch.", "**Antwort:** Falsch, nicht richtig"],
    ),
    (key("incorrect", *PROOF), "en", ["Answer: incorrect", "The proof is incorrect.", r"\boxed{\text{incorrect}}"]),
    (key("correct", *PROOF), "en", ["Answer: correct", "Answer: incorrect\nNo wait, I misread it.\nAnswer: correct"]),
    (
        key("cannot be determined", *KNOWN),
        "en",
        ["Answer: Cannot be determined.", r"\boxed{\text{cannot be  determined}}"],
    ),
    (key("no", *KNOWN), "en", ["Answer: no", "Is 9 prime? No, 9 = 3·3.", "Answer: No, since 9 = 3 * 3"]),
    (key("keine", "eine", "keine"), "de", ["Antwort: keine", "Antwort: Keine."]),
    (key("never", "always", "never"), "en", ["Answer: never", "It is never."]),
    (key("nicht entscheidbar", "wahr", "falsch", "nicht entscheidbar"), "de", ["Antwort: nicht entscheidbar"]),
    (
        key("__init__", "__init__", "__new__"),
        "en",
        ["Answer: __init__", "Answer: `__init__`", "**Answer:** `__init__`"],
    ),
    (key("O(n^2)", "O(n)", "O(n^2)", "O(n log n)"), "en", ["Answer: O(n^2)", "Answer: $O(n^2)$", "It is O(n^2)."]),
    (key("A–B", "A–B", "B–A"), "en", ["Answer: A–B", "Answer: A-B"]),
    (key("x = 3", "x = 3", "x = 4"), "en", ["Answer: x = 3", "Answer: $x = 3$"]),
    (key(">=", ">=", "<="), "en", ["Answer: >=", "Answer: `>=`"]),
    (key("wrong|right", "right", "wrong"), "en", ["Answer: wrong, right"]),
    (key("B", "A", "B", "C"), "en", ["(B) Paris", "Answer: (B) Paris", "Answer: B"]),
    (key("Zürich", "Zürich", "Bern"), "de", ["Antwort: Zu\u0308rich"]),
]
WRONG = [
    (
        key("falsch", *TRUTH),
        "de",
        ["Antwort: richtig", "Nicht falsch.", "Antwort: falsch oder richtig", "Antwort: richtig, nicht falsch"],
    ),
    (key("richtig", *TRUTH), "de", ["Das ist nicht richtig.", "Antwort: falsch", "richtig\n\nAntwort: falsch"]),
    (
        key("correct", *PROOF),
        "en",
        [
            "Answer: incorrect",
            "It is not correct.",
            "Answer: correct or incorrect",
            "Answer: correct\nOops.\nAnswer: incorrect",
        ],
    ),
    (key("yes", *KNOWN), "en", ["Answer: cannot be determined", "Answer: no", "Answer: not yes", "Answer: yes or no"]),
    (key("no", *KNOWN), "en", ["Answer: yes, 9 = 3·3", "Answer: unknown"]),
    (
        key("O(n)", "O(n)", "O(n^2)", "O(n log n)"),
        "en",
        ["Answer: O(n^2)", "Answer: O(n log n)", "Answer: O(n) or O(n^2)"],
    ),
    (key("__new__", "__init__", "__new__"), "en", ["Answer: __init__", "Answer: __new__ or __init__"]),
    (key("B", "A", "B", "C"), "en", ["(A) Paris", "Paris (not B)", "A (B is wrong)"]),
]


@pytest.mark.parametrize(("wanted", "language", "reply"), [(k, lang, one) for k, lang, some in RIGHT for one in some])
def test_an_option_that_says_something_else_in_prose_is_right(wanted, language, reply):
    mark = mark_answer(wanted, reply, language)
    assert mark.right, (mark.got, mark.reason)
    assert "Qz" not in mark.got


@pytest.mark.parametrize(("wanted", "language", "reply"), [(k, lang, one) for k, lang, some in WRONG for one in some])
def test_no_other_option_passes_for_it(wanted, language, reply):
    assert not mark_answer(wanted, reply, language).right


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_tasks_of_the_set_need_none(language):
    """Their options are days and names, which nothing stands in for."""
    keys = [one.key for seed in range(5) for one in task_set(Settings(seed=seed)).instances]
    words = [one for one in keys if isinstance(one, WordKey)]
    assert words
    assert all(stand_ins(one).words == {} for one in words)
