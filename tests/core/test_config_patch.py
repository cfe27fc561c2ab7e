"""What cannot work in `[patch.NAME]` gets a sentence."""

import pytest

from pitstop.core.config.load import parse
from pitstop.core.errors import ConfigError

GOOD = """
[engine.qwen]
kind = "vllm"
model = "m"
base_url = "http://127.0.0.1:1/v1"
[patch.cublas]
engine = "qwen"
image = "ghcr.io/o/r:v1@sha256:{digest}"
file = "/usr/lib/python3/dist-packages/vllm/utils/flashinfer.py"
expect = '        "auto",'
replace = '        "cublas",'
count = 2
""".format(digest="a" * 64)


def test_a_good_patch_is_read():
    assert parse(GOOD).patch["cublas"].count == 2


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('engine = "qwen"', 'engine = "qwem"', "did you mean `qwen`"),
        ("@sha256:" + "a" * 64, "", "belongs to one digest"),
        ('"/usr', '"usr', "absolute path"),
        ("dist-packages/vllm", "../../etc", "absolute path"),
        ("count = 2", "count = 0", "at least one place"),
        ('"cublas",', '"auto",', "another one than"),
        ("count = 2", 'sha256 = "12"', "64 hexadecimal"),
        ("[patch.cublas]", '[patch."a/b"]', "becomes a file's"),
    ],
)
def test_what_cannot_work_gets_a_sentence(old, new, word):
    with pytest.raises(ConfigError, match=word):
        parse(GOOD.replace(old, new))
