"""systemd itself reads what `host render` writes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pitstop.core.config.load import load, parse
from pitstop.services.host.apply import write_below
from pitstop.services.host.render import Program, render

pytestmark = pytest.mark.real

SPARK_3 = Path(__file__).parents[2] / "examples/spark-3.toml"
AWKWARD = """
[engine.odd]
kind = "vllm"
model = "m"
base_url = "http://127.0.0.1:27020/v1"
[engine.odd.launch]
with = "docker"
name = "odd"
image = "i"
run = ["-e", "PERCENT=100%", "-e", "DOLLAR=$HOME", "-e", "SPACE=a b", "-e", 'QUOTE="', "-e", "BACK=\\\\"]
command = ["serve", "--json", '{"a":"<b>"}', ";", "it's"]
"""


@pytest.fixture(params=["spark-3", "awkward"])
def config(request):
    return load(SPARK_3) if request.param == "spark-3" else parse(AWKWARD)


def test_systemd_finds_nothing_wrong_with_any_unit(tmp_path, config):
    true = shutil.which("true")  # what the units run must exist, so every program is one that does
    files = render(config, Program(true, true, true, "/etc/pitstop.toml", "/var/lib/pitstop"), os.environ)
    written = write_below(files, tmp_path)
    units = [path for path in written if path.suffix == ".service"]
    stand_in = tmp_path / "etc/systemd/system/docker.service"
    stand_in.write_text(f"[Service]\nExecStart={true}\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, units)],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{stand_in.parent}:"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
