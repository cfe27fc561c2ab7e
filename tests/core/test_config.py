import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.consistency import knobs_of
from pitstop.core.config.load import find, load, parse
from pitstop.core.config.masked import without_secrets
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
        (('minimum_effect = "3 %"', 'minimum_score_effect = "0 %"'), "`trial.nightly.minimum_score_effect`: must lie"),
        (('minimum_effect = "3 %"', 'minimum_effect = "100 %"'), "`trial.nightly.minimum_effect`: must lie"),
        (('idle_for = "5 min"', 'window = "25:00-26:00"'), "`trial.nightly.window`: '25:00-26:00' is not a window"),
        (('idle_for = "5 min"', 'window = "03:00-03:00"'), "ends where it begins"),
        (('MTP_K = "2"', 'MTPK = "2"'), "unknown knob 'MTPK'; did you mean `MTP_K`?"),
        (('"decode", ', '"decoed", '), "unknown ruler 'decoed'; did you mean `decode`?"),
        (('engine = "qwen"', 'engine = "qwn"'), "there is no engine 'qwn'; did you mean `qwen`?"),
        (('kind = "vllm"', 'kind = "vlm"'), "`engine.qwen.kind`: Invalid enum value 'vlm'"),
        (('boot_timeout = "15 min"', "boot_timeout = 15"), "`engine.qwen.boot_timeout`: 15 needs a unit"),
        (('"12 GiB"', '"12"'), "'12' is not a size with a unit"),
        (('MTP_K = "2"', 'MTP_K = "off"'), "is equal to production"),
        (("boots = 2", "boots = 0"), "`trial.nightly.boots`: must lie between 1 and 1,000, not 0"),
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


TWO = (
    GOOD
    + """
[engine.swift]
kind = "vllm"
model = "s"
base_url = "http://127.0.0.1:8002/v1"
[trial.other]
engine = "qwen"
[trial.other.variant.k3]
MTP_K = "3"
"""
)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('"5 min"', '"5"'), "`trial.nightly.idle_for`: '5' is not a duration"),
        (('MTP_K = "2"', "MTP_K = 2"), "`trial.nightly.variant.k2.MTP_K`: Expected `str`, got `int`."),
        (('kind = "vllm"\nmodel = "s"', 'kind = "vlm"\nmodel = "s"'),
         "'vlm'; it is one of vllm, llamacpp, sglang, openai; did you mean `vllm`?"),
        (('kind = "vllm"\nmodel = "s"', 'kind = "vlm"\nmodel = "s"'), "`engine.swift.kind`: Invalid enum value"),
        (('with = "docker"', 'with = "dcoker"'), "`engine.qwen.launch.with`: Invalid value 'dcoker'; it is one of"),
        (('order = "ABBA"', 'order = "BAAB"'), "`trial.nightly.order`: Invalid enum value 'BAAB'; it is one of ABBA"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_among_several_and_with_what_may_stand_there(change, sentence):
    with pytest.raises(ConfigError) as caught:
        parse(TWO.replace(*change))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("boots = 2", "boots = 1000000000000"), "`trial.nightly.boots`: must lie between 1 and 1,000"),
        (("boots = 2", "runs = 0"), "`trial.nightly.runs`: must lie between 1 and 10,000, not 0"),
        (("boots = 2", "max_tokens = 1"), "`trial.nightly.max_tokens`: must lie between 2"),
        (("boots = 2", "pp = [8000, -1]"), "`trial.nightly.pp`: must lie between 1 and 100,000,000, not -1"),
        (("boots = 2", "concurrency = []"), "`trial.nightly.concurrency`: is empty"),
        (('"prefill", "quality"', '"decode"'), "`trial.nightly.rulers`: 'decode' is named twice"),
        (("variant.k2", 'variant."../../k2"'), "'../../k2' cannot be a name"),
        (("variant.k2", "variant.production"), "every trial has an arm of that name"),
        (("[trial.nightly", '[trial."a/b"'), "'a/b' cannot be a name"),
        (('"15 min"', '"0 s"'), "`engine.qwen.boot_timeout`: must be more than nothing"),
        (('"qwen3.6-35b"', '""'), "`engine.qwen.model`: '' is no name"),
        (("127.0.0.1:8001", "[::1"), "`engine.qwen.base_url`: cannot be read as a URL"),
        (("127.0.0.1:8001", "127.0.0.1:800100"), "`engine.qwen.base_url`: cannot be read as a URL (Port"),
        (("8001/v1", "8001/v1?key=1"), "carries a query or a fragment"),
    ],
)
def test_what_would_never_end_or_leave_its_folder_is_refused(change, sentence):
    with pytest.raises(ConfigError) as caught:
        parse(GOOD.replace(*change))
    assert sentence in str(caught.value)


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(ConfigError, match="user name or password") as caught:
        parse(GOOD.replace("127.0.0.1:8001", "me:geheim@127.0.0.1:8001"))
    assert "geheim" not in str(caught.value)


def test_a_mark_of_another_system_in_front_is_passed_over(tmp_path):
    file = tmp_path / "pitstop.toml"
    file.write_text(GOOD, "utf-8-sig")
    assert list(load(file).engine) == ["qwen"]


def test_nesting_without_end_is_no_toml_and_ten_thousand_wrong_keys_are_not_all_shown():
    with pytest.raises(ConfigError, match="not valid TOML"):
        parse("a = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(ConfigError, match="and 9980 more") as caught:
        parse("[host]\n" + "\n".join(f"k{number} = 1" for number in range(10_000)))
    assert len(str(caught.value).splitlines()) < 25


def test_a_configuration_that_is_shown_hides_secrets_wherever_they_stand():
    text = GOOD.replace('"--gpus", "all"', '"-e", "HF_TOKEN=geheim1"').replace(
        '"/models/Q"', '"Q", "--api-key", "geheim2"'
    )
    text = text.replace('default = "marlin"\nenv = "MOE_BACKEND"', 'default = "geheim3"\nenv = "MOE_TOKEN"')
    shown = str(without_secrets(parse(text)))
    assert "geheim" not in shown
    assert "HF_TOKEN=***" in shown
