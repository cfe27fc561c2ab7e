"""Three hard coding tasks: specifications with many clauses, all of which the hidden tests try."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable

from pitstop.rulers.quality.functions import Wording, function_task
from pitstop.rulers.quality.task import Draw, Kind, Language, Level, Question, Task

_Operation = Callable[[int, int], int]
_OPERATORS: dict[str, tuple[_Operation, str, str]] = {
    "+": (lambda a, b: a + b, "adds", "addiert"),
    "-": (lambda a, b: a - b, "subtracts", "zieht ab"),
    "*": (lambda a, b: a * b, "multiplies", "multipliziert"),
    "@": (max, "takes the larger of both", "nimmt die größere von beiden"),
    "~": (lambda a, b: abs(a - b), "takes the distance of both", "nimmt den Abstand von beiden"),
}


def expression(draw: Draw, language: Language) -> Question:
    """An evaluator whose operators bind in a drawn order, and to a drawn side."""
    order = draw.sample(list(_OPERATORS), 5)  # from the loosest to the tightest
    to_the_right = set(draw.sample(order, 2))
    told = ", ".join(order)
    right = " and ".join(sorted(to_the_right))
    meanings = "; ".join(f"`{sign}` {_OPERATORS[sign][1 if language == 'en' else 2]}" for sign in sorted(order))
    wording = Wording(
        f"It evaluates a text of non-negative integers, blanks, round brackets and the operators {told}, and "
        "returns an "
        f"integer. {meanings}. They bind from the loosest to the tightest in this order: {told}; there are no two "
        "of the "
        f"same rank. {right} group from the right, the others from the left. There are no signs in front of numbers. "
        "Anything that is not such an expression, the empty text too, raises a ValueError.",
        "Sie wertet einen Text aus nichtnegativen ganzen Zahlen, Leerzeichen, runden Klammern und den Operatoren "
        f"{told} "
        f"aus und gibt eine ganze Zahl zurück. {meanings}. Sie binden in dieser Reihenfolge von schwach nach stark: "
        f"{told}; "
        f"keine zwei haben denselben Rang. {right.replace(' and ', ' und ')} gruppieren von rechts, die anderen von "
        "links. "
        "Vorzeichen gibt es nicht. Was kein solcher Ausdruck ist, auch der leere Text, löst einen ValueError aus.",
    )

    def reference(text: str) -> int:
        return _Evaluator(text, order, to_the_right).value()

    def some(depth: int) -> str:
        if depth == 0 or draw.random() < 0.2:
            return str(draw.randint(0, 30))
        inner = f"{some(depth - 1)} {draw.choice(order)} {some(depth - 1)}"
        return f"({inner})" if draw.random() < 0.3 else inner

    chains = [f"9 {sign} 4 {sign} 2 {sign} 7" for sign in order]
    mixed = [
        f"{draw.randint(1, 9)}{a}{draw.randint(1, 9)}{b}{draw.randint(1, 9)}" for a in order for b in order if a != b
    ]
    wrong = ["", "  ", "1 +", "* 2", "(1", "1)", "1 2", "()", "1 ++ 2", "1.5", "a", "-1"]
    texts = [chains[0], mixed[0], *chains[1:], *draw.sample(mixed[1:], 8), *(some(3) for _ in range(6)), *wrong]
    return function_task("evaluate(text)", wording, language, reference, [(text,) for text in texts])


class _Evaluator:
    """Precedence climbing, the reference for `expression`."""

    def __init__(self, text: str, order: list[str], to_the_right: set[str]) -> None:
        if re.sub(r"[\d\s()+*@~-]", "", text):
            raise ValueError
        self.tokens = re.findall(r"\d+|[()+*@~-]", text)
        self.rank = {sign: rank for rank, sign in enumerate(order)}
        self.to_the_right = to_the_right

    def value(self) -> int:
        found = self._level(0)
        if self.tokens:
            raise ValueError
        return found

    def _level(self, least: int) -> int:
        left = self._atom()
        while self.tokens and (rank := self.rank.get(self.tokens[0], -1)) >= least:
            sign = self.tokens.pop(0)
            right = self._level(rank if sign in self.to_the_right else rank + 1)
            left = _OPERATORS[sign][0](left, right)
        return left

    def _atom(self) -> int:
        lexeme = self.tokens.pop(0) if self.tokens else ""
        if lexeme.isdigit():
            return int(lexeme)
        if lexeme != "(":
            raise ValueError
        inner = self._level(0)
        if not self.tokens or self.tokens.pop(0) != ")":
            raise ValueError
        return inner


def journey(draw: Draw, language: Language) -> Question:
    """The cheapest way through a grid, with walls that may be broken a drawn number of times at a drawn price."""
    breaks, price, turn = draw.randint(1, 3), draw.randint(4, 9), draw.randint(1, 3)
    wording = Wording(
        "It takes a list of equally long strings and returns the smallest cost of going from the top left to the "
        "bottom right "
        "cell in steps up, down, left or right, or -1 when there is no way. Entering a digit cell costs that digit, "
        "entering '.' "
        f"costs 1. A '#' is a wall: at most {breaks} of them may be entered, and each costs {price}. Every step in "
        "another "
        f"direction than the step before costs {turn} more. The first cell costs nothing, but counts as an entered "
        "wall when "
        "it is one.",
        "Sie nimmt eine Liste gleich langer Zeichenketten und gibt die kleinsten Kosten für den Weg von der Zelle "
        "oben links zu "
        "der unten rechts zurück, in Schritten nach oben, unten, links oder rechts; -1, wenn es keinen gibt. Eine "
        "Ziffer zu "
        f"betreten kostet diese Ziffer, ein '.' kostet 1. Ein '#' ist eine Mauer: Höchstens {breaks} davon dürfen "
        "betreten "
        f"werden, und jede kostet {price}. Jeder Schritt in eine andere Richtung als der Schritt davor kostet "
        f"{turn} mehr. Die "
        "erste Zelle kostet nichts, zählt aber als betretene Mauer, wenn sie eine ist.",
    )

    def reference(grid: list[str]) -> int:
        return _cheapest(grid, breaks, price, turn)

    def some(height: int, breadth: int, walls: float) -> list[str]:
        return [
            "".join("#" if draw.random() < walls else draw.choice("..123456789") for _ in range(breadth))
            for _ in range(height)
        ]

    grids = [some(3, 3, 0.2), some(3, 4, 0.3), *(some(draw.randint(4, 9), draw.randint(4, 9), 0.35) for _ in range(8))]
    edges = [["."], ["#"], ["#.", ".#"], ["." * 8], [".", "#", "#", "#", "#", "."], some(14, 14, 0.45)]
    return function_task("cheapest(grid)", wording, language, reference, [(one,) for one in [*grids, *edges]])


def _cheapest(grid: list[str], breaks: int, price: int, turn: int) -> int:
    height, breadth = len(grid), len(grid[0])
    walls = int(grid[0][0] == "#")
    queue = [(0, 0, 0, -1, walls)] if walls <= breaks else []
    done = set()
    while queue:
        cost, y, x, came, broken = heapq.heappop(queue)
        if (y, x) == (height - 1, breadth - 1):
            return cost
        if (y, x, came, broken) in done:
            continue
        done.add((y, x, came, broken))
        for way, (dy, dx) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
            ny, nx = y + dy, x + dx
            if 0 <= ny < height and 0 <= nx < breadth:
                cell = grid[ny][nx]
                enters = price if cell == "#" else 1 if cell == "." else int(cell)
                used = broken + (cell == "#")
                if used <= breaks:
                    heapq.heappush(queue, (cost + enters + turn * (came not in (-1, way)), ny, nx, way, used))
    return -1


def tickets(draw: Draw, language: Language) -> Question:
    """A queue with priorities that age, cancellations and a limit: a simulation with seven rules."""
    limit, age = draw.randint(3, 5), draw.randint(2, 4)
    wording = Wording(
        "It takes a list of events, each a list, and returns the list of the names served, in order. ['add', name, "
        "priority] "
        f"queues a name; when {limit} names wait already, or that name waits, it is ignored. ['cancel', name] takes "
        "a waiting "
        "name out, and does nothing for another. ['serve'] serves the waiting name with the highest priority, of "
        "equal ones the "
        f"one that has waited longest, and does nothing when nobody waits. After every {age}th 'serve' event, "
        "whether it served "
        "somebody or not, the priority of every waiting name grows by 1. A name that was served or cancelled may be "
        "added "
        "again. Any other event raises a ValueError.",
        "Sie nimmt eine Liste von Ereignissen, jedes eine Liste, und gibt die Liste der bedienten Namen in ihrer "
        "Reihenfolge "
        f"zurück. ['add', name, priority] reiht einen Namen ein; wenn schon {limit} Namen warten oder dieser Name "
        "wartet, wird "
        "es übergangen. ['cancel', name] nimmt einen wartenden Namen heraus und tut bei einem anderen nichts. "
        "['serve'] bedient "
        "den wartenden Namen mit der höchsten Priorität, unter gleichen den, der am längsten wartet, und tut "
        "nichts, wenn "
        f"niemand wartet. Nach jedem {age}. 'serve'-Ereignis, ob es jemanden bedient hat oder nicht, wächst die "
        "Priorität jedes "
        "wartenden Namens um 1. Ein bedienter oder herausgenommener Name darf wieder eingereiht werden. Jedes "
        "andere Ereignis "
        "löst einen ValueError aus.",
    )

    def reference(events: list[list[object]]) -> list[object]:
        return _served(events, limit, age)

    def some(length: int) -> list[list[object]]:
        people = ["ann", "bob", "cyd", "dan", "eve", "fay"]
        kinds = draw.choices(["add", "cancel", "serve"], [6, 1, 4], k=length)
        return [
            ["add", draw.choice(people), draw.randint(0, 4)]
            if kind == "add"
            else ["cancel", draw.choice(people)]
            if kind == "cancel"
            else ["serve"]
            for kind in kinds
        ]

    lists = [some(7), some(9), *(some(draw.randint(10, 40)) for _ in range(8))]
    edges: list[list[list[object]]] = [[], [["serve"]], [["stop"]], [["add", "ann", 1], ["cancel", "ann"], ["serve"]]]
    return function_task("served(events)", wording, language, reference, [(one,) for one in [*lists, *edges]])


def _served(events: list[list[object]], limit: int, age: int) -> list[object]:
    waiting: dict[object, int] = {}  # by arrival
    out: list[object] = []
    serves = 0
    for event in events:
        match event:
            case ["add", name, int(priority)]:
                if len(waiting) < limit and name not in waiting:
                    waiting[name] = priority
            case ["cancel", name]:
                waiting.pop(name, None)
            case ["serve"]:
                serves += 1
                if waiting:
                    best = max(waiting, key=lambda name: waiting[name])  # the first of equal ones
                    out.append(best)
                    del waiting[best]
                if serves % age == 0:
                    waiting = {name: priority + 1 for name, priority in waiting.items()}
            case _:
                raise ValueError
    return out


CODING_HARD = (
    Task(Kind.CODE, "expression", Level.HARD, expression),
    Task(Kind.CODE, "journey", Level.HARD, journey),
    Task(Kind.CODE, "tickets", Level.HARD, tickets),
)
