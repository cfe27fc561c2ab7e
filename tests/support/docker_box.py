"""Boxes whose production runs in a real container: real vLLM, two releases of it, or quick llama.cpp.

The images carry the names of a registry that nobody serves: whatever boots or is put back was not pulled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

from pitstop.supply.model import cache_folder, embedded_model
from real.vllm_env import cache, huggingface_model, serve_environment, vllm_environment
from support import docker_engine
from support.box import SHORT, Box

REGISTRY = "127.0.0.1:31999"  # nobody listens there
OLD, NEW = "0.28.0", "0.32.0"


def docker(*words: str, check: bool = True, timeout: float = 120) -> str:
    done = subprocess.run(["docker", *words], check=False, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0 or not check, f"docker {' '.join(words)}: {done.stderr}"
    return (done.stdout + (done.stderr if words[0] == "logs" else "")).strip()


def image(name: str, path: str = "") -> str:
    """The base image under another name, with a PATH and a label of its own, so that its digest differs; the tag."""
    reference, label = f"{REGISTRY}/pitstop/{name}", f"{name} {path}"
    if (
        docker("image", "inspect", "--format", '{{index .Config.Labels "pitstop.test"}}', reference, check=False)
        == label
    ):
        return reference
    base = docker("create", docker_engine.IMAGE, "true")
    try:
        root = subprocess.run(["docker", "export", base], check=True, capture_output=True, timeout=120).stdout
    finally:
        docker("rm", "--force", base)
    changes = [f'LABEL pitstop.test="{label}"', f"ENV PATH={path}/usr/local/bin:/usr/bin:/bin"]
    words = [word for change in changes for word in ("--change", change)]
    subprocess.run(["docker", "import", *words, "-", reference], input=root, check=True, stdout=subprocess.DEVNULL)
    return reference


def vllm_image(release: str) -> str:
    """An image in which `vllm` is this release."""
    return image(f"vllm:{release}", f"{vllm_environment(release)}/bin:")


def container(name: str) -> dict:
    """What Docker says about it."""
    return json.loads(docker("container", "inspect", name))[0]


def container_name(box: Box) -> str:
    line = next(line for line in (box.root / "pitstop.toml").read_text().splitlines() if line.startswith("name"))
    return line.split('"')[1]


def generated(port: int, model: str, tokens: int = 4) -> str:
    """A token that production generates for us, or several, without pitstop in between."""
    body = {"model": model, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": tokens}
    body |= {"ignore_eos": tokens > 4}
    request = Request(
        f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=120) as reply:
        answer = json.loads(reply.read())
    assert answer["usage"]["completion_tokens"] >= 1
    return answer["choices"][0]["message"]["content"]


def journal(trial: Path) -> list[dict]:
    """The lines of a trial's journal, as far as they are whole."""
    try:
        content = (trial / "journal.jsonl").read_bytes()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in content.split(b"\n") if line.endswith(b"}")]


def trials(box: Box) -> list[Path]:
    """The folders of its trials, oldest first."""
    found = Path(box.environ["PITSTOP_HOME"], "trials").glob("*/promise.json")
    return sorted((path.parent for path in found), key=lambda path: path.stat().st_ctime_ns)


class Begun:
    """A command that goes on by itself, and the journal of the trial that it conducts."""

    def __init__(self, box: Box, *argv: str) -> None:
        self._box, self._known = box, set(trials(box)) if "run" in argv else set()
        self.said = ""
        self.process = box.begin(*argv)

    def lines(self) -> list[dict]:
        """The journal so far; empty until there is a trial. A recovery goes on with the latest one."""
        new = [trial for trial in trials(self._box) if trial not in self._known]
        return journal(new[-1]) if new else []

    def wait_for(self, seen, timeout_s: float = 600.0) -> None:
        """Until the journal shows it, or the command has ended."""
        wait_until(lambda: self.process.poll() is not None or seen(self.lines()), timeout_s)

    def kill(self) -> int:
        """SIGKILL, or the exit code of a command that was quicker."""
        self.process.kill()
        self.said = self.process.communicate(timeout=30)[0]
        return self.process.returncode


def wait_until(what, timeout_s: float = 120.0, poll_s: float = 0.01):
    """What `what` returns as soon as it is true."""
    until = time.monotonic() + timeout_s
    while not (found := what()):
        assert time.monotonic() < until, f"{what} did not become true within {timeout_s} s"
        time.sleep(poll_s)
    return found


def box_of(root: Path, text: str) -> Box:
    root.mkdir(parents=True, exist_ok=True)
    (root / "pitstop.toml").write_text(text)
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "PITSTOP_CACHE") if name in os.environ}
    return Box(root, {**keep, "PITSTOP_HOME": str(root / "state")})


def llamacpp_box(root: Path, port: int) -> Box:
    """Quick: llama.cpp in a container boots in a second or two. Two images, so that IMAGE is a knob here too."""
    docker_engine.ensure()
    model = embedded_model(cache_folder(os.environ))
    run = ["--network", "host", "--restart", "unless-stopped", *docker_engine.mounts()]
    run += ["-v", f"{model.parent}:{model.parent}:ro"]
    words = [os.path.realpath(sys.executable), "-m", "pitstop.supply.llamacpp_server", "--model", str(model)]
    words += ["--port", str(port), "--alias", "smollm2", "--ctx", "1024", "--threads", "1"]
    packages = next(Path(sys.prefix).glob("lib/python3*/site-packages"))
    return box_of(
        root,
        _LLAMACPP.format(
            port=port, old=image("llamacpp:1"), new=image("llamacpp:2"), run=json.dumps(run),
            command=json.dumps(words), path=f"{packages}:{Path(__file__).parents[2] / 'src'}",
            registry=REGISTRY, short=SHORT,
        ),
    )  # fmt: skip


def vllm_box(root: Path, port: int) -> Box:
    """Real vLLM: production is the older release, the variants the newer one and a speculation knob."""
    docker_engine.ensure()
    run = ["--network", "host", "--ipc", "host", "--restart", "unless-stopped", *docker_engine.mounts()]
    run += ["-v", f"{cache()}:{cache()}:ro"]
    words = ["vllm", "serve", str(huggingface_model()), "--served-model-name", "smol", "--host", "127.0.0.1"]
    words += ["--port", str(port), "--max-model-len", "2048", "--enforce-eager"]
    environ = "\n".join(f'{name} = "{value}"' for name, value in serve_environment().items())
    return box_of(
        root,
        _VLLM.format(
            port=port, old=vllm_image(OLD), new=vllm_image(NEW), run=json.dumps(run), command=json.dumps(words),
            environ=environ,
        ),
    )  # fmt: skip


_LLAMACPP = """
[host]
min_available = "500 MiB"
notify = ["PITSTOP_NOTIFY"]
[engine.smol]
kind = "llamacpp"
model = "smollm2"
base_url = "http://127.0.0.1:{port}/v1"
production = true
boot_timeout = "60 s"
stop_timeout = "10 s"
[engine.smol.launch]
with = "docker"
name = "pitstop-trial-{port}"
image = "{old}"
run = {run}
command = {command}
env = {{ PYTHONPATH = "{path}" }}
[engine.smol.knob.UBATCH]
args = ["--ubatch", "{{value}}"]
[engine.smol.knob.BROKEN]
args = ["--no-such-option", "{{value}}"]
[trial.quick]{short}guard = {{ min_available = "100 MiB" }}
[trial.quick.variant.new]
IMAGE = "{new}"
UBATCH = "16"
[trial.long]
engine = "smol"
rulers = ["decode"]
cases = ["prose/*/think-off"]
thinking = ["off"]
boots = 1
runs = 5
max_tokens = 128
idle_for = "0 s"
guard = {{ min_available = "100 MiB" }}
[trial.long.variant.new]
IMAGE = "{new}"
[trial.absent]
engine = "smol"
boots = 1
idle_for = "0 s"
guard = {{ min_available = "100 MiB" }}
[trial.absent.variant.away]
IMAGE = "{registry}/pitstop/llamacpp:3"
"""

_VLLM = """
[host]
min_available = "500 MiB"
[engine.smol]
kind = "vllm"
model = "smol"
base_url = "http://127.0.0.1:{port}/v1"
production = true
boot_timeout = "8 min"
[engine.smol.launch]
with = "docker"
name = "pitstop-trial-{port}"
image = "{old}"
run = {run}
command = {command}
version_command = ["python", "-c", "import importlib.metadata as m; print(m.version('vllm'))"]
[engine.smol.launch.env]
{environ}
[engine.smol.knob.SPEC]
args = ["--speculative-config", '{{"method":"ngram","num_speculative_tokens":{{value}},"prompt_lookup_max":4}}']
[trial.upgrade]
engine = "smol"
rulers = ["decode", "prefill"]
cases = ["prose/en/think-off", "pp*"]
thinking = ["off"]
boots = 1
runs = 1
max_tokens = 32
pp = [400]
idle_for = "4 s"
give_up_after = "5 min"
memory_timeout = "60 s"
guard = {{ min_available = "500 MiB" }}
[trial.upgrade.variant.new]
IMAGE = "{new}"
[trial.upgrade.variant.ngram]
SPEC = "3"
"""
