"""Quality task by task and arm by arm: what changed, and what was said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pitstop.core.documents import RunDocument, TaskRecord
from pitstop.report.clean import one_line
from pitstop.report.sheet import Fold, Transcript
from pitstop.report.table import Cell, Column, Table, Tone

RIGHT, UNAVAILABLE = "right", "unavailable"
_SHOWN_CHARS = 3_000  # of each part of a transcript: a page of a trial stays below a few megabytes
_MOST_TRANSCRIPTS = 150

NamedRun = tuple[str, RunDocument]  # arm, one of its boots
Attempt = tuple[int, TaskRecord]  # in which boot of its arm, counted from 1; 0 where the arm has only one


@dataclass(frozen=True)
class _Row:
    """One task in every arm."""

    task: str
    level: str
    arms: tuple[tuple[Attempt, ...], ...]

    @property
    def shares(self) -> tuple[float | None, ...]:
        """Per arm the share of attempts that is right; None where none could be judged."""
        return tuple(_share(attempts) for attempts in self.arms)

    @property
    def changed(self) -> bool:
        return len({share for share in self.shares if share is not None}) > 1


def task_table(runs: Sequence[NamedRun]) -> Table:
    """A row per task, a column per arm; with several arms those that changed come first."""
    arms, rows = _rows(runs)
    columns = (Column("task"), Column("level"), *(Column(one_line(arm) or "outcome") for arm in arms))
    if len(arms) > 1:
        columns = (*columns, Column("change"))
        rows = sorted(rows, key=lambda row: not row.changed)
    return Table("task by task", columns, tuple(_cells(row, several=len(arms) > 1) for row in rows), _notes(rows))


def folds(runs: Sequence[NamedRun]) -> tuple[Fold, ...]:
    """What was said, task by task: of a trial to those that changed, of a single run wherever it is not right."""
    arms, rows = _rows(runs)
    several = len(arms) > 1
    shown = [row for row in rows if row.changed or not several]
    most = max(1, _MOST_TRANSCRIPTS // max(1, len(shown)))
    told = (_fold(row, arms, most, several=several) for row in shown)
    return tuple(fold for fold in told if fold.transcripts)


def _fold(row: _Row, arms: Sequence[str], most: int, *, several: bool) -> Fold:
    """One task. Where not all of it can be shown, every arm is shown as much of."""
    kept = [[one for one in attempts if several or one[1].outcome != RIGHT] for attempts in row.arms]
    share = max(1, most // max(1, sum(map(bool, kept))))
    told = [(arm, one) for arm, attempts in zip(arms, kept, strict=True) for one in attempts[:share]]
    left_out = sum(map(len, kept)) - len(told)
    note = f"{left_out} more are in the run documents (`tasks`)." if left_out else ""
    counts = (f"{arm} {_outcomes(attempts)}".strip() for arm, attempts in zip(arms, row.arms, strict=True) if attempts)
    return Fold(f"{row.task}: {'; '.join(counts)}", tuple(_transcript(arm, one) for arm, one in told), note)


def _rows(runs: Sequence[NamedRun]) -> tuple[list[str], list[_Row]]:
    told = [(arm, run) for arm, run in runs if run.tasks]
    boots = Counter(arm for arm, _ in told)
    seen: Counter[str] = Counter()
    records: dict[str, dict[str, list[Attempt]]] = {}
    for arm, run in told:
        seen[arm] += 1
        for one in run.tasks:
            boot = seen[arm] if boots[arm] > 1 else 0
            records.setdefault(one.task, {}).setdefault(arm, []).append((boot, one))
    arms = list(boots)
    rows = [
        _Row(task, next(iter(by_arm.values()))[0][1].level, tuple(tuple(by_arm.get(arm, ())) for arm in arms))
        for task, by_arm in records.items()
    ]
    return arms, rows


def _cells(row: _Row, *, several: bool) -> tuple[Cell, ...]:
    told = (Cell(row.task, Tone.STRONG if row.changed else Tone.PLAIN), Cell(row.level, Tone.MUTED))
    arms = tuple(Cell(_outcomes(attempts), _tone(attempts)) for attempts in row.arms)
    return (*told, *arms, _change(row)) if several else (*told, *arms)


def _outcomes(attempts: Iterable[Attempt]) -> str:
    """`right`, or with repeats `3 × right, 1 × cut-off`."""
    counts = Counter(one.outcome for _, one in attempts)
    if not counts:
        return "not asked"
    if counts.total() == 1:
        return next(iter(counts))
    return ", ".join(f"{count} × {outcome}" for outcome, count in counts.most_common())


def _tone(attempts: Sequence[Attempt]) -> Tone:
    share = _share(attempts)
    if share is None:
        return Tone.MUTED
    return Tone.GOOD if share == 1 else Tone.BAD if share == 0 else Tone.WARN


def _change(row: _Row) -> Cell:
    """Of the last arms against the first, which is production."""
    base, *others = row.shares
    known = [share - base for share in others if share is not None and base is not None]
    if not any(known):
        return Cell("", Tone.MUTED)
    words = "gained" if min(known) >= 0 else "lost" if max(known) <= 0 else "both ways"
    return Cell(words, {"gained": Tone.GOOD, "lost": Tone.BAD}.get(words, Tone.WARN))


def _notes(rows: Sequence[_Row]) -> tuple[str, ...]:
    changed = sum(row.changed for row in rows)
    unavailable = sum(None in row.shares for row in rows)
    notes = []
    if any(len(row.arms) > 1 for row in rows):
        notes.append(
            f"{changed} of {len(rows)} tasks came out differently; the verdict says if it is more than chance."
        )
    if unavailable:
        notes.append(f"{unavailable} tasks could not be judged here in every arm, and count neither way.")
    return tuple(notes)


def _share(attempts: Sequence[Attempt]) -> float | None:
    judged = [one for _, one in attempts if one.outcome != UNAVAILABLE]
    return sum(one.outcome == RIGHT for one in judged) / len(judged) if judged else None


def _transcript(arm: str, attempt: Attempt) -> Transcript:
    boot, one = attempt
    where = "".join((f"{arm}, " if arm else "", f"boot {boot}, " if boot else ""))
    parts = (
        ("asked", one.prompt),
        ("right would be", one.wanted),
        ("thought", one.reasoning),
        ("answered", one.answer),
        ("taken for the answer", "" if one.got == one.answer else one.got),
        ("judged", f"{one.outcome}{': ' if one.reason else ''}{one.reason}"),
    )
    shown = tuple((name, _abridged(text)) for name, text in parts if text)
    return Transcript(f"{where}repeat {one.repeat + 1}, {one.outcome}", shown)


def _abridged(text: str) -> str:
    half = _SHOWN_CHARS // 2
    return text if len(text) <= _SHOWN_CHARS else f"{text[:half]}\n[…]\n{text[-half:]}"
