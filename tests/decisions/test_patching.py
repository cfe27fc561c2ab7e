"""A patch fits exactly, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.decisions.patching import Change, Fit, diff, examine, module_of, sha256_of

SOURCE = b"""\
def a():
    return bmm(
        x,
        "auto",
    )

def b():
    return bmm(
        "auto",
    )
"""
CHANGE = Change('        "auto",', '        "cublas",', 2)


def test_the_reports_two_lines_are_changed_and_nothing_else():
    found = examine(SOURCE, CHANGE)
    assert found.fit is Fit.APPLIES
    assert found.patched == SOURCE.replace(b'"auto"', b'"cublas"')


@pytest.mark.parametrize(
    ("content", "change"),
    [
        (SOURCE, Change(CHANGE.expect, CHANGE.replace, 1)),
        (SOURCE, Change(CHANGE.expect, CHANGE.replace, 3)),
        (SOURCE, Change('       "auto",', CHANGE.replace, 2)),
        (SOURCE, Change('"auto"', '"cublas"', 2)),
        (SOURCE.replace(b"auto", b"Auto"), CHANGE),
        (SOURCE.replace(b'"auto",', b'"auto", '), CHANGE),
        (SOURCE.replace(b'        "auto"', b'\t"auto"'), CHANGE),
        (b"", CHANGE),
        (SOURCE, Change(CHANGE.expect, CHANGE.replace, 2, "0" * 64)),
        (SOURCE.replace(b'"auto"', b'"cublas"', 1), CHANGE),
    ],
)
def test_nearly_is_not_enough(content, change):
    found = examine(content, change)
    assert found.fit is Fit.DOES_NOT_APPLY
    assert found.patched is None


def test_what_is_mended_already_is_left_alone():
    mended = examine(SOURCE, CHANGE).patched
    assert examine(mended, CHANGE).fit is Fit.ALREADY
    assert examine(mended, Change(CHANGE.expect, CHANGE.replace, 2, sha256_of(SOURCE))).fit is Fit.ALREADY


def test_several_lines_are_matched_together_and_line_ends_stay():
    change = Change('\n        x,\n        "auto",\n', '\n        x,\n        "cublas",\n', 1)
    assert examine(SOURCE, change).fit is Fit.APPLIES
    dos = SOURCE.replace(b"\n", b"\r\n")
    assert examine(dos, CHANGE).patched == dos.replace(b'"auto"', b'"cublas"')


def test_a_file_without_a_last_newline_stays_so():
    assert examine(b"a\nb", Change("b", "c", 1)).patched == b"a\nc"


@given(st.binary(max_size=400), st.text("ab\n", min_size=1, max_size=6), st.integers(1, 3))
def test_only_matched_lines_ever_change(content, expect, count):
    change = Change(expect, "REPLACED", count)
    found = examine(content, change)
    if found.patched is not None:
        assert found.patched.count(b"REPLACED") - content.count(b"REPLACED") == count
        assert examine(found.patched, Change("REPLACED", expect, count)).fit in (Fit.APPLIES, Fit.DOES_NOT_APPLY)


def test_the_diff_shows_two_changed_lines():
    text = diff(SOURCE, examine(SOURCE, CHANGE).patched, "f.py")
    assert [line for line in text.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        '-        "auto",', '+        "cublas",', '-        "auto",', '+        "cublas",',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("/usr/local/lib/python3.12/dist-packages/vllm/utils/flashinfer.py", "vllm.utils.flashinfer"),
        ("/opt/venv/lib/python3.12/site-packages/vllm/__init__.py", "vllm"),
        ("/opt/venv/lib/python3.12/site-packages/vllm/data.json", ""),
        ("/app/server.py", ""),
        ("/x/site-packages/not-a-name/y.py", ""),
    ],
)
def test_a_module_is_told_from_its_path(file, module):
    assert module_of(file) == module
