import shlex
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.load import parse
from pitstop.core.errors import UsageError
from pitstop.launch.containers import engine_of
from pitstop.launch.docker import run_argv
from pitstop.launch.launcher import LaunchSpec
from pitstop.launch.plan import environ_with_literals, plan

GOLDEN = Path(__file__).with_name("golden")
TWO_MODELS = parse((GOLDEN / "two-models.toml").read_text()).engine
ENVIRON = {"PATH": "/usr/bin", "HOME": "/home/x", "MTP_K": "9", "HF_TOKEN": "hf_abcdefgh", "CACHE": "/srv/cache"}


def process(text: str = "", command: str = '["serve", "--port", "{port}"]', launch: str = ""):
    head = f"""
[engine.e]
kind = "vllm"
model = "m"
base_url = "http://127.0.0.1:8001/v1"
[engine.e.launch]
with = "process"
command = {command}
{launch}
"""
    return parse(head + text).engine["e"]


def planned(engine, overrides=None, environ=ENVIRON) -> LaunchSpec:
    return plan("e", engine, overrides, environ=environ, python="/venv/bin/python")


@pytest.mark.parametrize("engine", ["mid", "nemotron"])
def test_the_second_reports_commands_come_out_flag_for_flag(engine):
    spec = plan(engine, TWO_MODELS[engine], environ=ENVIRON)
    ours = [word for word in spec.argv if word not in ("--detach", "--pull", "never")]
    assert ours == shlex.split((GOLDEN / f"{engine}.sh").read_text().replace("\\\n", " "), comments=True)


@pytest.mark.parametrize("engine", ["mid", "nemotron"])
def test_what_is_run_is_the_command_with_two_labels(engine):
    spec = plan(engine, TWO_MODELS[engine], environ=ENVIRON)
    assert shlex.join(run_argv(spec)) + "\n" == (GOLDEN / f"{engine}.run").read_text()


def test_a_knob_adds_its_arguments_and_json_braces_survive():
    args = """[engine.e.knob.MTP_K]
args = ["--speculative-config", '{"method":"mtp","num_speculative_tokens":{value}}']"""
    engine = process(args)
    assert planned(engine).argv == ("serve", "--port", "8001")
    turned = planned(engine, {"MTP_K": "2"})
    assert turned.argv[3:] == ("--speculative-config", '{"method":"mtp","num_speculative_tokens":2}')
    assert turned.overrides == {"MTP_K": "2"}
    assert turned.fingerprint != planned(engine).fingerprint


def test_off_leaves_the_arguments_of_a_knob_out():
    engine = process('[engine.e.knob.K]\ndefault = "3"\nargs = ["--k={value}"]')
    assert planned(engine).argv[-1] == "--k=3"
    assert planned(engine, {"K": "off"}).argv == ("serve", "--port", "8001")


def test_an_environment_knob_says_off_when_it_is_turned_off():
    engine = process('[engine.e.knob.ASYNC_SCHED]\ndefault = "1"\nenv = "ASYNC_SCHED"')
    assert planned(engine).env == {"ASYNC_SCHED": "1"}
    assert planned(engine, {"ASYNC_SCHED": "off"}).env == {"ASYNC_SCHED": "off"}
    assert planned(process('[engine.e.knob.A]\nenv = "A"')).env == {}


def test_an_environment_variable_left_set_turns_nothing():
    engine = process('[engine.e.knob.MTP_K]\ndefault = "3"\nenv = "MTP_K"')
    assert planned(engine).env == {"MTP_K": "3"}


def test_port_and_python_are_filled_in_and_other_braces_stay():
    engine = process(command="""["{python}", "-p{port}", '{"a":{"b":1}}', "{other}", "{}", "{{port}}"]""")
    assert planned(engine).argv == ("/venv/bin/python", "-p8001", '{"a":{"b":1}}', "{other}", "{}", "{8001}")


def test_what_a_value_contains_is_not_filled_in_again():
    engine = process('[engine.e.knob.K]\nargs = ["{value}"]')
    assert planned(engine, {"K": "{port}{value}"}).argv[-1] == "{port}{value}"


@given(st.text(max_size=40).filter(lambda text: text != "off"))
def test_any_value_reaches_the_command_as_it_is(value):
    engine = msgspec.structs.replace(process('[engine.e.knob.K]\nargs = ["-k", "x{value}y"]'))
    try:
        assert planned(engine, {"K": value}).argv[-2:] == ("-k", f"x{value}y")
    except UsageError as error:
        assert "holds a secret" in error.message


def test_an_unknown_knob_gets_the_nearest_and_the_list():
    engine = process('[engine.e.knob.MTP_K]\nargs = ["{value}"]')
    with pytest.raises(UsageError, match="no knob 'MTPK'; did you mean `MTP_K`") as caught:
        planned(engine, {"MTPK": "2"})
    assert caught.value.hint == "Its knobs are: MTP_K."


def test_a_value_that_a_knob_does_not_take_is_refused():
    engine = process('[engine.e.knob.M]\ndefault = "a"\nvalues = ["a", "b"]\nargs = ["{value}"]')
    with pytest.raises(UsageError, match="cannot be 'c'"):
        planned(engine, {"M": "c"})


def test_an_engine_without_launch_cannot_be_planned():
    engine = msgspec.structs.replace(process(), launch=None)
    with pytest.raises(UsageError, match="has no"):
        planned(engine)


def test_no_secret_is_in_the_launch_value_and_another_one_is_another_engine():
    engine = process(
        launch='env = { HF_TOKEN = "${HF_TOKEN}", VLLM_API_KEY = "sk-literal-1", TOKENIZERS_PARALLELISM = "false" }'
    )
    spec = planned(engine)
    text = msgspec.json.encode(spec).decode() + repr(spec)
    assert "hf_abcdefgh" not in text
    assert "sk-literal" not in text
    assert spec.secret_env == {"HF_TOKEN": "HF_TOKEN", "VLLM_API_KEY": "VLLM_API_KEY"}
    assert spec.env == {"TOKENIZERS_PARALLELISM": "false"}
    assert planned(engine, environ={**ENVIRON, "HF_TOKEN": "hf_other000"}).fingerprint != spec.fingerprint
    assert planned(engine).fingerprint == spec.fingerprint
    assert environ_with_literals(engine, ENVIRON)["VLLM_API_KEY"] == "sk-literal-1"
    assert environ_with_literals(engine, ENVIRON)["HF_TOKEN"] == "hf_abcdefgh"


def test_a_reference_to_a_secret_makes_a_secret_of_any_name():
    spec = planned(process(launch='env = { UPSTREAM = "${HF_TOKEN}", HF_HOME = "${CACHE}" }'))
    assert spec.secret_env == {"UPSTREAM": "HF_TOKEN"}
    assert spec.env == {"HF_HOME": "/srv/cache"}


def test_a_reference_to_nothing_is_told():
    with pytest.raises(UsageError, match=r"HF_HOME from \$\{NOWHERE\}, which is not set"):
        planned(process(launch='env = { HF_HOME = "${NOWHERE}" }'))


def test_a_docker_secret_is_passed_by_name_only():
    engine = TWO_MODELS["mid"]
    launch = msgspec.structs.replace(engine.launch, env={"HF_TOKEN": "${HF_TOKEN}", "A": "b"})
    spec = plan("mid", msgspec.structs.replace(engine, launch=launch), environ=ENVIRON)
    at = spec.argv.index("--env")
    assert spec.argv[at : at + 4] == ("--env", "A=b", "--env", "HF_TOKEN")
    assert "hf_abcdefgh" not in " ".join(spec.argv)


@pytest.mark.parametrize(
    "command",
    [
        '["serve", "--api-key", "abc"]',
        '["serve", "--api-key=abc"]',
        '["serve", "--hf-token", "abc"]',
        '["env", "VLLM_API_KEY=abc", "serve"]',
        '["serve", "hf_abcdefghijkl"]',
        '["serve", "--proxy", "http://me:word@proxy:1"]',
    ],
)
def test_a_secret_in_a_command_line_is_refused_without_being_shown(command):
    with pytest.raises(UsageError, match="holds a secret") as caught:
        planned(process(command=command))
    assert "abc" not in str(caught.value)
    assert "word" not in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        '["serve", "--max-tokens", "512", "--tokenizer", "x", "--tokenizer-mode", "auto"]',
        '["serve", "--ssl-keyfile", "/etc/key.pem", "--kv-cache-dtype", "fp8", "--kv-transfer-config", "{}"]',
        '["serve", "--enable-auto-tool-choice", "--tool-call-parser", "qwen3_coder", "--skip-tokenizer-init"]',
        '["serve", "--api-key-file", "/run/key"]',
    ],
)
def test_ordinary_options_are_no_secrets(command):
    assert planned(process(command=command)).argv[0] == "serve"


@pytest.mark.parametrize("option", ["--name", "--name=x", "-d", "--detach", "--pull=always"])
def test_options_that_pitstop_sets_itself_are_refused(option):
    launch = msgspec.structs.replace(TWO_MODELS["mid"].launch, run=(option,))
    with pytest.raises(UsageError, match="set by pitstop itself"):
        plan("mid", msgspec.structs.replace(TWO_MODELS["mid"], launch=launch), environ=ENVIRON)


def test_the_image_is_a_knob_that_every_docker_engine_has():
    spec = plan("mid", TWO_MODELS["mid"], {"IMAGE": "localhost:5000/vllm@sha256:" + "0" * 64}, environ=ENVIRON)
    assert spec.image == spec.argv[int(spec.options["image_at"])] == "localhost:5000/vllm@sha256:" + "0" * 64


def test_a_launch_value_survives_the_journal():
    spec = plan("mid", TWO_MODELS["mid"], environ=ENVIRON)
    again = msgspec.json.decode(msgspec.json.encode(spec), type=LaunchSpec)
    assert again == spec
    assert again.fingerprint == spec.fingerprint


def test_only_what_finds_its_way_is_taken_from_the_environment():
    assert planned(process()).base_env == {"PATH": "/usr/bin", "HOME": "/home/x"}
    assert planned(process(), environ={"PATH": "/other"}).fingerprint == planned(process()).fingerprint


SCRIPT = """
[engine.e]
kind = "vllm"
model = "m"
base_url = "http://127.0.0.1:8001/v1"
[engine.e.launch]
with = "{launcher}"
{launch}
[engine.e.knob.MTP_K]
default = "3"
{knob}
"""


@pytest.mark.parametrize(
    ("launcher", "launch", "argv"),
    [
        ("script", 'start = ["./start-qwen.sh"]\nstop = ["./stop.sh"]', ("./start-qwen.sh",)),
        (
            "compose",
            'file = "/srv/compose.yaml"\nservice = "mid"\nproject = "box"',
            ("docker", "compose", "--file", "/srv/compose.yaml", "--project-name", "box", "up", "--detach", "--no-deps",
             "--pull", "never", "mid"),
        ),
        ("systemd", 'unit = "vllm-mid.service"', ("systemctl", "start", "vllm-mid.service")),
        ("systemd", 'unit = "vllm-mid.service"\nuser = true', ("systemctl", "--user", "start", "vllm-mid.service")),
    ],
)  # fmt: skip
def test_knobs_reach_other_launchers_by_environment(launcher, launch, argv):
    engine = parse(SCRIPT.format(launcher=launcher, launch=launch, knob='env = "MTP_K"')).engine["e"]
    assert planned(engine).argv == argv
    assert planned(engine, {"MTP_K": "2"}).env == {"MTP_K": "2"}
    # A unit's defaults stand in its own file; a script and a compose file are told them.
    assert planned(engine).env == ({} if launcher == "systemd" else {"MTP_K": "3"})


@pytest.mark.parametrize(
    ("launcher", "launch"),
    [("script", 'start = ["./s.sh"]\ncontainer = "c"'), ("systemd", 'unit = "u.service"\ncontainer = "c"'),
     ("docker", 'name = "c"\nimage = "r:1"')],
)  # fmt: skip
def test_whose_container_it_is_is_known_to_all_who_ask(launcher, launch):
    def of(more):
        text = SCRIPT.format(launcher=launcher, launch=f"{launch}\n{more}", knob='env = "MTP_K"')
        return planned(parse(text).engine["e"])

    assert engine_of(of("")).binary == "docker"
    assert engine_of(of('binary = "podman"')).binary == "podman"


@pytest.mark.parametrize(
    ("launcher", "launch"), [("compose", 'file = "f"\nservice = "s"'), ("systemd", 'unit = "u.service"')]
)
def test_a_knob_cannot_add_arguments_to_somebody_elses_file(launcher, launch):
    engine = parse(SCRIPT.format(launcher=launcher, launch=launch, knob='args = ["--k={value}"]')).engine["e"]
    with pytest.raises(UsageError, match="a knob cannot add"):
        planned(engine)


@pytest.mark.parametrize(
    ("url", "port", "host"),
    [
        ("http://h/v1", 80, "h"),
        ("https://h/v1", 443, "h"),
        ("http://[::1]:9/v1", 9, "::1"),
        ("http://h:70000/v1", None, ""),
    ],
)
def test_the_port_comes_from_the_base_url(url, port, host):
    engine = msgspec.structs.replace(process(), base_url=url)
    if port is None:
        with pytest.raises(UsageError, match="no valid port"):
            planned(engine)
    else:
        assert (planned(engine).port, planned(engine).host) == (port, host)


def test_a_secret_is_no_knob():
    engine = process('[engine.e.knob.TOKEN]\nenv = "HF_TOKEN"')
    with pytest.raises(UsageError, match="a knob cannot carry the secret HF_TOKEN") as caught:
        planned(engine, {"TOKEN": "hf_abcdefghijkl"})
    assert "hf_abc" not in str(caught.value)


@pytest.mark.parametrize(("overrides", "last"), [({}, "unless-stopped"), ({"IMAGE": "x:1"}, "--restart=no")])
def test_only_production_is_revived_by_its_container_engine(overrides, last):
    launch = msgspec.structs.replace(TWO_MODELS["mid"].launch, run=("--restart", "unless-stopped"))
    spec = plan("mid", msgspec.structs.replace(TWO_MODELS["mid"], launch=launch), overrides, environ=ENVIRON)
    assert spec.argv[int(spec.options["image_at"]) - 1] == last
