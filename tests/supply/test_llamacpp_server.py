import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from pitstop.client.endpoint import Endpoint
from pitstop.engines.adapter import Readiness
from pitstop.engines.registry import adapter_for
from support.embedded import embedded_engine, free_port, model_file

SERVER = [sys.executable, "-m", "pitstop.supply.llamacpp_server"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SERVER, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_version_is_that_of_the_wheel() -> None:
    said = run("--version")
    assert said.returncode == 0
    assert said.stdout.startswith("xllamacpp 20")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "/nowhere.gguf", "--port", "22900"], "/nowhere.gguf is no file"),
        (["--model", "/etc/hostname", "--port", "0"], "not within 1 and 65535"),
        (["--model", "/etc/hostname", "--port", "22900", "--spec", "magic"], "invalid choice"),
        (["--model", "/etc/hostname", "--port", "22900", "--sampling", "min_p"], "is not NAME=VALUE"),
        (["--model", "/etc/hostname", "--port", "22900", "--sampling", "minp=0.1"], "it has "),
        (["--model", "/etc/hostname", "--port", "22900", "--sampling", "top_k=many"], "that is no int"),
        (["--model", "/etc/hostname", "--port", "22900", "--api-key-env", "NOT_SET_HERE"], "that variable is not set"),
    ],
)
def test_a_bad_argument_gets_a_sentence_and_code_2(arguments: list[str], words: str) -> None:
    said = run(*arguments)
    assert (said.returncode, words in said.stderr) == (2, True)


def test_defaults_of_the_sampler_and_the_template_reach_the_engine(tmp_path) -> None:
    words = "--sampling", "min_p=0.25", "--sampling", "top_k=7", "--chat-template", "llama2", "--ctx", "512"
    with embedded_engine(tmp_path / "log", *words) as endpoint:
        with urllib.request.urlopen(endpoint.base_url.replace("/v1", "/props"), timeout=30) as reply:
            props = json.load(reply)
        sampling = props["default_generation_settings"]["params"]
    assert (sampling["min_p"], sampling["top_k"]) == (0.25, 7)
    assert "SmolLM" not in props["chat_template"]


def test_a_file_that_is_no_model_gets_a_sentence_and_code_3(tmp_path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    said = run("--model", str(tmp_path / "bad.gguf"), "--port", str(free_port()))
    assert (said.returncode, "llama.cpp did not start" in said.stderr) == (3, True)


def test_a_port_in_use_gets_a_sentence_and_code_3(tmp_path) -> None:
    with embedded_engine(tmp_path / "log", "--ctx", "512") as endpoint:
        port = endpoint.base_url.split(":")[2].removesuffix("/v1")
        said = run("--model", str(model_file()), "--port", port)
        assert (said.returncode, port in said.stderr) == (3, True)


def started(until: str) -> subprocess.Popen[str]:
    engine = subprocess.Popen(
        [*SERVER, "--model", str(model_file()), "--port", str(free_port())], stderr=subprocess.PIPE, text=True
    )
    assert engine.stderr is not None
    while until not in engine.stderr.readline():
        assert engine.poll() is None
    return engine


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    engine = started("serving smollm2 on")
    engine.send_signal(number)
    _, rest = engine.communicate(timeout=60)
    assert (engine.returncode, f"stopped by {number.name}" in rest) == (0, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_it_loads_without_waiting_for_the_model(number: signal.Signals) -> None:
    engine = started("loading model '")
    engine.send_signal(number)
    _, rest = engine.communicate(timeout=60)
    assert (engine.returncode, "model loaded" in rest) == (-number, False)


async def test_the_key_comes_from_the_environment_and_is_wanted(tmp_path) -> None:
    with embedded_engine(
        tmp_path / "log", "--ctx", "512", "--api-key-env", "DEMO_KEY", environ={"DEMO_KEY": "k3y"}
    ) as endpoint:
        for key, expected in (("k3y", Readiness.READY), ("wrong", Readiness.REFUSED), (None, Readiness.REFUSED)):
            asked = Endpoint(endpoint.base_url, endpoint.model, key)
            report = await adapter_for("llamacpp").readiness(asked, deadline_s=30)
            assert report.readiness is expected
    assert "k3y" not in (tmp_path / "log").read_text()
