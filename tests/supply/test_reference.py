"""Image references."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.errors import UsageError
from pitstop.supply.reference import copy_in, is_loopback, original_of, parse_reference, same_repository

D = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "registry", "path", "tag", "digest"),
    [
        ("ubuntu", "docker.io", "library/ubuntu", None, None),
        ("docker.io/ubuntu:24.04", "docker.io", "library/ubuntu", "24.04", None),
        ("index.docker.io/vllm/vllm-openai", "docker.io", "vllm/vllm-openai", None, None),
        ("vllm/vllm-openai:v0.28.0", "docker.io", "vllm/vllm-openai", "v0.28.0", None),
        ("localhost:5000/x@" + D, "localhost:5000", "x", None, D),
        ("localhost/x:1", "localhost", "x", "1", None),
        ("127.0.0.1:5000/a/b:t@" + D, "127.0.0.1:5000", "a/b", "t", D),
        ("[::1]:5000/a:t", "[::1]:5000", "a", "t", None),
        ("ghcr.io/o/r:v0.28.0-gb10.2@" + D, "ghcr.io", "o/r", "v0.28.0-gb10.2", D),
        ("quay.io/a/b/c__d-e.f", "quay.io", "a/b/c__d-e.f", None, None),
    ],
)
def test_a_reference_is_taken_apart(text, registry, path, tag, digest):
    found = parse_reference(text)
    assert (found.registry, found.path, found.tag, found.digest) == (registry, path, tag, digest)
    assert parse_reference(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        "", ":", "x:", "x@", "x@sha256:12", "x@" + D + "@" + D, "UPPER/Case", "a b", "x:ta g", "ghcr.io/", "/x",
        "http://ghcr.io/o/r", "x:" + "t" * 129, "-x/y", "a//b", "x@md5:" + "a" * 32,
    ],
)  # fmt: skip
def test_what_is_no_reference_gets_a_sentence(text):
    with pytest.raises(UsageError):
        parse_reference(text)


@given(st.text(max_size=80))
def test_any_text_is_a_reference_or_a_sentence(text):
    try:
        found = parse_reference(text)
    except UsageError:
        return
    assert parse_reference(str(found)) == found


def test_shorthand_does_not_make_two_repositories():
    assert same_repository("ubuntu", "docker.io/library/ubuntu")
    assert same_repository("index.docker.io/a/b", "a/b")
    assert not same_repository("localhost:5000/a/b", "a/b")
    assert not same_repository("<none>", "a/b")


@pytest.mark.parametrize("text", [f"ghcr.io/o/r:t@{D}", f"ubuntu:24.04@{D}", f"localhost:5001/x:1@{D}"])
def test_a_copy_in_the_mirror_leads_back_to_its_original(text):
    original = parse_reference(text)
    copy = copy_in("127.0.0.1:5000", original)
    assert parse_reference(str(copy)) == copy
    assert original_of(copy, "127.0.0.1:5000") == original


def test_what_is_no_copy_is_its_own_original():
    for text in (f"ghcr.io/o/r:t@{D}", "127.0.0.1:5000/plain:1"):
        assert original_of(parse_reference(text), "127.0.0.1:5000") == parse_reference(text)


def test_only_this_machine_is_loopback():
    assert all(map(is_loopback, ("localhost", "localhost:5000", "127.0.0.1:5000", "127.9.9.9", "[::1]:5000")))
    assert not any(map(is_loopback, ("ghcr.io", "localhost.example.org", "10.0.0.1:5000", "example.org:127")))
