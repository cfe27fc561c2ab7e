import os

from hypothesis import given
from hypothesis import strategies as st

from pitstop.services.guard.processes import Held, Stat, parse_stat, stat_of, tree


def one(pid, parent, session=0):
    return Stat(pid, "x", "S", parent, session, 1)


def test_a_name_with_spaces_and_parentheses_is_read():
    stat = parse_stat("42 (a) b (c) S 7 42 41 0 -1 4 0 0 0 0 0 0 0 0 20 0 9 0 1234 0 0")
    assert stat == Stat(42, "a) b (c", "S", 7, 41, 1234, threads=9)


@given(st.text(max_size=80))
def test_any_text_is_a_stat_line_or_none(text):
    parse_stat(text)


def test_a_zombie_whose_threads_live_on_is_not_dead():
    assert Stat(1, "x", "Z", 0, 0, 0, threads=1).dead
    assert not Stat(1, "x", "Z", 0, 0, 0, threads=4).dead


def test_a_tree_is_the_descendants_and_a_session_keeps_what_lost_its_parent():
    processes = [one(10, 1, 10), one(11, 10, 10), one(12, 11, 12), one(20, 1, 10), one(21, 20, 21), one(30, 1, 30)]
    assert tree(processes, [10], []) == {10, 11, 12}
    assert tree(processes, [10], [10]) == {10, 11, 12, 20, 21}
    assert tree(processes, [99], []) == set()


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12), st.integers(1, 12)), max_size=30))
def test_any_process_table_ends_even_with_circles(rows):
    processes = [one(*row) for row in rows]
    assert tree(processes, [1], [2]) <= {stat.pid for stat in processes}


def test_a_number_that_went_to_another_process_is_not_held():
    mine = stat_of(os.getpid())
    held = Held()
    assert not held.hold(Stat(mine.pid, mine.name, "S", mine.parent, mine.session, mine.started + 1))
    assert held.hold(mine)
    held.close()
