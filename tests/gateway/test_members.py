import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.gateway.members import read

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), lambda inner: st.lists(inner, max_size=3)
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=6)
STYLES = st.sampled_from(
    [{"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}, {"separators": (" ,", " : ")}]
)


def test_one_value_changes_and_every_other_byte_stays():
    body = b' {"a" : 1.50 ,\n"model":"x" , "u":"\\u00e4"} '
    assert read(body).edited({"model": b'"y"'}) == b' {"a" : 1.50 ,\n"model":"y" , "u":"\\u00e4"} '


@given(OBJECTS, STYLES, st.text(), VALUES)
def test_an_edit_is_what_an_edit_of_the_object_is(value, style, key, new):
    body = json.dumps(value, **style).encode()
    members = read(body)
    assert members.body == body
    assert json.loads(members.edited({key: json.dumps(new).encode()})) == {**value, key: new}
    assert members.edited({}) == body


@given(OBJECTS, STYLES, st.data())
def test_what_is_dropped_is_gone_and_the_rest_is_there(value, style, data):
    dropped = data.draw(st.sets(st.sampled_from([*value, "absent"])))
    left = json.loads(read(json.dumps(value, **style).encode()).edited({}, dropped))
    assert left == {key: inner for key, inner in value.items() if key not in dropped}


@pytest.mark.parametrize(
    "body", [b'{"a":1,"b":2,"a":3}', b'{"a":1,"a":3,"b":2}', b'{"a":9,"\\u0061":3,"b":2}', b'{"a":3,"b":2,"a":3}']
)
def test_of_a_key_that_comes_twice_only_the_last_is_left_for_anybody_to_read(body):
    rebuilt = read(body).body
    assert json.loads(rebuilt, object_pairs_hook=lambda pairs: pairs) == [("a", 3), ("b", 2)]


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_any_bytes_are_read_or_refused_with_a_value_error(body):
    try:
        read(body)
    except ValueError:
        return
    assert isinstance(json.loads(body), dict)
