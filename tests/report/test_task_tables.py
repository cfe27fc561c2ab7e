"""Quality task by task: what changed comes first, what was said is folded in, and nothing of it can become markup."""

from __future__ import annotations

from pitstop.core.documents import RunDocument, TaskRecord
from pitstop.report.page import render_run, render_trial
from pitstop.report.table import Tone
from pitstop.report.task_tables import folds, task_table
from support import documents as made
from support.document_strategies import HOSTILE
from support.markup import read_page


def record(task: str, outcome: str, repeat: int = 0, **changes: str) -> TaskRecord:
    return TaskRecord(task=task, level="easy", repeat=repeat, outcome=outcome, **changes)


def run(*tasks: TaskRecord) -> RunDocument:
    return made.run(tasks=list(tasks))


def test_a_run_tells_each_task_and_what_was_said_where_it_is_not_right() -> None:
    one = run(record("math/en/a", "right"), record("math/en/b", "cut-off", answer="so far", reason="cut off"))
    table = task_table([("", one)])
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["math/en/a", "easy", "right"],
        ["math/en/b", "easy", "cut-off"],
    ]
    [told] = folds([("", one)])
    assert told.title == "math/en/b: cut-off"
    assert [(each.title, ("answered", "so far") in each.parts) for each in told.transcripts] == [
        ("repeat 1, cut-off", True)
    ]


def test_what_changed_between_arms_comes_first_and_is_named() -> None:
    production = run(record("a", "right"), record("b", "right"), record("c", "wrong"), record("d", "unavailable"))
    variant = run(record("a", "right"), record("b", "wrong"), record("c", "right"), record("d", "right"))
    table = task_table([("production", production), ("k2", variant)])
    assert [(row[0].text, row[-1].text) for row in table.rows] == [("b", "lost"), ("c", "gained"), ("a", ""), ("d", "")]
    assert "2 of 4 tasks came out differently" in table.footnotes[0]
    assert [told.title for told in folds([("production", production), ("k2", variant)])] == [
        "b: production right; k2 wrong", "c: production wrong; k2 right",
    ]  # fmt: skip


def test_a_long_trial_shows_as_much_of_every_task_and_arm_and_says_what_is_left_out() -> None:
    def boot(outcome: str) -> RunDocument:
        return run(*(record(f"t{number}", outcome, repeat) for number in range(28) for repeat in range(8)))

    told = folds(
        [(arm, boot(outcome)) for _ in range(2) for arm, outcome in (("production", "right"), ("k2", "wrong"))]
    )
    assert len(told) == 28
    assert sum(len(each.transcripts) for each in told) <= 150
    assert [each.title for each in told[0].transcripts[:3:2]] == [
        "production, boot 1, repeat 1, right", "k2, boot 1, repeat 1, wrong",
    ]  # fmt: skip
    assert told[0].note.startswith("28 more are in the run documents")


def test_repeats_and_boots_of_an_arm_are_counted_together() -> None:
    boots = [("k2", run(record("a", "right"), record("a", "cut-off", 1))), ("k2", run(record("a", "right")))]
    [row] = task_table(boots).rows
    assert row[2].text == "2 × right, 1 × cut-off"
    assert row[2].tone is Tone.WARN


def test_a_task_that_one_arm_was_not_asked_is_no_change() -> None:
    table = task_table([("production", run(record("a", "right"))), ("k2", run(record("b", "wrong")))])
    assert [row[-1].text for row in table.rows] == ["", ""]


def test_pages_hold_the_tasks_and_every_hostile_string_stays_text() -> None:
    told = [
        record(evil, evil, wanted=evil, got=evil, reason=evil, prompt=evil, reasoning=evil, answer=evil)
        for evil in HOSTILE
    ]
    html = render_run(run(*told))
    read_page(html)
    assert "Tasks" in html
    arm = made.arm("k2", 1.0, 1, runs=[run(*told)])
    other = made.arm("production", 1.0, 1, runs=[run(*[record(one.task, "right") for one in told])])
    read_page(render_trial(made.trial(arms=[other, arm])))


def test_a_page_without_tasks_has_no_such_section() -> None:
    assert 'id="tasks"' not in render_run(made.run())
