import json
import subprocess
import sys

import pytest

from pitstop.core.documents import EngineIdentity, Figure, RunDocument, Status, encode
from pitstop.ledger.records import BootFigure
from pitstop.ledger.store import Ledger


@pytest.fixture
def compare(tmp_path):
    def run(first, second, *options, **variables):
        paths = []
        for name, value in (("a", first), ("b", second)):
            figure = Figure(
                ruler="decode", case="prose/en/think-off", metric="decode_tok_s", unit="tok/s", value=value,
                status=Status.OK, source="usage", n=3, samples=(value, value, value),
            )  # fmt: skip
            document = RunDocument(
                id=name, started_at=f"2026-11-29T00:00:0{len(paths)}+00:00", figures=[figure],
                engine=EngineIdentity(kind="vllm", model="m", pid=len(paths) + 1, started_at=name),
            )  # fmt: skip
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_bytes(encode(document))
        environ = {"PITSTOP_HOME": str(tmp_path / "state"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **variables}
        command = [sys.executable, "-m", "pitstop", "compare", *map(str, paths), *options]
        return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60, check=False)

    return run


def test_a_comparison_is_one_table_with_a_line_per_figure(compare):
    done = compare(100.0, 120.0)
    assert done.returncode == 4  # one block, and nothing known of this box's noise
    [line] = [line for line in done.stdout.splitlines() if "undecided" in line]
    assert "decode" in line
    assert "+20" in line


def test_the_document_is_alone_on_stdout(compare):
    done = compare(100.0, 120.0, "--json")
    assert json.loads(done.stdout)
    assert "undecided" in done.stderr


def test_the_noise_is_that_of_the_ledger_which_the_configuration_names(compare, tmp_path):
    boots = [
        BootFigure(
            boot=f"b{number}", at=f"2026-11-2{number}T00:00:00+00:00", engine_kind="vllm", configuration="same",
            ruler="decode", case="prose/en/think-off", metric="decode_tok_s", value=100.0 + number / 10,
        )
        for number in range(8)
    ]  # fmt: skip
    with Ledger.open(tmp_path / "elsewhere.sqlite3") as ledger:
        ledger.record_noise(boots)
    config = tmp_path / "pitstop.toml"
    config.write_text('[host]\nledger_url_env = "WHERE"\n')
    done = compare(100.0, 120.0, "--config", str(config), "--json", WHERE=f"sqlite:///{tmp_path}/elsewhere.sqlite3")
    assert done.returncode == 0, done.stderr
    assert [one["verdict"] for one in json.loads(done.stdout)["verdicts"]] == ["better"]
    assert not (tmp_path / "state").exists()
