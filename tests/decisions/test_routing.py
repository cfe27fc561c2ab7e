from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.routing import Hold, Refuse, Send, Station, choose

STATIONS = {"mid": Station("a", "swift", "fallback"), "swift": Station("b", "tiny"), "tiny": Station("c")}


def ask(held=(), ejected=(), tried=(), alias="mid", stations=STATIONS, hold_spent=False):
    return choose(alias, stations, held=set(held), ejected=set(ejected), tried=set(tried), hold_spent=hold_spent)


def test_the_routes_own_engine_answers_when_it_can():
    assert ask() == Send("mid")


def test_a_held_or_ejected_or_failed_engine_is_answered_for():
    assert ask(held="a") == Send("swift")
    assert ask(ejected="a") == Send("swift")
    assert ask(tried=["mid"]) == Send("swift")
    assert ask(held="b", ejected="a") == Send("tiny")


def test_an_ejected_engine_is_tried_when_nobody_else_is_left():
    assert ask(alias="tiny", ejected="c") == Send("tiny")
    assert ask(tried=["swift", "tiny"], ejected="a") == Send("mid")


def test_only_the_route_that_was_asked_for_makes_wait_and_only_once():
    assert ask(alias="tiny", held="c") == Hold("tiny")
    assert ask(alias="tiny", held="c", hold_spent=True) == Refuse("held")
    assert ask(held="abc") == Refuse("held")


def test_a_route_may_wait_for_its_engine_although_it_has_a_fallback():
    stations = {**STATIONS, "mid": Station("a", "swift", "hold")}
    assert ask(held="a", stations=stations) == Hold("mid")
    assert ask(held="a", stations=stations, hold_spent=True) == Send("swift")


def test_a_route_may_refuse_while_it_is_held():
    assert ask(held="a", stations={"mid": Station("a", when_held="refuse")}) == Refuse("held")


NAMES = st.sampled_from(["r0", "r1", "r2", "r3"])
ENGINES = st.sampled_from(["a", "b", "c"])
ANY_STATIONS = st.dictionaries(
    NAMES, st.builds(Station, ENGINES, NAMES | st.just(""), st.sampled_from(["fallback", "hold", "refuse"])), min_size=1
)


@given(ANY_STATIONS, st.sets(ENGINES), st.sets(ENGINES), st.sets(NAMES), st.booleans(), st.data())
def test_nobody_is_sent_through_a_held_door_or_to_one_that_has_failed(stations, held, ejected, tried, spent, data):
    alias = data.draw(st.sampled_from(sorted(stations)))
    decision = choose(alias, stations, held=held, ejected=ejected, tried=tried, hold_spent=spent)
    if isinstance(decision, Send):
        assert stations[decision.route].engine not in held
        assert decision.route not in tried
    elif isinstance(decision, Hold):
        assert stations[alias].engine in held
        assert not spent


@given(ANY_STATIONS, st.sets(ENGINES), st.data())
def test_a_request_ends_after_at_most_as_many_tries_as_there_are_routes(stations, held, data):
    alias, tried = data.draw(st.sampled_from(sorted(stations))), set()
    for _ in range(len(stations) + 1):
        decision = choose(alias, stations, held=held, ejected=set(), tried=tried, hold_spent=True)
        if not isinstance(decision, Send):
            break
        tried.add(decision.route)
    assert isinstance(decision, Refuse)
