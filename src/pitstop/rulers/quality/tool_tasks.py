"""Four tool-calling tasks: the right tool, the right arguments, no tool where none is needed, several in order."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from pitstop.rulers.quality.keys import Call, NumberKey, ToolKey
from pitstop.rulers.quality.task import Draw, Kind, Language, Level, Question, Task
from pitstop.rulers.quality.wording import names

_CITIES = ("Hamburg", "Oslo", "Lisbon", "Vienna", "Dublin", "Prague", "Madrid", "Athens")
_CITIES_DE = {"Lisbon": "Lissabon", "Vienna": "Wien", "Prague": "Prag", "Athens": "Athen"}
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip
_MONTHS_DE = ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
              "Dezember")  # fmt: skip
_BOARDS = (("breakfast", "with breakfast", "mit Frühstück"), ("half", "with half board", "mit Halbpension"),
           ("none", "without meals", "ohne Verpflegung"))  # fmt: skip
_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}


def tool(name: str, description: str, /, **properties: dict[str, Any]) -> dict[str, Any]:
    """A tool in OpenAI's form; all of its parameters are required."""
    parameters = {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


WEATHER = tool(
    "get_weather", "The weather in a city now.", city={**_TEXT, "description": "name of the city in English"}
)
CLOCK = tool("get_time", "The local time in a city now.", city={**_TEXT, "description": "name of the city in English"})
TIMER = tool("set_timer", "Start a timer.", minutes={**_WHOLE, "description": "from now"})
LAMP = tool("set_lamp", "Set the brightness of a lamp.", room=_TEXT, percent={**_WHOLE, "minimum": 0, "maximum": 100})
MAIL = tool("send_mail", "Send an e-mail.", to=_TEXT, subject=_TEXT, body=_TEXT)


def right_tool(draw: Draw, language: Language) -> Question:
    """Five tools, of which one answers."""
    city = draw.choice(_CITIES)
    named = _CITIES_DE.get(city, city) if language == "de" else city
    which, minutes = draw.choice(["weather", "time", "timer"]), draw.randint(3, 55)
    prompt, call = {
        "weather": ((f"What is the weather like in {named} right now?", f"Wie ist das Wetter in {named} gerade?"),
                    Call("get_weather", {"city": city}, result='{"sky": "cloudy", "celsius": 11}')),
        "time": ((f"What time is it in {named} now?", f"Wie spät ist es jetzt in {named}?"),
                 Call("get_time", {"city": city}, result='{"time": "14:05"}')),
        "timer": ((f"Please set a timer for {minutes} minutes.", f"Stelle bitte einen Timer auf {minutes} Minuten."),
                  Call("set_timer", {"minutes": minutes})),
    }[which]  # fmt: skip
    tools = draw.sample([WEATHER, CLOCK, TIMER, LAMP, MAIL], 5)
    return Question(prompt[language == "de"], ToolKey((call,), tuple(tools)))


def arguments(draw: Draw, language: Language) -> Question:
    """One tool with nested arguments, a date, a choice, a list and a value to leave out."""
    (guest, *others), rooms = names(draw, 3), draw.randint(2, 4)
    day, month, nights = draw.randint(1, 27), draw.randint(1, 12), draw.randint(2, 9)
    board, board_en, board_de = draw.choice(_BOARDS)
    prompt = (
        f"Book {rooms} rooms under the name {guest} from {day} {_MONTHS[month - 1]} 2031 for {nights} nights, "
        f"{board_en}. {others[0]} and {others[1]} come along."
        if language == "en"
        else f"Buche {rooms} Zimmer auf den Namen {guest} ab dem {day}. {_MONTHS_DE[month - 1]} 2031 für {nights} "
        "Nächte, "
        f"{board_de}. {others[0]} und {others[1]} kommen mit."
    )
    stay = {
        "type": "object", "required": ["arrival", "nights"], "additionalProperties": False,
        "properties": {"arrival": {**_TEXT, "description": "YYYY-MM-DD"}, "nights": _WHOLE},
    }  # fmt: skip
    book = tool(
        "book_rooms", "Book rooms in the hotel.",
        name={**_TEXT, "description": "on whose name"}, rooms=_WHOLE, stay=stay,
        board={**_TEXT, "enum": ["none", "breakfast", "half", "full"]},
        companions={"type": "array", "items": _TEXT, "description": "names of those who come along"},
    )  # fmt: skip
    wanted = {
        "name": guest, "rooms": rooms, "board": board, "companions": list(others),
        "stay": {"arrival": f"2031-{month:02d}-{day:02d}", "nights": nights},
    }  # fmt: skip
    cancel = tool("cancel_booking", "Cancel a booking.", number=_WHOLE)
    call = Call("book_rooms", wanted, result='{"booking": 4471}')
    return Question(prompt, ToolKey((call,), tuple(draw.sample([book, cancel, WEATHER], 3))))


def no_tool(draw: Draw, language: Language) -> Question:
    """A question that none of the tools is for, and that needs none."""
    a, b = draw.randint(2, 9), draw.randint(2, 9)
    prompt = (
        f"What is {a} plus {b}? Reply with the number."
        if language == "en"
        else f"Was ist {a} plus {b}? Antworte mit der Zahl."
    )
    return Question(prompt, ToolKey((), tuple(draw.sample([WEATHER, LAMP, MAIL], 3)), NumberKey(Fraction(a + b))))


def in_order(draw: Draw, language: Language) -> Question:
    """Three calls, each of which needs what the one before gave, and an answer from the last."""
    (who,) = names(draw, 1)
    customer, order, left = draw.randint(1000, 9999), draw.randint(10_000, 99_999), draw.randint(11, 480)
    find = tool("find_customer", "The number of the customer of that name.", name=_TEXT)
    latest = tool("latest_order", "The number of a customer's latest order.", customer=_WHOLE)
    track = tool("track_order", "How far away an order is.", order=_WHOLE)
    prompt = (
        f"How many kilometres away is the latest order of our customer {who}? Reply with the number."
        if language == "en"
        else f"Wie viele Kilometer ist die neueste Bestellung unserer Kundin oder unseres Kunden {who} noch entfernt? "
        "Antworte mit der Zahl."
    )
    calls = (
        Call("find_customer", {"name": who}, result=json.dumps({"customer": customer})),
        Call("latest_order", {"customer": customer}, result=json.dumps({"order": order})),
        Call("track_order", {"order": order}, result=json.dumps({"kilometres": left})),
    )
    key = ToolKey(calls, tuple(draw.sample([find, latest, track, MAIL], 4)), NumberKey(Fraction(left), "km"))
    return Question(prompt, key)


TOOL_TASKS = (
    Task(Kind.TOOLS, "right-tool", Level.EASY, right_tool),
    Task(Kind.TOOLS, "no-tool", Level.EASY, no_tool),
    Task(Kind.TOOLS, "arguments", Level.MEDIUM, arguments),
    Task(Kind.TOOLS, "in-order", Level.HARD, in_order),
)
