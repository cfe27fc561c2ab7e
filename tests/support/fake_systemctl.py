"""A strict stand-in for systemctl: knows one unit, really starts its ExecStart, and refuses words it does not know.

Used as `systemctl` on the PATH; its state lies in $FAKE_SYSTEMD. Standard library only.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

HOME = Path(os.environ["FAKE_SYSTEMD"])
UNIT = "tiny.service"


def main(words):
    if words[:1] == ["--user"]:
        fail("Failed to connect to bus: No medium found", 1)
    match words:
        case ["daemon-reload"]:
            keep(loaded=drop_in())
        case ["show", properties, unit] if properties.startswith("--property="):
            show(unit, properties.removeprefix("--property=").split(","))
        case ["reset-failed", unit]:
            known(unit)
            keep(failed=False)
        case ["start", "--no-block", unit]:
            known(unit)
            start()
        case ["stop", unit]:
            known(unit)
            stop()
        case _:
            fail(f"Unknown command verb {words!r}", 1)


def start():
    state = read()
    if state["loaded"] != drop_in():
        fail("Warning: The unit file, source configuration file or drop-ins changed on disk.", 1)
    environ = {"PATH": os.environ["PATH"]}
    for line in state["loaded"].splitlines():
        key, _, value = line.partition("=")
        if key == "Environment":
            name, _, text = shlex.split(value)[0].partition("=")
            environ[name] = text
        if key == "EnvironmentFile":
            pairs = (shlex.split(one)[0].partition("=") for one in Path(value).read_text().splitlines())
            environ |= {name: text for name, _, text in pairs}
    command = [part.replace("$HOW", environ.get("HOW", "plain")) for part in json.loads((HOME / "exec").read_text())]
    with (HOME / "journal").open("ab") as log:
        child = subprocess.Popen(command, env=environ, stdout=log, stderr=log, start_new_session=True)
    keep(pid=child.pid, environ={name: text for name, text in environ.items() if name == "HOW"})


def stop():
    pid = read()["pid"]
    if alive(pid):
        os.kill(pid, signal.SIGKILL)
        while alive(pid):
            time.sleep(0.01)
    keep(pid=0)


def show(unit, properties):
    state = read()
    up = alive(state["pid"])
    known_unit = unit == UNIT
    environ = " ".join(f"{name}={text}" for name, text in state["environ"].items())
    said = {
        "LoadState": "loaded" if known_unit else "not-found",
        "ActiveState": "active" if up else "failed" if state["pid"] else "inactive",
        "SubState": "running" if up else "dead",
        "Result": "success" if up or not state["pid"] else "exit-code",
        "MainPID": str(state["pid"] if up else 0),
        "ExecMainCode": "1" if state["pid"] and not up else "0",
        "ExecMainStatus": "7" if state["pid"] and not up else "0",
        "FragmentPath": str(HOME / "exec"),
        "DropInPaths": "",
        "NeedDaemonReload": "no" if state["loaded"] == drop_in() else "yes",
        "TriggeredBy": (HOME / "triggered").read_text() if (HOME / "triggered").exists() else "",
        "ExecStart": f"{{ path=x ; argv[]={(HOME / 'exec').read_text()} ; start_time=[n/a] ; pid=0 }}",
        "Environment": environ,
        "Restart": "always",
        "Transient": "no",
    }
    for name in properties:
        sys.stdout.write(f"{name}={said[name]}\n")


def drop_in():
    file = HOME / "run" / f"{UNIT}.d" / "50-pitstop.conf"
    return file.read_text() if file.exists() else ""


def read():
    file = HOME / "state.json"
    start = {"pid": 0, "loaded": "", "failed": False, "environ": {}}
    return {**start, **json.loads(file.read_text())} if file.exists() else start


def keep(**parts):
    (HOME / "state.json").write_text(json.dumps({**read(), **parts}))


def alive(pid):
    try:
        return pid > 0 and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def known(unit):
    if unit != UNIT:
        fail(f"Failed to start {unit}: Unit {unit} not found.", 5)


def fail(text, code):
    sys.stderr.write(text + "\n")
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
