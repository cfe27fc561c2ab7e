"""The image in `pitstop.toml` changes, and nothing else."""

import stat

import pytest

from pitstop.core.config.load import parse
from pitstop.core.errors import ConfigError
from pitstop.supply.pin_file import image_of, with_image, write_image

NEW = "ghcr.io/o/r:v2@sha256:" + "b" * 64
COMMENTED = """\
# my box
[host]
min_available = "12 GiB"   # what must stay free

[engine.qwen]
kind     = "vllm"
model    = "qwen"
base_url = "http://127.0.0.1:8001/v1"

[engine.qwen.launch]   # how it is started
with  = "docker"
name  = "vllm-mid"
image = 'ghcr.io/o/r:v1@sha256:{old}'   # the tag documents
run   = [
  "--gpus", "all",   # both of them
]

[engine.other]
kind = "openai"
model = "x"
base_url = "http://127.0.0.1:8002/v1"
launch = {{ with = "docker", name = "o", image = "o:1" }}
""".format(old="a" * 64)
OUT_OF_ORDER = (
    COMMENTED
    + '\n[trial.t]\nengine = "qwen"\n[trial.t.variant.a]\nIMAGE = "x:2"\n'
    + '\n[engine.qwen.knob.K]\nargs = ["{value}"]\n'
)


@pytest.mark.parametrize("text", [COMMENTED, OUT_OF_ORDER, COMMENTED.replace("\n", "\r\n")])
def test_only_the_image_changes(text):
    changed = with_image(text, "qwen", parse(text).engine["qwen"], NEW, "f")
    different = [(a, b) for a, b in zip(text.splitlines(), changed.splitlines(), strict=True) if a != b]
    assert len(different) == 1
    assert different[0][1].startswith("image = ")
    assert different[0][1].endswith("# the tag documents")
    assert image_of(parse(changed).engine["qwen"]) == NEW
    assert changed.count("\r\n") == text.count("\r\n")


def test_an_inline_table_is_changed_in_its_place():
    changed = with_image(COMMENTED, "other", parse(COMMENTED).engine["other"], NEW, "f")
    assert image_of(parse(changed).engine["other"]) == NEW
    assert changed.replace(NEW, "o:1") == COMMENTED


def test_the_knobs_default_is_changed_where_it_decides():
    text = COMMENTED + '\n[engine.qwen.knob.IMAGE]\ndefault = "ghcr.io/o/r:knob"  # decides\n'
    engine = parse(text).engine["qwen"]
    assert image_of(engine) == "ghcr.io/o/r:knob"
    changed = with_image(text, "qwen", engine, NEW, "f")
    assert image_of(parse(changed).engine["qwen"]) == NEW
    assert "v1@sha256" in changed


def test_what_would_not_read_back_is_not_written(tmp_path):
    path = tmp_path / "pitstop.toml"
    path.write_text(COMMENTED)
    with pytest.raises(ConfigError):
        with_image(COMMENTED, "nobody", parse(COMMENTED).engine["qwen"], NEW, "f")
    assert path.read_text() == COMMENTED


def test_mode_and_link_stay(tmp_path):
    path, link = tmp_path / "real.toml", tmp_path / "pitstop.toml"
    path.write_text(COMMENTED)
    path.chmod(0o640)
    link.symlink_to(path)
    engine = parse(COMMENTED).engine["qwen"]
    assert write_image(link, "qwen", engine, NEW)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not write_image(link, "qwen", parse(path.read_text()).engine["qwen"], NEW)
