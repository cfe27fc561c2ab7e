"""The main job on a real Docker Engine: production on real vLLM, killed, refused, filled up, swapped behind its back.

The long trial runs on two real vLLM releases; the crash matrix runs on llama.cpp in the same Docker, which boots in a
second, so that every journaled step can be killed. Whatever happens, production comes back as it was.
"""

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pitstop.ledger.store import Ledger
from support.docker_box import (
    NEW,
    OLD,
    Begun,
    container,
    container_name,
    docker,
    generated,
    journal,
    llamacpp_box,
    trials,
    vllm_box,
    wait_until,
)

pytestmark = pytest.mark.real
VLLM_PORT, QUICK_PORT = 31010, 31020
BOOT_S = 600  # of vLLM, on two cores that others use too


@pytest.fixture(scope="module")
def upgrade(tmp_path_factory):
    """Production on the older vLLM, up and watched by nobody else."""
    box = vllm_box(tmp_path_factory.mktemp("vllm"), VLLM_PORT)
    docker("rm", "--force", container_name(box), check=False)
    up = box.run("up", timeout=BOOT_S)
    assert up.returncode == 0, up.stderr
    yield box
    box.run("trial", "recover", timeout=BOOT_S)
    docker("rm", "--force", container_name(box), check=False)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The same with llama.cpp."""
    box = llamacpp_box(tmp_path_factory.mktemp("quick"), QUICK_PORT)
    docker("rm", "--force", container_name(box), check=False)
    yield box
    box.run("trial", "recover")
    names = docker("ps", "--all", "--format", "{{.Names}}", "--filter", f"name={container_name(box)}").split()
    docker("rm", "--force", *names, check=False)


@pytest.fixture
def production(quick):
    """Up as configured, whatever the test before left behind; its container as Docker describes it."""
    quick.run("trial", "recover")
    up = quick.run("up")
    assert up.returncode == 0, up.stderr
    return container(container_name(quick))


def is_back(before, box, port, model, *, with_status=True):
    """Same image, command, environment, mounts and restart policy as before, and a token that nobody else made."""
    after = container(container_name(box))
    assert after["State"]["Running"]
    assert after["Image"] == before["Image"]
    for section, keys in (("Config", ("Cmd", "Labels")), ("HostConfig", ("RestartPolicy", "NetworkMode"))):
        for key in keys:
            assert after[section][key] == before[section][key], key
    for section, key in (("Config", "Env"), ("HostConfig", "Binds")):  # Docker keeps no order of these
        assert sorted(after[section][key]) == sorted(before[section][key]), key
    assert generated(port, model)
    if not with_status:
        return
    status = json.loads(box.run("status", "--json").stdout)
    assert status["owed"] == []
    assert [engine["drifted"] for engine in status["engines"]] == [False]


def killed_when(box, seen, *argv):
    """Begin a command, and kill -9 it as soon as its journal shows what is looked for; False when it was quicker."""
    command = Begun(box, *argv)
    try:
        command.wait_for(seen, BOOT_S)
    finally:
        code = command.kill()
    assert code in (-signal.SIGKILL, 0, 4), command.said
    return code == -signal.SIGKILL


def begun(step, times=1):
    """The journal says that this step has begun, for the n-th time."""
    return lambda lines: sum(line["kind"] == "begun" and line["action"]["do"] == step for line in lines) >= times


def tell(capsys, text):
    """A figure for whoever runs this, whatever pytest does with output."""
    with capsys.disabled():
        sys.stdout.write(f"\n{text}\n")


def seconds(document, step):
    """How long the steps of that name took together."""
    took, at = 0.0, None
    for line in document["log"]:
        moment = datetime.fromisoformat(line["at"])
        if "step" in line:
            at = moment if line["step"] == step else None
        elif "outcome" in line and at is not None:
            took, at = took + (moment - at).total_seconds(), None
    return took


class TestUpgradeOfRealVllm:
    """The first report, made boring: another release, another knob, and production back."""

    def test_killed_while_the_first_arm_boots_and_while_production_is_put_back(self, upgrade):
        before = container(container_name(upgrade))
        assert killed_when(upgrade, begun("boot"), "trial", "run", "upgrade")
        assert upgrade.run("down").returncode == 2  # a restore is owed first
        assert killed_when(upgrade, begun("restore"), "trial", "recover")
        recovered = upgrade.run("trial", "recover", timeout=BOOT_S)
        assert recovered.returncode == 0, recovered.stderr
        is_back(before, upgrade, VLLM_PORT, "smol")

    def test_the_whole_trial_unattended(self, upgrade, record_property, capsys):
        before = container(container_name(upgrade))
        generated(VLLM_PORT, "smol")  # the first one after a boot spends seconds before any counter has it
        answers = []
        client = threading.Thread(target=lambda: answers.append(generated(VLLM_PORT, "smol", 150)))
        client.start()  # production is in use when the trial begins, and for some seconds more
        done = upgrade.run("trial", "run", "upgrade", "--json", timeout=4 * BOOT_S)
        client.join()
        assert answers  # it was waited for
        document = json.loads(done.stdout)
        assert document["state"] == "finished", done.stderr
        is_back(before, upgrade, VLLM_PORT, "smol")
        assert document["production"]["restored"]
        assert document["production"]["fingerprint_after"] == document["production"]["fingerprint_before"]
        _every_arm_was_measured_on_what_was_ordered(document)
        # One boot per arm, and nothing known of this box's noise: no difference may be claimed, however large.
        assert {record["verdict"] for record in document["verdicts"]} == {"undecided"}
        assert done.returncode == 4
        page = upgrade.root / "report.html"
        assert upgrade.run("report", document["id"], "--html", str(page)).returncode == 0
        assert "0.32.0" in page.read_text()
        down_s, measuring_s = document["production"]["downtime_s"], seconds(document, "measure")
        record_property("downtime_s", down_s)
        record_property("measuring_s", measuring_s)
        text = f"down {down_s:.0f} s, {measuring_s:.0f} s of it measuring ({measuring_s / down_s:.0%})"
        tell(capsys, f"vLLM {OLD} -> {NEW} and ngram, 3 boots and the restore: {text}")


def _every_arm_was_measured_on_what_was_ordered(document):
    runs = {arm["name"]: arm["runs"] for arm in document["arms"]}
    versions = {name: [run["engine"]["version"] for run in each] for name, each in runs.items()}
    assert versions == {"production": [f"{OLD}+cpu"], "new": [f"{NEW}+cpu"], "ngram": [f"{OLD}+cpu"]}
    [production], [new], [ngram] = runs["production"], runs["new"], runs["ngram"]
    assert production["engine"]["image_digest"] == ngram["engine"]["image_digest"] != new["engine"]["image_digest"]
    for run in (production, new, ngram):
        assert {figure["status"] for figure in run["figures"]} <= {"ok", "unverified"}
        info = run["conditions"]["boot"]
        assert info["startup"]["kv_cache_tok"] > 0
        assert info["startup"]["max_concurrency"] > 1
        assert info["boot_s"] > 1
        assert info["memory_held_bytes"] > 10**9
        assert info["memory_peak_bytes"] >= info["memory_held_bytes"] - 2**28
        assert info["cuda_errors_in_log"] == 0
    assert ngram["conditions"]["boot"]["speculation_counters"]["drafts"] > 0
    assert production["conditions"]["boot"]["speculation_counters"] == {}


def test_killed_at_every_journaled_step_production_comes_back(quick, production, record_property, capsys):
    """Both sides of every step: as soon as its beginning, or its outcome, stands in the journal."""
    whole = quick.run("trial", "run", "quick")
    assert whole.returncode == 4, whole.stderr
    points = len(journal(trials(quick)[-1]))
    assert points >= 20  # two arms of three steps, and waiting, take-down, restore, proof: each with its outcome
    before = container(container_name(quick))
    survived = []
    for line in range(1, points + 1):
        if not killed_when(quick, lambda lines, line=line: len(lines) >= line, "trial", "run", "quick"):
            survived.append(line)  # it was through with it faster than we could look
        recovered = quick.run("trial", "recover", "--json")
        assert recovered.returncode == 0, f"killed at line {line}: {recovered.stderr}"
        is_back(before, quick, QUICK_PORT, "smollm2", with_status=line == points)
    assert set(survived) <= {points}, survived
    record_property("crash_points", points - len(survived))
    tell(capsys, f"{points - len(survived)} crash points tried on llama.cpp in Docker, production back after each")


def test_killed_in_the_middle_of_the_restore_again_and_again(quick, production):
    """Recovery is killed at each of its own steps too; the next one goes on from there."""
    assert killed_when(quick, begun("measure", 2), "trial", "run", "quick")
    for step in ("stop", "restore", "prove"):
        killed_when(quick, begun(step, 2 if step == "stop" else 1), "trial", "recover")
    assert quick.run("trial", "recover").returncode == 0
    is_back(production, quick, QUICK_PORT, "smollm2")


def test_the_watchdog_finishes_what_a_killed_trial_owes(quick, production):
    assert killed_when(quick, begun("measure", 2), "trial", "run", "quick")
    quick.run("watch", "--once")
    is_back(production, quick, QUICK_PORT, "smollm2")


def test_an_engine_that_is_swapped_behind_the_trials_back_makes_its_figures_invalid(quick, production):
    """The first report's watchdog: production's defaults came up in the middle of a variant's measurement."""
    name = container_name(quick)
    words = json.loads(quick.run("up", "--dry-run", "--json").stdout)["argv"]
    words = [word for word in words[2:] if word not in ("--detach", name)]
    words.insert(words.index("--name") + 1, f"{name}-by-hand")
    docker("create", *words)
    trial = Begun(quick, "trial", "run", "long")
    trial.wait_for(begun("measure", 2))
    docker("rm", "--force", name)
    docker("rename", f"{name}-by-hand", name)
    docker("start", name)
    said = trial.process.communicate(timeout=180)[0]
    assert not docker("ps", "--quiet", "--filter", f"name={name}-by-hand")
    is_back(production, quick, QUICK_PORT, "smollm2")
    document = json.loads((trials(quick)[-1] / "trial.json").read_text())
    figures = [figure for run in document["arms"][1]["runs"] for figure in run["figures"]]
    assert {figure["status"] for figure in figures} <= {"invalid", "unavailable"}, said
    told = str([run["warnings"] for run in document["arms"][1]["runs"]])
    who = f"production's own settings ({document['production']['fingerprint_before']})"
    assert who in told or "somebody stopped it" in told, (
        said
    )  # the latter, when it is looked at before the new one is up
    assert {record["verdict"] for record in document["verdicts"]} == {"undecided"}
    assert all("left out as invalid" in record["reason"] for record in document["verdicts"])
    assert "ok" in {figure["status"] for figure in document["arms"][0]["runs"][0]["figures"]}


def test_a_cleanup_in_the_middle_of_a_trial_takes_no_image_that_it_needs(quick, production):
    """What a timer does at night; confined to the test's own images, for the machine is not ours to clean."""
    image = production["Image"]
    label = f"label=pitstop.test={production['Config']['Labels']['pitstop.test']}"
    trial = Begun(quick, "trial", "run", "long", "--json")
    trial.wait_for(begun("measure", 2))  # the variant's, on another image: production has no container now
    removed = docker("system", "prune", "--all", "--force", "--filter", label)
    assert docker("rmi", image, check=False) == ""
    said = trial.process.communicate(timeout=180)[0]
    assert trial.process.returncode in (0, 1, 4), said
    assert image not in removed
    is_back(production, quick, QUICK_PORT, "smollm2")
    assert docker("ps", "--all", "--quiet", "--filter", "label=pitstop.keeps-images-for") == ""


def test_signals_while_production_is_put_back_change_nothing(quick, production):
    trial = Begun(quick, "trial", "run", "quick")
    trial.wait_for(begun("measure", 2))
    os.kill(trial.process.pid, signal.SIGTERM)
    trial.wait_for(begun("restore"))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        with contextlib.suppress(ProcessLookupError):
            os.kill(trial.process.pid, number)
    said = trial.process.communicate(timeout=120)[0]
    assert trial.process.returncode == 130, said
    is_back(production, quick, QUICK_PORT, "smollm2")


def _stubborn_docker(box, refused: str) -> Path:
    """A `docker` that refuses the n-th `run` that it is asked for, as a daemon that is just being restarted does."""
    folder = box.root / f"stubborn-{refused.replace(' ', '-')}"
    folder.mkdir()
    real = subprocess.run(["which", "docker"], capture_output=True, text=True, check=True).stdout.strip()
    (folder / "docker").write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = run ]; then echo x >>{folder}/runs; n=$(wc -l <{folder}/runs)\n'
        f'  for refused in {refused}; do if [ "$n" -eq "$refused" ]; then\n'
        '    echo "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock." >&2; exit 125\n'
        "  fi; done\n"
        f'fi\nexec {real} "$@"\n'
    )
    (folder / "docker").chmod(stat.S_IRWXU)
    return folder


def test_a_daemon_that_refuses_the_first_try_is_asked_again(quick, production):
    folder = _stubborn_docker(quick, "3")  # one run per arm, the third is production's return
    path = {**quick.environ, "PATH": f"{folder}:{quick.environ['PATH']}"}
    done = type(quick)(quick.root, path).run("trial", "run", "quick", "--json")
    document = json.loads(done.stdout)
    assert document["production"]["restored"], done.stderr
    assert [line["attempt"] for line in document["log"] if line.get("step") == "restore"] == [1, 2]
    assert "Cannot connect" in str(document["log"])
    is_back(production, quick, QUICK_PORT, "smollm2")


def test_when_production_cannot_be_put_back_a_person_is_called_and_recover_finishes_it(quick, production):
    folder = _stubborn_docker(quick, "3 4 5 6 7")  # every attempt of the restore
    with _listener() as (url, heard):
        environ = {**quick.environ, "PATH": f"{folder}:{quick.environ['PATH']}", "PITSTOP_NOTIFY": url}
        done = type(quick)(quick.root, environ).run("trial", "run", "quick")
    assert done.returncode == 6, done.stderr
    assert "trial recover" in done.stdout + done.stderr
    assert any("NOT back" in body for body in heard), heard
    assert url not in done.stdout + done.stderr
    assert quick.run("trial", "run", "quick").returncode in (2, 6)
    assert quick.run("trial", "recover").returncode == 0
    is_back(production, quick, QUICK_PORT, "smollm2")


@contextlib.contextmanager
def _listener():
    """Something that takes apprise's json:// notifications on loopback."""
    heard = []

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self):
            heard.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Taker)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"json://user:secret-of-the-hook@127.0.0.1:{server.server_port}/", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def small_disk(tmp_path):
    """A state folder on a disk of its own that is soon full."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_disk_that_fills_up_in_the_middle_costs_figures_and_not_production(quick, small_disk):
    box = type(quick)(quick.root, {**quick.environ, "PITSTOP_HOME": str(small_disk / "state")})
    quick.run("down")
    assert box.run("up").returncode == 0
    before = container(container_name(box))
    trial = Begun(box, "trial", "run", "quick")
    trial.wait_for(begun("measure"))
    _fill(small_disk / "filler")
    said = trial.process.communicate(timeout=180)[0]
    after = container(container_name(box))
    assert after["State"]["Running"], said
    assert after["Image"] == before["Image"]
    assert after["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    assert generated(QUICK_PORT, "smollm2")
    assert trial.process.returncode != 6, said
    (small_disk / "filler").unlink()
    assert box.run("trial", "recover").returncode == 0
    is_back(before, box, QUICK_PORT, "smollm2")
    assert box.run("down").returncode == 0


def _fill(place: Path) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(descriptor, bytes(4096)):
            pass
    os.close(descriptor)


def test_a_disk_without_room_touches_nothing(quick, small_disk):
    box = type(quick)(quick.root, {**quick.environ, "PITSTOP_HOME": str(small_disk / "state")})
    quick.run("down")
    assert box.run("up").returncode == 0
    before = container(container_name(box))
    _fill(small_disk / "filler")
    refused = box.run("trial", "run", "quick")
    assert refused.returncode == 2, refused.stderr
    assert "Traceback" not in refused.stderr
    assert container(container_name(box))["Id"] == before["Id"]
    (small_disk / "filler").unlink()
    assert box.run("down").returncode == 0


def test_what_cannot_work_is_refused_before_production_is_touched(quick, production):
    refused = quick.run("trial", "run", "absent")
    assert refused.returncode == 2
    assert "is not on this machine" in refused.stderr
    assert "llamacpp:3" in refused.stderr
    assert container(container_name(quick))["Id"] == production["Id"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--rm",), "--rm"),
        (("--label", "com.docker.compose.project=web"), "compose"),
        (("--env", "LLAMA_ARG_THREADS=2"), "LLAMA_ARG_THREADS"),
    ],
)
def test_production_that_could_not_be_made_again_is_not_stopped(quick, production, options, sentence):
    name = container_name(quick)
    argv = json.loads(quick.run("up", "--dry-run", "--json").stdout)["argv"]
    words = (
        [word for word in argv[2:] if word not in ("--restart", "unless-stopped")] if "--rm" in options else argv[2:]
    )
    docker("rm", "--force", name)
    docker("run", *options, *words)
    started = container(name)["State"]["StartedAt"]
    wait_until(lambda: _answers(QUICK_PORT), 60, 0.2)
    refused = quick.run("trial", "run", "quick")
    assert refused.returncode == 2
    assert sentence in refused.stderr
    assert container(name)["State"]["StartedAt"] == started
    docker("rm", "--force", name)


def _answers(port):
    try:
        return generated(port, "smollm2")
    except OSError:
        return ""


def test_a_rehearsal_takes_production_down_and_puts_it_back_and_boots_nothing_else(quick, production):
    rehearsed = quick.run("trial", "rehearse", "quick", "--json")
    assert rehearsed.returncode == 0, rehearsed.stderr
    assert [line["step"] for line in json.loads(rehearsed.stdout)["log"] if "step" in line] == [
        "wait-idle", "take-down", "restore", "prove",
    ]  # fmt: skip
    is_back(production, quick, QUICK_PORT, "smollm2")


def test_an_aa_trial_boots_production_twice_and_teaches_the_noise_floor(quick, production):
    done = quick.run("trial", "run", "quick", "--aa", "--json")
    document = json.loads(done.stdout)
    first, second = document["arms"]
    assert first["fingerprint"] == second["fingerprint"]
    assert (first["overrides"], second["overrides"]) == ({}, {})
    assert [len(arm["runs"]) for arm in document["arms"]] == [1, 1]
    [record] = [record for record in document["verdicts"] if record["primary"]]
    key = record["ruler"], record["case"], record["metric"]
    with Ledger.open(quick.root / "state/ledger.sqlite3") as ledger:
        assert "1 A/A pairs" in ledger.noise_prior("llamacpp", *key).source
    is_back(production, quick, QUICK_PORT, "smollm2")


def test_a_dry_run_prints_each_step_with_what_it_would_run_and_touches_nothing(quick, production):
    said = quick.run("trial", "run", "quick", "--dry-run").stdout
    name = container_name(quick)
    assert f"docker stop --time 10 {name}" in said
    assert f"docker rm --force --volumes {name}" in said
    assert said.count("docker run --label") == 3
    assert container(name)["Id"] == production["Id"]
