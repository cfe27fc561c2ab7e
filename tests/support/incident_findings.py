"""Findings of logs, states, kernel lines and guard logs that a test holds in its hand."""

from __future__ import annotations

import json

from pitstop.decisions.incidents.conclude import Seen, conclude
from pitstop.decisions.incidents.ending import parse_state
from pitstop.decisions.incidents.guard_log import read_guard_log
from pitstop.decisions.incidents.kernel import read_kernel
from pitstop.decisions.incidents.reader import last_errors, read_events
from pitstop.decisions.incidents.signatures import Catalogue
from pitstop.decisions.incidents.story import tell
from pitstop.decisions.incidents.text import Bytes
from pitstop.services.incidents.catalogue import built_in

KNOWN = Catalogue(built_in())
UNTIL = (2026, 10)


def found(*logs, state=None, kernel="", guard="", until=UNTIL):
    texts = [Bytes(f"log{at}", _raw(log)) for at, log in enumerate(logs)]
    stories = [one for text in texts for one in tell(text.name, read_events(text, KNOWN, until), last_errors(text))]
    states = [parse_state(state if isinstance(state, str) else json.dumps(state), "state")] if state else []
    guards = [read_guard_log(guard.encode().splitlines(), until)] if guard else []
    return conclude(Seen(stories, states, read_kernel(kernel.encode().splitlines(), until), guards))


def _raw(log):
    return log if isinstance(log, bytes) else log.encode()


def kinds(findings):
    return [one.signature for one in findings.incidents]


def only(findings):
    assert len(findings.incidents) == 1, kinds(findings)
    return findings.incidents[0]


def exited(code, **more):
    state = {"Status": "exited", "Running": False, "OOMKilled": False, "ExitCode": code, "Error": "", **more}
    return {"State": state}
