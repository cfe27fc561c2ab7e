"""`gateway serve` as a process of its own, and keys made, listed and revoked beside it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

CONFIG = """
[engine.a]
kind = "openai"
model = "m"
base_url = "http://127.0.0.1:9/v1"
[gateway]
listen = "127.0.0.1:0"
[gateway.route.mid]
engine = "a"
"""


class Box:
    def __init__(self, root):
        self.root = root
        (root / "pitstop.toml").write_text(CONFIG)
        self.environ = {"PATH": os.environ["PATH"], "PITSTOP_HOME": str(root / "state"), "HOME": str(root)}

    def argv(self, *argv):
        return [sys.executable, "-m", "pitstop", "gateway", *argv]

    def run(self, *argv):
        return subprocess.run(
            self.argv(*argv), cwd=self.root, env=self.environ, capture_output=True, text=True, timeout=60, check=False
        )

    def json(self, *argv):
        done = self.run(*argv, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


def status_of(listen, key):
    request = urllib.request.Request(f"http://{listen}/v1/models", headers={"authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code


def comes_to(wanted, look):
    until = time.monotonic() + 10
    while look() != wanted and time.monotonic() < until:
        time.sleep(0.02)
    assert look() == wanted


def test_keys_are_made_shown_once_and_revoked_while_it_serves(box):
    with subprocess.Popen(
        box.argv("serve", "--json"), cwd=box.root, env=box.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as serving:
        lines = b""
        while not lines.rstrip().endswith(b"}"):
            lines += serving.stdout.readline()
        listen = json.loads(lines)["listen"]
        made = box.json("key", "add", "bob", "--route", "mid", "--rate", "100/s", "--expires", "30d")
        assert set(made) == {"name", "key"}
        comes_to(200, lambda: status_of(listen, made["key"]))
        listed = box.run("key", "list", "--json")
        assert made["key"] not in listed.stdout
        assert json.loads(listed.stdout)["keys"][0]["name"] == "bob"
        assert box.json("key", "revoke", "bob") == {"name": "bob", "revoked": True}
        comes_to(401, lambda: status_of(listen, made["key"]))
        serving.send_signal(signal.SIGHUP)
        assert status_of(listen, made["key"]) == 401
        serving.send_signal(signal.SIGTERM)
        _out, err = serving.communicate(timeout=20)
        assert serving.returncode == 0
        assert b"reload: 1 route(s), 0 key(s)" in err
        assert b"Traceback" not in err
        assert made["key"].encode() not in err


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["key", "add", "bob", "--route", "mdi"], "did you mean `mid`?"),
        (["key", "add", "bob", "--rate", "often"], "is not a rate"),
        (["key", "add", "a b"], "cannot name a key"),
        (["key", "revoke", "bob"], "there is no key named 'bob'"),
        (["serve", "--config", "nowhere.toml"], "There is no configuration"),
    ],
)
def test_what_cannot_be_is_a_sentence_and_exit_code_two(box, argv, sentence):
    done = box.run(*argv)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""


def test_a_dry_run_does_nothing(box):
    assert box.json("key", "add", "bob", "--dry-run") == {"name": "bob", "key": None}
    assert box.json("key", "list") == {"keys": []}
    assert box.json("serve", "--dry-run") == {"listen": "127.0.0.1:0", "would": "serve"}
