import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.load import parse
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.gateway.key_orders import order, shown
from pitstop.gateway.keys import KeyRing, add_key, keys_path, presented_keys, read_keys, revoke_key
from support.gateway_world import make_key

CONFIG = parse('[engine.a]\nkind="vllm"\nmodel="m"\nbase_url="http://x/v1"\n[gateway.route.mid]\nengine="a"')


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path).prepared()


def test_a_key_is_stored_as_a_hash_in_a_file_of_its_owner(home):
    key = make_key(home, "bob")
    content = keys_path(home).read_text()
    assert key not in content
    assert key.rpartition("-")[2] not in content
    assert oct(keys_path(home).stat().st_mode & 0o777) == "0o600"
    assert [stored.name for stored in read_keys(home)] == ["bob"]


def test_a_key_opens_and_a_revoked_one_does_not(home):
    key = make_key(home, "bob")
    make_key(home, "eve")
    assert KeyRing(read_keys(home)).holder(key, 0).name == "bob"
    revoke_key(home, "bob")
    assert KeyRing(read_keys(home)).holder(key, 0) is None


def test_a_key_ends_when_it_expires(home):
    key = make_key(home, "bob", expires="1h")
    [stored] = read_keys(home)
    ends_s = stored.created_at_s + 3600
    assert KeyRing([stored]).holder(key, ends_s - 1) == stored
    assert KeyRing([stored]).holder(key, ends_s) is None
    assert [shown(stored, at_s)["state"] for at_s in (ends_s - 1, ends_s)] == ["valid", "expired"]


@given(st.text(max_size=90))
def test_no_made_up_text_opens_and_an_empty_ring_is_closed(text):
    assert KeyRing().holder(text, 0) is None


@given(st.data())
def test_a_key_with_one_character_changed_does_not_open(tmp_path_factory, data):
    home = Home(tmp_path_factory.mktemp("home")).prepared()
    key = make_key(home)
    place = data.draw(st.integers(0, len(key) - 1))
    other = data.draw(st.characters(max_codepoint=300).filter(lambda character: character != key[place]))
    assert KeyRing(read_keys(home)).holder(key[:place] + other + key[place + 1 :], 0) is None


@pytest.mark.parametrize(
    ("authorization", "x_api_key", "wanted"),
    [
        (["Bearer k"], [], ["k"]),
        (["bEaReR  k "], [], ["k"]),
        (["Basic k"], ["x"], ["x"]),
        (["Bearer k"], ["x"], ["k", "x"]),
        (["Bearer "], [""], []),
        ([], [], []),
    ],
)
def test_a_key_is_shown_in_one_of_two_ways(authorization, x_api_key, wanted):
    assert presented_keys(authorization, x_api_key) == wanted


def test_a_name_is_taken_once_and_fits_a_log_line(home):
    make_key(home, "bob")
    with pytest.raises(UsageError, match="already"):
        make_key(home, "bob")
    for name in ("", "a b", "a\nb", "-x", "x" * 65, 'a"'):
        with pytest.raises(UsageError, match="cannot name a key"):
            make_key(home, name)
    with pytest.raises(UsageError, match="there are: bob"):
        revoke_key(home, "eve")


def test_keys_made_at_the_same_time_are_all_there(home):
    threads = [threading.Thread(target=make_key, args=(home, f"k{number}")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_keys(home)) == 8


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"keys":[{}]}', b"\xff"])
def test_a_damaged_file_is_a_sentence_and_never_an_open_or_empty_door(home, content):
    make_key(home)
    keys_path(home).write_bytes(content)
    with pytest.raises(UsageError, match="cannot be read"):
        read_keys(home)
    with pytest.raises(UsageError, match="cannot be read"):
        make_key(home, "another")
    assert keys_path(home).read_bytes() == content


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"routes": ["mdi"]}, "did you mean `mid`?"),
        ({"rate": "60"}, "is not a rate"),
        ({"expires": "soon"}, "is no time"),
        ({"expires": "2020-01-01"}, "has passed"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(wish, sentence):
    wishes = {"routes": [], "rate": "", "concurrency": None, "expires": "", **wish}
    with pytest.raises(UsageError, match=sentence):
        order("x", CONFIG, now_s=1.7e9, **wishes)


def test_add_key_gives_what_was_ordered(home):
    made = order("x", CONFIG, routes=["mid", "mid"], rate="5 / s", concurrency=2, expires="2099-01-01", now_s=1e9)
    add_key(home, made, "x")
    [stored] = read_keys(home)
    assert (stored.routes, stored.rate, stored.concurrency) == (("mid",), "5/s", 2)
    assert stored.expires_at_s > 4e9
