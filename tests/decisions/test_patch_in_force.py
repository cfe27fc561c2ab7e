"""What is mounted is the patch for this image and is imported, or a sentence says why not."""

import pytest

from pitstop.decisions.patch_in_force import Laid, Loaded, misfit, unlike, without_effect
from pitstop.decisions.patching import Change, sha256_of

BEFORE = b'def a():\n    x(\n        "auto",\n    )\n'
AFTER = BEFORE.replace(b"auto", b"cublas")
CHANGE = Change('        "auto",', '        "cublas",', 1)
REMOVAL = Change('        "auto",', "", 1)
FILE = "/app/site-packages/vllm/utils/flashinfer.py"
MODULE = "vllm.utils.flashinfer"


def laid(content=AFTER, *, bound=True):
    return Laid("/srv/patched.py", content, "r:v1@sha256:1", "r:v2@sha256:2", bound)


@pytest.mark.parametrize(
    ("content", "bound", "words"),
    [
        (AFTER, True, ""),
        (AFTER, False, "belongs to r:v1@sha256:1, and /srv/patched.py is mounted over r:v2@sha256:2"),
        (BEFORE, False, "belongs to r:v1@sha256:1"),
        (BEFORE, True, "not what the patch makes (1 of 1 expected place(s) found)"),
        (b"something else\n", True, "not what the patch makes (0 of 1 expected"),
        (AFTER + BEFORE, True, "not what the patch makes"),
        (b"", True, "not what the patch makes"),
        (None, True, "cannot be read"),
        (None, False, "belongs to"),
    ],
)
def test_what_is_mounted_must_be_the_patch_for_the_image_that_runs(content, bound, words):
    said = misfit(laid(content, bound=bound), CHANGE)
    assert words in said
    assert bool(said) == bool(words)


@pytest.mark.parametrize(
    ("content", "change", "is_like"),
    [
        (AFTER, CHANGE, True),
        (BEFORE, CHANGE, False),
        (AFTER, Change(CHANGE.expect, CHANGE.replace, 2), False),
        (AFTER, Change(CHANGE.expect, CHANGE.replace, 1, "0" * 64), True),  # the hash is of the file before
        (b"def a():\n    x(\n    )\n", REMOVAL, True),
        (BEFORE, REMOVAL, False),
    ],
)
def test_a_file_holds_the_replacement_and_nothing_of_what_it_replaces(content, change, is_like):
    assert (unlike(content, change) == "") == is_like


@pytest.mark.parametrize(
    ("content", "file", "digest", "words"),
    [
        (AFTER, FILE, sha256_of(AFTER), ""),
        (AFTER, "/usr/lib64/flashinfer.py", sha256_of(AFTER), ""),  # the same file by another path
        (AFTER, None, None, f"finds no module {MODULE}"),
        (AFTER, "/other/flashinfer.py", sha256_of(BEFORE), "from /other/flashinfer.py, not from /app"),
        (AFTER, FILE, sha256_of(BEFORE), "changed after the launch"),
    ],
)
def test_what_is_mounted_must_be_what_the_engine_imports(content, file, digest, words):
    said = without_effect(laid(content), Loaded(MODULE, file, digest), FILE)
    assert words in said
    assert bool(said) == bool(words)
