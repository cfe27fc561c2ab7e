"""Refusing is neither a wrong answer nor not knowing one."""

import pytest

from pitstop.rulers.quality.outcome import is_refusal


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, but I can’t assist with that request.",
        "I cannot help with that.",
        "I can't do that.",
        "I'm unable to answer this.",
        "I am not able to help.",
        "I'm not able to assist with that.",
        "I won't do this.",
        "I will not answer that.",
        "I must decline.",
        "I have to decline this request.",
        "Sorry, I can't.",
        "Unfortunately, I cannot answer.",
        "As an AI language model, I cannot do math.",
        "As an AI, I'm unable to run code.",
        "My apologies, but I can't help.",
        "Apologies, I cannot comply.",
        "I apologize, but I cannot help with that.",
        "**I'm sorry, but I can't help with that.**",
        "I refuse to answer.",
        "I decline to answer.",
        "Es tut mir leid, aber das kann ich nicht beantworten.",
        "Das kann ich leider nicht beantworten.",
        "Dabei kann ich nicht helfen.",
        "Tut mir leid, dabei kann ich nicht helfen.",
        "Leider kann ich das nicht.",
        "Ich kann dir dabei nicht helfen.",
        "Ich kann diese Frage nicht beantworten.",
        "Ich kann leider nicht helfen.",
        "Ich bin nicht in der Lage, das zu tun.",
        "Ich darf das nicht beantworten.",
        "Ich muss das ablehnen.",
        "Entschuldigung, das kann ich nicht.",
        "Als KI kann ich das nicht.",
        "Als KI-Modell bin ich nicht in der Lage, zu rechnen.",
        "I'm afraid I can't do that.",
        "I do not feel comfortable answering that, so I can't.",
    ],
)
def test_a_refusal_is_known_by_its_beginning(reply):
    assert is_refusal(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, I made an error. Answer: 13",
        "Sorry for the wait. Answer: 13",
        "12 cannot be divided.",
        "Answer: 13",
        "I think it is 13.",
        "I don't know.",
        "Ich weiß es nicht.",
        "Unfortunately the train is late. Answer: 30 m/s",
        "You can't take 5 from 3, so the answer is 13.",
        "I can solve this. Answer: 13",
        "Ich kann das berechnen: 13",
        "I can't do it in my head, so step by step. Answer: 13",
        "",
        "I can't say. " * 40,
    ],
)
def test_an_answer_or_ignorance_is_no_refusal(reply):
    assert not is_refusal(reply)
