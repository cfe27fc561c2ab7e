"""A trial swaps the engine under clients that never stop asking: nobody is refused, nobody is cut."""

import contextlib
import itertools
import json
import socket
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass, field

import pytest

from pitstop.services.demo import free_port
from support.box import Box

pytestmark = pytest.mark.real
CLIENTS = 4
GATEWAY = """
[gateway]
listen = "127.0.0.1:{port}"
[gateway.route.front]
engine = "smol"
when_held = "hold"
hold_for = "5 min"
"""


@dataclass
class Clients:
    """As many loops of short requests, every second one streamed; each answer or what came instead is kept."""

    url: str
    key: str
    answered: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __post_init__(self):
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def wait_for_more(self, answers):
        wanted = len(self.answered) + answers
        while len(self.answered) < wanted and not self.failed:
            time.sleep(0.1)

    def end(self):
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number):
        for turn in itertools.count(number):
            if self._enough.wait(0.2):  # somebody who thinks in between, so that the trial finds a gap
                return
            try:
                text = self.one(stream=bool(turn % 2))
            except OSError as error:
                self.failed.append(repr(error))
            else:
                (self.answered if text else self.failed).append(text)

    def one(self, *, stream):
        """What one request was answered with; "" for a stream without its end."""
        asked = {"model": "front", "max_tokens": 6, "stream": stream, "messages": [{"role": "user", "content": "Hi."}]}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", json.dumps(asked).encode(), headers)
        with urllib.request.urlopen(request, timeout=300) as reply:
            body = reply.read().decode()
        if stream:
            return body if body.endswith("data: [DONE]\n\n") else ""
        return json.loads(body)["choices"][0]["message"]["content"]


@pytest.fixture
def box(tmp_path):
    box = Box.make(tmp_path)
    port = free_port()
    with (tmp_path / "pitstop.toml").open("a") as config:
        config.write(GATEWAY.format(port=port))
    up = box.run("up", "--json")
    assert up.returncode == 0, up.stderr
    gateway = box.begin("gateway", "serve")
    listening(port)
    yield box, f"http://127.0.0.1:{port}"
    gateway.terminate()
    gateway.communicate(timeout=30)
    box.run("trial", "recover")
    box.run("down")


def listening(port, timeout_s=30):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port}")


def test_clients_of_the_gateway_are_held_and_answered_while_a_trial_swaps_the_engine(box, capsys):
    box, url = box
    key = json.loads(box.run("gateway", "key", "add", "load", "--json").stdout)["key"]
    clients = Clients(url, key)
    try:
        clients.wait_for_more(4 * CLIENTS)
        done = box.run("trial", "run", "quick", "--json", timeout=300)
        clients.wait_for_more(4 * CLIENTS)
    finally:
        clients.end()
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    assert document["state"] == "finished", done.stderr
    assert document["production"]["restored"]
    assert clients.failed == []
    with capsys.disabled():
        sys.stdout.write(
            f"\n{len(clients.answered)} requests of {CLIENTS} clients answered around the swaps, none failed\n"
        )
    for arm in document["arms"]:
        for run in arm["runs"]:
            assert {figure["status"] for figure in run["figures"]} <= {"ok", "unverified"}  # nobody got in meanwhile
            assert run["conditions"]["foreign_requests"] == 0
