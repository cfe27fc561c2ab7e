import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.client.exchange import Exchange
from pitstop.client.sse import _any, _usual, parse_events


def events(body: bytes) -> list[tuple[str, bytes, str]]:
    return [(event.type, event.data, event.last_id) for event in parse_events(body).events]


def texts(body: bytes) -> list[bytes]:
    return [event.data for event in parse_events(body).events]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
        (b"data: a\rdata: b\r\r", [b"a\nb"]),
        (b"data: a\r\n\ndata: b\n\r\n", [b"a", b"b"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b": comment\n\n", []),
        (b":\n\n", []),
        (b": ping - 2024-02-23 06:52:12.876102\r\n\r\ndata: a\r\n\r\n", [b"a"]),
        (b"data: : keepalive\n\n", [b": keepalive"]),
        (b"event: ping\ndata:\n\n", [b""]),
        (b"data\n\n", [b""]),
        (b"data\ndata\n\n", [b"\n"]),
        (b"event: only\n\n", []),
        (b"id: 7\n: ping\n\n", []),
        (b"data: a\n\n\n\n\ndata: b\n\n", [b"a", b"b"]),
        (b"Data: a\n\n", []),
        (b" data: a\n\n", []),
        ("data: a\u2028b\u2029c\u0085d\x0b\x0c\n\n".encode(), ["a\u2028b\u2029c\u0085d\x0b\x0c".encode()]),
        (b"data: a\n", []),
        (b"data: a", []),
        (b"", []),
        (b"\xff\xfe\n\ndata: \xff\n\n", [b"\xff"]),
    ],
)
def test_a_body_is_read_as_the_standard_says(body: bytes, expected: list[bytes]) -> None:
    assert texts(body) == expected


def test_type_and_id_are_kept_and_the_id_lasts() -> None:
    body = b"event: x\nid: 1\ndata: a\n\ndata: b\n\nid: 2\0\ndata: c\n\nid\ndata: d\n\n"
    assert events(body) == [("x", b"a", "1"), ("message", b"b", "1"), ("message", b"c", "1"), ("message", b"d", "")]


def test_retry_counts_only_when_it_is_all_digits() -> None:
    assert parse_events(b"retry: 1500\nretry: 2s\nretry: -1\n\n").retry_ms == 1500


def test_what_no_blank_line_closed_is_the_tail() -> None:
    assert parse_events(b"data: a\n\ndata: [DONE]").tail is not None
    assert parse_events(b"data: a\n\n: comment").tail is None


def test_comments_are_counted() -> None:
    assert parse_events(b":\n\n: x\n\ndata: a\n\n").comments == 2


def test_a_long_line_without_an_end_is_read_in_linear_time() -> None:
    stream = parse_events(b"data: " + b"x" * 5_000_000)
    assert stream.tail is not None
    assert len(stream.tail.data) == 5_000_000


# -- a second, incremental reader written from the standard alone


def reference(pieces: list[bytes]) -> list[bytes]:  # noqa: C901 - one loop, as the standard tells it
    found, data, line = [], [], bytearray()
    skip_lf, first = False, True

    def take(line: bytes) -> None:
        nonlocal data
        if not line:
            if data:
                found.append(b"\n".join(data))
            data = []
        elif not line.startswith(b":"):
            name, colon, value = line.partition(b":")
            if name == b"data":
                data.append(value[1:] if colon and value[:1] == b" " else value)

    for byte in b"".join(pieces):
        if skip_lf and byte == 10:
            skip_lf = False
            continue
        skip_lf = byte == 13
        if byte in {10, 13}:
            whole = bytes(line)
            take(whole[3:] if first and whole.startswith(b"\xef\xbb\xbf") else whole)
            first = False
            line.clear()
        else:
            line.append(byte)
    return found


ALPHABET = st.sampled_from(
    [b"data", b"data:", b": ", b":", b"\r", b"\n", b"\r\n", b"\n\n", b"x", b" ", b"id", b"event: e", b"\xef\xbb\xbf",
     "\u2028".encode(), b"\xff", b"\0", b'{"a":1}', b"[DONE]"]
)  # fmt: skip


@given(st.lists(ALPHABET, max_size=60))
def test_it_agrees_with_a_reader_that_takes_byte_after_byte(parts: list[bytes]) -> None:
    assert texts(b"".join(parts)) == reference(parts)


@given(st.lists(ALPHABET, max_size=60), st.data())
def test_an_event_arrives_with_the_piece_that_ends_its_last_data_line(parts: list[bytes], data: st.DataObject) -> None:
    body = b"".join(parts)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(body) - 1)), max_size=8)) - {len(body)})
    ends = tuple([cut for cut in cuts if cut < len(body)] + [len(body)]) if body else ()
    raw = Exchange(url="", body=body, times=tuple(float(i) for i in range(len(ends))), ends=ends)
    for event in parse_events(body).events:
        index = int(raw.arrival(event.end))
        start = ends[index - 1] if index else 0
        assert start < event.end <= ends[index]
        assert re.search(rb"data", body[: event.end])
        assert body[event.end : event.end + 1] in {b"\r", b"\n"}


@given(
    st.lists(
        st.sampled_from([b"data: x\n\n", b"data: \n\n", b"data: data: \n\n", b": c\n\n", b"\n", b"data: y"]), max_size=9
    )
)
def test_the_quick_way_says_what_the_general_way_says(parts: list[bytes]) -> None:
    body = b"".join(parts)
    quick = _usual(body)
    if quick is not None:
        assert quick == _any(body)


def test_the_quick_way_is_taken_for_what_servers_send() -> None:
    assert _usual(b"data: {}\n\ndata: [DONE]\n\n") is not None
