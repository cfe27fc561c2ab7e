import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.consistency import knobs_of
from pitstop.core.config.load import find, parse
from pitstop.core.config.schema import json_schema
from pitstop.core.errors import ConfigError

GOOD = """
[host]
min_available = "12 GiB"
[engine.qwen]
kind = "vllm"
model = "qwen3.6-35b"
base_url = "http://127.0.0.1:8001/v1"
production = true
boot_timeout = "15 min"
[engine.qwen.launch]
with = "docker"
name = "vllm-mid"
image = "ghcr.io/x/vllm:v1@sha256:00"
run = ["--gpus", "all"]
command = ["vllm", "serve", "/models/Q"]
[engine.qwen.knob.MTP_K]
default = "off"
args = ["--speculative-config", '{"method":"mtp","num_speculative_tokens":{value}}']
[engine.qwen.knob.IMAGE]
[engine.qwen.knob.MOE_BACKEND]
default = "marlin"
env = "MOE_BACKEND"
[trial.nightly]
engine = "qwen"
rulers = ["decode", "prefill", "quality"]
order = "ABBA"
boots = 2
minimum_effect = "3 %"
idle_for = "5 min"
guard = { min_available = "8 GiB" }
[trial.nightly.variant.k2]
MTP_K = "2"
"""


def test_the_example_of_the_manual_is_read():
    config = parse(GOOD)
    assert config.host.min_available == 12 * 2**30
    assert config.trial["nightly"].minimum_effect == pytest.approx(0.03)
    assert knobs_of(config.engine["qwen"])["IMAGE"].startswith("ghcr.io/x/vllm")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("min_available =", "min_availble ="), "unknown key `host.min_availble`; did you mean `min_available`?"),
        (("boot_timeout =", "boottimeout ="), "unknown key `engine.qwen.boottimeout`; did you mean `boot_timeout`?"),
        (('name = "vllm-mid"', 'nmae = "vllm-mid"'), "unknown key `engine.qwen.launch.nmae`; did you mean `name`?"),
        (('MTP_K = "2"', 'MTPK = "2"'), "unknown knob 'MTPK'; did you mean `MTP_K`?"),
        (('"decode", ', '"decoed", '), "unknown ruler 'decoed'; did you mean `decode`?"),
        (('engine = "qwen"', 'engine = "qwn"'), "there is no engine 'qwn'; did you mean `qwen`?"),
        (('kind = "vllm"', 'kind = "vlm"'), "`engine.qwen.kind`: Invalid enum value 'vlm'"),
        (('boot_timeout = "15 min"', "boot_timeout = 15"), "`engine.qwen.boot_timeout`: 15 needs a unit"),
        (('"12 GiB"', '"12"'), "'12' is not a size with a unit"),
        (('MTP_K = "2"', 'MTP_K = "off"'), "is equal to production"),
        (("boots = 2", "boots = 0"), "at least one boot"),
        (('"12 GiB"', '"12 GiB"\nmemory_bandwidth = "273"'), "`host.memory_bandwidth`: '273' is not a bandwidth"),
        (('"12 GiB"', '"12 GiB"\nmemory_bandwidth = "0 GB/s"'), "nothing is read at 0 bytes a second"),
        (("http://127", "htp://127"), "is not an http(s) URL"),
        (('with = "docker"', 'with = "dcoker"'), "dcoker"),
        (("[host]", "[host"), "is not valid TOML"),
    ],
)
def test_what_is_wrong_gets_a_sentence_with_its_key(change, sentence):
    with pytest.raises(ConfigError) as caught:
        parse(GOOD.replace(*change))
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 2


def test_several_unknown_keys_are_told_at_once():
    with pytest.raises(ConfigError) as caught:
        parse("[hots]\n[engines]\n")
    assert "hots" in str(caught.value)
    assert "engines" in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_config_error(text):
    try:
        parse(text)
    except ConfigError as error:
        assert error.message


def test_the_schema_accepts_what_the_reader_accepts():
    import tomllib

    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(tomllib.loads(GOOD), json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(GOOD.replace("[host]", "[hots]")), json_schema())


def test_the_file_is_looked_for_in_the_documented_order(tmp_path):
    environ = {"PITSTOP_CONFIG": "/named.toml", "XDG_CONFIG_HOME": "/xdg"}
    assert str(find("/chosen.toml", environ, tmp_path)) == "/chosen.toml"
    assert str(find(None, environ, tmp_path)) == "/named.toml"
    assert str(find(None, {"XDG_CONFIG_HOME": "/xdg"}, tmp_path)) == "/xdg/pitstop/pitstop.toml"
    (tmp_path / "pitstop.toml").touch()
    assert find(None, environ, tmp_path) == tmp_path / "pitstop.toml"


def test_the_example_that_init_writes_can_work():
    from importlib.resources import files

    assert parse(files("pitstop.core.config").joinpath("example.toml").read_text("utf-8")).trial["nightly"].boots == 2
