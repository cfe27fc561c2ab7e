import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def pitstop(tmp_path):
    def run(*argv, **env):
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PITSTOP_HOME": str(tmp_path / "state"), **env}
        command = [sys.executable, "-m", "pitstop", *argv]
        return subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=30, check=False
        )

    return run


def test_init_writes_a_file_that_check_accepts_and_does_not_overwrite_it(pitstop, tmp_path):
    assert pitstop("init").returncode == 0
    assert pitstop("config", "check").returncode == 0
    (tmp_path / "pitstop.toml").write_text("[host]\n")
    again = pitstop("init")
    assert (again.returncode, (tmp_path / "pitstop.toml").read_text()) == (2, "[host]\n")
    assert "--force" in again.stderr


def test_json_is_alone_on_stdout(pitstop):
    pitstop("init")
    done = pitstop("config", "check", "--json")
    assert json.loads(done.stdout)["engines"] == ["main"]
    assert "is fine" in done.stderr


def test_a_wrong_key_ends_with_2_and_the_nearest_key(pitstop, tmp_path):
    (tmp_path / "pitstop.toml").write_text("[hots]\n")
    done = pitstop("config", "check")
    assert done.returncode == 2
    assert "did you mean `host`" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_of_own_tasks_that_cannot_be_read_cannot_work(pitstop, tmp_path):
    (tmp_path / "pitstop.toml").write_text('[quality]\ntasks = "own"\n')
    done = pitstop("config", "check")
    assert (done.returncode, "own is no folder of tasks" in done.stderr) == (2, True)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/a.toml").write_text('prompt = "?"\n[answer]\nnumber = 7\n')
    assert pitstop("config", "check").returncode == 0


def test_show_leaves_secrets_out(pitstop, tmp_path):
    pitstop("init")
    text = (tmp_path / "pitstop.toml").read_text()
    (tmp_path / "pitstop.toml").write_text(
        text.replace('name    = "vllm-main"', 'name = "v"\nenv = { HF_TOKEN = "hf_geheim" }')
    )
    done = pitstop("config", "show")
    assert done.returncode == 0
    assert "hf_geheim" not in done.stdout
    assert json.loads(done.stdout)["host"]["min_available"] == 12 * 2**30


def test_the_schema_is_json(pitstop):
    assert "$defs" in json.loads(pitstop("config", "schema").stdout)


def test_init_takes_the_file_from_config_too_and_writes_nothing_when_it_only_says_so(pitstop, tmp_path):
    assert json.loads(pitstop("init", "--dry-run", "--json", "--config", "mine.toml").stdout)["path"] == "mine.toml"
    assert not (tmp_path / "mine.toml").exists()
    pitstop("init", "--config", "mine.toml")
    assert pitstop("config", "check", "--config", "mine.toml").returncode == 0


def test_show_is_utf8_whatever_the_locale(pitstop, tmp_path):
    (tmp_path / "pitstop.toml").write_text(
        '[engine."größe"]\nkind = "vllm"\nmodel = "ü"\nbase_url = "http://h/v1"\n', "utf-8"
    )
    done = pitstop("config", "show", PYTHONIOENCODING="latin-1", PYTHONUTF8="1")
    assert json.loads(done.stdout)["engine"]["größe"]["model"] == "ü"
