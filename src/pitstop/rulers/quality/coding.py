"""Seven coding tasks, easy and medium. What is asked for is drawn, so that no remembered solution fits as it is."""

from __future__ import annotations

from pitstop.rulers.quality.functions import Wording, function_task
from pitstop.rulers.quality.task import Draw, Kind, Language, Level, Question, Task

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NUMBERED = (
    "amber",
    "birch",
    "cloud",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbour",
    "island",
    "jade",
    "kettle",
    "lantern",
)


def scale(draw: Draw, language: Language) -> Question:
    """One product and one sum: what a model of 135M can write."""
    factor, add = draw.randint(2, 9), draw.randint(1, 9)
    wording = Wording(f"It returns n times {factor}, plus {add}.", f"Sie gibt n mal {factor} plus {add} zurück.")
    calls = [(n,) for n in (1, 10, 0, -3, *draw.sample(range(20, 5000), 4))]
    return function_task("scale(n)", wording, language, lambda n: n * factor + add, calls)


def first(draw: Draw, language: Language) -> Question:
    """The beginning of a text, of a drawn length."""
    length = draw.randint(2, 9)
    wording = Wording(
        f"It returns the first {length} characters of text.",
        f"Sie gibt die ersten {length} Zeichen von text zurück.",
    )
    texts = [" ".join(draw.sample(_NUMBERED, draw.randint(2, 4))) for _ in range(5)]
    edges = ["", "ab", "Grüße aus Köln"]
    return function_task(
        "first(text)", wording, language, lambda text: text[:length], [(one,) for one in texts + edges]
    )


def keep(draw: Draw, language: Language) -> Question:
    """Filter and sum a list by two drawn conditions."""
    divisor, limit = draw.randint(3, 7), draw.randint(20, 60)
    wording = Wording(
        f"It returns the sum of those numbers in the list that are divisible by {divisor} and greater than {limit}; "
        "0 when there are none.",
        f"Sie gibt die Summe der Zahlen in der Liste zurück, die durch {divisor} teilbar und größer als {limit} sind; "
        "0, wenn es keine gibt.",
    )

    def reference(numbers: list[int]) -> int:
        return sum(n for n in numbers if n % divisor == 0 and n > limit)

    def some() -> list[int]:
        mixed = [draw.randint(-99, 199) for _ in range(draw.randint(2, 6))]
        return draw.sample(mixed + [divisor * draw.randint(-9, 40) for _ in mixed], 2 * len(mixed))

    lists = [some() for _ in range(6)]
    edges = [[], [limit, divisor * (limit // divisor + 1)], [-divisor * limit]]
    return function_task("keep(numbers)", wording, language, reference, [(one,) for one in [*lists, *edges]])


def runs(draw: Draw, language: Language) -> Question:
    """Run-length encoding with a threshold and a mark of its own."""
    least, mark = draw.randint(2, 4), draw.choice("#*~@")
    wording = Wording(
        f"It encodes runs of equal characters: a run of at least {least} is written as the character, then "
        f"{mark!r}, then "
        "the length of the run; shorter runs stay as they are.",
        f"Sie kodiert Läufe gleicher Zeichen: Ein Lauf von mindestens {least} wird zu dem Zeichen, dann {mark!r}, "
        "dann der "
        "Länge des Laufs; kürzere Läufe bleiben, wie sie sind.",
    )

    def reference(text: str) -> str:
        out, i = [], 0
        while i < len(text):
            j = i
            while j < len(text) and text[j] == text[i]:
                j += 1
            out.append(f"{text[i]}{mark}{j - i}" if j - i >= least else text[i:j])
            i = j
        return "".join(out)

    texts = ["".join(draw.choice("abc") * draw.randint(1, 6) for _ in range(5)) for _ in range(6)]
    edges = ["", "a", "a" * least, "b" * (least - 1), "z" * 120, "ABab" * 3]
    return function_task("encode(text)", wording, language, reference, [(text,) for text in [*texts, *edges]])


def digits(draw: Draw, language: Language) -> Question:
    """Write a number in a drawn base with a drawn alphabet of digits, the sign in front."""
    base = draw.choice([3, 4, 6, 7, 9])
    alphabet = "".join(draw.sample(_LETTERS, base))
    wording = Wording(
        f"It writes the integer n in base {base}, with the characters of {alphabet!r} as the digits 0 to {base - 1}; a "
        f"negative number gets a '-' in front, and 0 is {alphabet[0]!r}.",
        f"Sie schreibt die ganze Zahl n zur Basis {base}, mit den Zeichen von {alphabet!r} als Ziffern 0 bis "
        f"{base - 1}; "
        f"eine negative Zahl bekommt ein '-' davor, und 0 ist {alphabet[0]!r}.",
    )

    def reference(n: int) -> str:
        rest, out = abs(n), ""
        while rest:
            rest, digit = divmod(rest, base)
            out = alphabet[digit] + out
        return ("-" if n < 0 else "") + (out or alphabet[0])

    numbers = [*draw.sample(range(10, 99_999), 5), 0, base, base - 1, -draw.randint(1, 9999), base**20 - 1]
    return function_task("write(n)", wording, language, reference, [(n,) for n in numbers])


def intervals(draw: Draw, language: Language) -> Question:
    """Merge intervals that lie within a drawn gap of each other, and refuse those that end before they begin."""
    gap = draw.randint(1, 4)
    wording = Wording(
        "It takes a list of [start, end] pairs of integers and returns the merged pairs, sorted by start. Two pairs "
        "are "
        f"merged when the second one starts at most {gap} after the first one ends. A pair whose end is smaller "
        "than its "
        "start raises a ValueError.",
        "Sie nimmt eine Liste von [Anfang, Ende]-Paaren ganzer Zahlen und gibt die verschmolzenen Paare zurück, "
        "nach Anfang "
        f"sortiert. Zwei Paare werden verschmolzen, wenn das zweite höchstens {gap} nach dem Ende des ersten "
        "beginnt. Ein "
        "Paar, dessen Ende kleiner als sein Anfang ist, löst einen ValueError aus.",
    )

    def reference(pairs: list[list[int]]) -> list[list[int]]:
        merged: list[list[int]] = []
        if any(end < start for start, end in pairs):
            raise ValueError
        for start, end in sorted(pairs):
            if merged and start - merged[-1][1] <= gap:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return merged

    def some(count: int) -> list[list[int]]:
        return [[start, start + draw.randint(0, 8)] for start in draw.sample(range(-20, 60), count)]

    lists = [some(draw.randint(3, 8)) for _ in range(6)]
    edges = [[], [[5, 5]], [[0, 3], [3 + gap, 9]], [[0, 3], [4 + gap, 9]], [[0, 50], [10, 20]], [[1, 2], [7, 6]]]
    return function_task("merge(pairs)", wording, language, reference, [(one,) for one in [*lists, *edges]])


def spiral(draw: Draw, language: Language) -> Question:
    """Read a matrix along a spiral from a drawn corner in a drawn direction."""
    corner, clockwise = (
        draw.choice(["top left", "top right", "bottom left", "bottom right"]),
        draw.choice([True, False]),
    )
    german = {
        "top left": "oben links",
        "top right": "oben rechts",
        "bottom left": "unten links",
        "bottom right": "unten rechts",
    }
    wording = Wording(
        "It returns the entries of a matrix (a list of equally long rows) in the order of a spiral that starts at "
        f"the {corner} "
        f"corner and runs {'clockwise' if clockwise else 'counterclockwise'} inwards. An empty matrix gives an "
        "empty list.",
        "Sie gibt die Einträge einer Matrix (einer Liste gleich langer Zeilen) in der Reihenfolge einer Spirale "
        "zurück, die "
        f"{german[corner]} beginnt und {'im' if clockwise else 'gegen den'} Uhrzeigersinn nach innen läuft. Eine "
        "leere Matrix "
        "ergibt eine leere Liste.",
    )

    def reference(matrix: list[list[int]]) -> list[int]:
        rows = [list(row) for row in matrix]
        if "right" in corner:
            rows = [row[::-1] for row in rows]
        if "bottom" in corner:
            rows = rows[::-1]
        mirrored = ("right" in corner) != ("bottom" in corner)
        if clockwise == mirrored:  # then it goes down first, in the turned matrix
            rows = [list(column) for column in zip(*rows, strict=True)]
        out: list[int] = []
        while rows and rows[0]:
            out += rows[0]
            rows = [list(column) for column in zip(*rows[1:], strict=True)][::-1]
        return out

    def matrix(height: int, breadth: int) -> list[list[int]]:
        return [[draw.randint(0, 99) for _ in range(breadth)] for _ in range(height)]

    shapes = [(2, 3), (3, 3), (4, 5), (1, 4), (4, 1), (5, 2), (1, 1), (6, 6)]
    matrices = [*(matrix(*shape) for shape in shapes), []]
    return function_task("spiral(matrix)", wording, language, reference, [(one,) for one in matrices])


CODING = (
    Task(Kind.CODE, "scale", Level.EASY, scale),
    Task(Kind.CODE, "first", Level.EASY, first),
    Task(Kind.CODE, "keep", Level.EASY, keep),
    Task(Kind.CODE, "runs", Level.MEDIUM, runs),
    Task(Kind.CODE, "digits", Level.MEDIUM, digits),
    Task(Kind.CODE, "intervals", Level.MEDIUM, intervals),
    Task(Kind.CODE, "spiral", Level.MEDIUM, spiral),
)
