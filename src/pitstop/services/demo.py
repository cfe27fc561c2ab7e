"""The demo's box: real llama.cpp with a real small model as production, and a trial of two variants."""

from __future__ import annotations

import json
import os
import shlex
import socket
from pathlib import Path
from string import Template

TRIAL = "demo"
ENGINE = "smollm2"

# The sizes are small because the demo has two cores and two minutes; everything else is as in a trial of a big engine.
_CONFIG = Template(
    """# Written by `pitstop demo`. Try it yourself: PITSTOP_HOME=$home pitstop --help

[host]
min_available = "300 MiB"

[engine.smollm2]
kind         = "llamacpp"
model        = "smollm2"
base_url     = "http://127.0.0.1:$port/v1"
production   = true
boot_timeout = "2 min"

[engine.smollm2.launch]
with    = "process"
command = ["{python}", "-m", "pitstop.supply.llamacpp_server", "--model", $model, "--port", "{port}",
           "--alias", "smollm2", "--ctx", "4096", "--threads", "$threads"]
version_command = ["{python}", "-m", "pitstop.supply.llamacpp_server", "--version"]

[engine.smollm2.knob.SPEC]      # speculation from the text itself, without a draft model
args = ["--spec", "{value}"]

[engine.smollm2.knob.UBATCH]    # tokens computed at once while the prompt is read
args = ["--ubatch", "{value}"]

[trial.demo]
engine         = "smollm2"
rulers         = ["decode", "prefill"]
cases          = ["prose/en/think-off", "code/en/think-off", "pp*"]
thinking       = ["off"]
order          = "ABBA"
boots          = 2
runs           = 2
max_tokens     = 48
pp             = [256]
minimum_effect = "5 %"
idle_for       = "1 s"
give_up_after  = "1 min"
memory_timeout = "30 s"
guard          = { min_available = "300 MiB" }

[trial.demo.variant.ngram]
SPEC = "ngram-simple"

[trial.demo.variant.small-batch]
UBATCH = "16"
"""
)


def configuration(model: Path, home: Path, port: int) -> str:
    """The demo's pitstop.toml."""
    # One thread fewer than cores: llama.cpp's threads spin while they wait for each other, and on a core that somebody
    # else uses too that costs a factor of thirty.
    threads = str(max(1, min(4, (os.cpu_count() or 1) - 1)))
    quoted = json.dumps(str(model), ensure_ascii=False)  # a JSON string is a TOML string
    return _CONFIG.substitute(model=quoted, home=shlex.quote(str(home)), port=port, threads=threads)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
