import pytest

from pitstop.rulers.language import language_of

GERMAN = "Die Sicherung ist erst dann etwas wert, wenn man sie einmal zurückgespielt hat und weiß, dass es geht."
ENGLISH = "A backup is only worth something once it has been restored and you know that it really works for you now."


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (GERMAN, "de"),
        (ENGLISH, "en"),
        (f"<think>{ENGLISH * 3}</think>{GERMAN}", "de"),  # the thought is not the answer
        (f"{GERMAN}\n```python\ndef restore(backup):\n    return backup.load_everything_again()\n```", "de"),
        (f"```sql\nSELECT customer, total FROM orders WHERE year = 2026\n```\n{GERMAN}", "de"),
    ],
)
def test_the_language_is_that_of_the_prose(answer, code):
    assert language_of(answer).code == code


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "short"),
        ("Ja.", "short"),
        ("OK, done. Siehe Log.", "short"),
        ("```python\nprint('a long program that is no prose at all, whatever one thinks of it')\n```", "short"),
        (f"{GERMAN} {GERMAN} {ENGLISH} {ENGLISH}", "mixed"),
    ],
)
def test_short_and_mixed_answers_are_said_to_be_uncertain(answer, why):
    found = language_of(answer)
    assert found.code is None
    assert found.uncertain.startswith((why, "close"))
