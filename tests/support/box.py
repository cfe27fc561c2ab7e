"""A box with the embedded engine: real llama.cpp with the real small model, for tests of the command line."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pitstop.services.demo import free_port
from pitstop.supply.model import cache_folder, embedded_model

ENGINE = """
[engine.smol]
kind = "llamacpp"
model = "smollm2"
base_url = "http://127.0.0.1:{port}/v1"
production = true
boot_timeout = "60 s"
[engine.smol.launch]
with = "process"
command = ["{{python}}", "-m", "pitstop.supply.llamacpp_server", "--model", "{model}", "--port", "{{port}}",
           "--alias", "smollm2", "--ctx", "1024", "--threads", "1"]
"""
# A trial as short as there can be: one boot an arm, one request each.
SHORT = """
engine = "smol"
rulers = ["decode"]
cases = ["prose/en/think-off"]
thinking = ["off"]
boots = 1
runs = 1
max_tokens = 8
idle_for = "0 s"
memory_timeout = "30 s"
"""
_GUARD = 'guard = {{ min_available = "100 MiB" }}'
TRIALS = f"""
[engine.smol.knob.UBATCH]
args = ["--ubatch", "{{{{value}}}}"]
[engine.smol.knob.BROKEN]
args = ["--no-such-option", "{{{{value}}}}"]
[trial.quick]{SHORT}{_GUARD}
[trial.quick.variant.small]
UBATCH = "16"
[trial.broken]{SHORT}{_GUARD}
[trial.broken.variant.dead]
BROKEN = "yes"
"""


@dataclass
class Box:
    """A folder with a configuration and a state folder; `run` is the command line as a person has it."""

    root: Path
    environ: dict[str, str]

    @classmethod
    def make(cls, root: Path, trials: str = TRIALS) -> "Box":
        model = embedded_model(cache_folder(os.environ))
        root.mkdir(parents=True, exist_ok=True)
        (root / "pitstop.toml").write_text((ENGINE + trials).format(port=free_port(), model=model))
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "PITSTOP_CACHE") if name in os.environ}
        return cls(root, {**keep, "PITSTOP_HOME": str(root / "state")})

    def run(self, *argv: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pitstop", *argv],
            cwd=self.root, env=self.environ, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def begin(self, *argv: str) -> subprocess.Popen[str]:
        """The same in the background, in a session of its own, with its words in a pipe."""
        return subprocess.Popen(
            [sys.executable, "-m", "pitstop", *argv],
            cwd=self.root, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
