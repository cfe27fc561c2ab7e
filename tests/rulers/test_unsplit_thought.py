"""A thought that no parser split off is no part of the answer, in whatever tags it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.rulers.language import language_of
from pitstop.rulers.quality.code_blocks import code_for
from pitstop.rulers.quality.keys import NumberKey
from pitstop.rulers.quality.marking import mark_answer
from pitstop.rulers.unsplit_thought import holds_thought, without_thought

THOUGHT = "The user wants me to add seven and five. Seven and five make thirteen, or rather twelve, I am nearly sure."
TAGS = [
    ("<think>", "</think>"),
    ("", "</think>"),  # opened by the template
    ("<THINK>", "</THINK>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("analysis", "assistantfinal"),
]


@pytest.mark.parametrize(("begin", "end"), TAGS)
def test_the_thought_is_not_the_answer(begin, end):
    reply = f"{begin}{THOUGHT} Answer: 13{end}\n\nDas Ergebnis der Rechnung steht am Ende dieser Zeile.\nAntwort: 12"
    assert without_thought(reply).startswith("Das Ergebnis")
    assert mark_answer(NumberKey(12), reply, "de").right
    assert not mark_answer(NumberKey(13), reply, "de").right
    assert language_of(reply).code in (None, "de")


@pytest.mark.parametrize("begin", [begin for begin, _ in TAGS if begin not in ("", "analysis")])
def test_a_thought_that_was_never_closed_is_no_answer(begin):
    reply = f"{begin}{THOUGHT} Answer: 12\n```python\ndef f(n):\n    return n\n```"
    assert without_thought(reply) == ""
    assert holds_thought(reply)
    assert code_for(reply, "f") == ""


@pytest.mark.parametrize("reply", ["Answer: 12", "I think so.", "a < b > c", "x<thinkpad>", "analysis", "<b>12</b>"])
def test_an_answer_without_a_thought_stays_whole(reply):
    assert without_thought(reply) == reply
    assert not holds_thought(reply)


@given(st.text(max_size=100))
def test_nothing_is_made_up(reply):
    assert without_thought(reply) in reply
