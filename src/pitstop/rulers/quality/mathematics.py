"""Ten mathematics tasks. Each answer is computed here, exactly, from what was drawn."""

from __future__ import annotations

from fractions import Fraction

from pitstop.rulers.quality.keys import NumberKey
from pitstop.rulers.quality.task import Draw, Kind, Language, Level, Question, Task
from pitstop.rulers.quality.wording import asked, names


def addition(draw: Draw, language: Language) -> Question:
    """Two numbers of one digit: what a model of 135M gets right every other time."""
    a, b = draw.randint(2, 9), draw.randint(2, 9)
    return Question(asked(language, en=f"What is {a} + {b}?", de=f"Was ist {a} + {b}?"), NumberKey(Fraction(a + b)))


def times(draw: Draw, language: Language) -> Question:
    """A product out of the multiplication table."""
    a, b = draw.randint(2, 9), draw.choice([2, 5, 10])
    return Question(
        asked(language, en=f"What is {a} times {b}?", de=f"Was ist {a} mal {b}?"), NumberKey(Fraction(a * b))
    )


def shopping(draw: Draw, language: Language) -> Question:
    """One product: so many things at that price each."""
    (who,), count, price = names(draw, 1), draw.randint(2, 6), draw.choice([2, 3, 4, 5, 10])
    question = asked(
        language,
        en=f"{who} buys {count} notebooks. Each costs {price} euros. How many euros does {who} pay in all?",
        de=f"{who} kauft {count} Hefte. Jedes kostet {price} Euro. Wie viel Euro zahlt {who} insgesamt?",
    )
    return Question(question, NumberKey(Fraction(count * price), "€"))


def equation(draw: Draw, language: Language) -> Question:
    """A linear equation whose solution is a fraction."""
    a, c = draw.sample(range(2, 13), 2)
    b, d = draw.randint(-20, 20), draw.randint(-20, 20)
    if (d - b) % (a - c) == 0:
        d += 1  # then it divides no longer, unless |a - c| is one
    equation_text = f"{a}x {_signed(b)} = {c}x {_signed(d)}"
    what = ("x as a number or a fraction", "x als Zahl oder Bruch")
    question = asked(
        language, en=f"Solve for x: {equation_text}", de=f"Löse nach x auf: {equation_text}",
        what_en=what[0], what_de=what[1],
    )  # fmt: skip
    return Question(question, NumberKey(Fraction(d - b, a - c)))


def discount(draw: Draw, language: Language) -> Question:
    """A price after a discount and then a tax; exact to the cent."""
    off, tax = draw.choice([10, 20, 25, 30, 40]), draw.choice([5, 10, 20])
    price = Fraction(draw.randint(20, 200) * 4)
    value = price * (100 - off) / 100 * (100 + tax) / 100
    question = asked(
        language,
        en=f"A lamp costs {price} euros. It is reduced by {off} %, and then {tax} % tax is added to the reduced "
        "price. What does it cost in the end, in euros?",
        de=f"Eine Lampe kostet {price} Euro. Sie wird um {off} % herabgesetzt, dann kommen auf den herabgesetzten "
        f"Preis {tax} % Steuer. Was kostet sie am Ende, in Euro?",
        what_en="the exact price", what_de="den genauen Preis",
    )  # fmt: skip
    return Question(question, NumberKey(value, "€"))


def speed(draw: Draw, language: Language) -> Question:
    """An average over two legs, asked for in another unit than it is told in."""
    first_h, second_h = draw.sample([1, 2, 3, 4], 2)
    hours = first_h + second_h
    mean = 18 * draw.randint(2, 6)  # km/h; a multiple of 18, so that it is a whole number of half metres a second
    slow = mean - hours * draw.randint(1, 3)
    fast = Fraction(mean * hours - slow * first_h, second_h)
    while fast.denominator != 1:
        slow -= 1
        fast = Fraction(mean * hours - slow * first_h, second_h)
    question = asked(
        language,
        en=f"A train runs {slow} km/h for {first_h} h and then {fast} km/h for {second_h} h. What is its average speed "
        "over the whole way, in metres per second?",
        de=f"Ein Zug fährt {first_h} h lang {slow} km/h und dann {second_h} h lang {fast} km/h. Wie hoch ist seine "
        "Durchschnittsgeschwindigkeit auf der ganzen Strecke, in Metern pro Sekunde?",
        what_en="the speed", what_de="die Geschwindigkeit",
    )  # fmt: skip
    return Question(question, NumberKey(Fraction(mean * 5, 18), "m/s"))


def urn(draw: Draw, language: Language) -> Question:
    """The chance of two balls of one colour, drawn without putting back."""
    red, blue = draw.randint(3, 9), draw.randint(3, 9)
    whole = red + blue
    chance = Fraction(red * (red - 1) + blue * (blue - 1), whole * (whole - 1))
    question = asked(
        language,
        en=f"An urn holds {red} red and {blue} blue balls. Two are drawn without being put back. What is the "
        "probability that both have the same colour?",
        de=f"In einer Urne liegen {red} rote und {blue} blaue Kugeln. Zwei werden ohne Zurücklegen gezogen. Wie groß "
        "ist die Wahrscheinlichkeit, dass beide dieselbe Farbe haben?",
        what_en="the probability as a fraction", what_de="die Wahrscheinlichkeit als Bruch",
    )  # fmt: skip
    return Question(question, NumberKey(chance))


def product(draw: Draw, language: Language) -> Question:
    """A product of seven digits by seven: 49 products of digits and as many carries, each of which has to be right."""
    a, b = draw.randint(2_000_000, 9_999_999), draw.randint(2_000_000, 9_999_999)
    question = asked(
        language,
        en=f"Compute {a} × {b} exactly, by hand, without writing a program.",
        de=f"Berechne {a} × {b} exakt, von Hand und ohne ein Programm zu schreiben.",
    )
    return Question(question, NumberKey(Fraction(a * b)))


def lattice(draw: Draw, language: Language) -> Question:
    """Paths on a grid around blocked crossings: some sixty sums that build on each other."""
    size = 7
    inner = [(x, y) for x in range(size + 1) for y in range(size + 1) if (x, y) not in ((0, 0), (size, size))]
    blocked = sorted(draw.sample(inner, 6))
    while not (count := _paths(size, set(blocked))):
        blocked = sorted(draw.sample(inner, 6))
    told = ", ".join(f"({x}, {y})" for x, y in blocked)
    question = asked(
        language,
        en=f"A path starts at (0, 0) and ends at ({size}, {size}). Each step adds 1 to exactly one of the two "
        f"coordinates. These points may not be entered: {told}. How many such paths are there?",
        de=f"Ein Weg beginnt bei (0, 0) und endet bei ({size}, {size}). Jeder Schritt erhöht genau eine der beiden "
        f"Koordinaten um 1. Diese Punkte dürfen nicht betreten werden: {told}. Wie viele solche Wege gibt es?",
    )
    return Question(question, NumberKey(Fraction(count)))


def machine(draw: Draw, language: Language) -> Question:
    """A small machine run for thirty steps: one slip anywhere, and the end is another number."""
    x, y = draw.randint(10, 96), draw.randint(10, 88)
    factor, add, steps = draw.choice([3, 5, 7]), draw.randint(2, 20), draw.randint(28, 34)
    first, second = x, y
    for _ in range(steps):
        x, y = (factor * x + y) % 97, (x + add) % 89
        if x % 2:
            x, y = y, x
    question = asked(
        language,
        en=f"Two registers start as x = {first} and y = {second}. One round does this: at the same time x becomes "
        f"({factor}·x + y) mod 97 and y becomes (x + {add}) mod 89, both from the old values; then, if the new x is "
        f"odd, x and y are swapped. What is x after {steps} rounds? Go through them by hand.",
        de=f"Zwei Register beginnen mit x = {first} und y = {second}. Eine Runde tut dies: Gleichzeitig wird x zu "
        f"({factor}·x + y) mod 97 und y zu (x + {add}) mod 89, beides aus den alten Werten; ist das neue x dann "
        f"ungerade, werden x und y vertauscht. Wie groß ist x nach {steps} Runden? Geh sie von Hand durch.",
    )
    return Question(question, NumberKey(Fraction(x)))


def _paths(size: int, blocked: set[tuple[int, int]]) -> int:
    counts: dict[tuple[int, int], int] = {(0, 0): 1}
    for x in range(size + 1):
        for y in range(size + 1):
            if (x, y) != (0, 0):
                from_both = counts.get((x - 1, y), 0) + counts.get((x, y - 1), 0)
                counts[x, y] = 0 if (x, y) in blocked else from_both
    return counts[size, size]


def _signed(value: int) -> str:
    return f"{'+' if value >= 0 else '-'} {abs(value)}"


MATHEMATICS = (
    Task(Kind.MATH, "addition", Level.EASY, addition),
    Task(Kind.MATH, "times", Level.EASY, times),
    Task(Kind.MATH, "shopping", Level.EASY, shopping),
    Task(Kind.MATH, "equation", Level.MEDIUM, equation),
    Task(Kind.MATH, "discount", Level.MEDIUM, discount),
    Task(Kind.MATH, "speed", Level.MEDIUM, speed),
    Task(Kind.MATH, "urn", Level.MEDIUM, urn),
    Task(Kind.MATH, "product", Level.HARD, product),
    Task(Kind.MATH, "lattice", Level.HARD, lattice),
    Task(Kind.MATH, "machine", Level.HARD, machine),
)
