"""What is read of the world, as pure functions over what the kernel, Docker and systemd print."""

import ipaddress
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core import secrets
from pitstop.core.errors import EngineFailed
from pitstop.core.process_id import process_id
from pitstop.launch import cgroup, command, container, known, orphans, ports, proc, tree, unit
from pitstop.launch.command import CommandFailed, Failure
from pitstop.launch.compose import dialect
from pitstop.launch.container_engine import create_argv, registry_digest
from pitstop.launch.mark import Mark
from pitstop.launch.proc import Process
from pitstop.launch.strays import is_for_port
from pitstop.launch.tree import Root, Witness

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 31337 1 0 100 0 0 10 0
   1: 0100007F:1F41 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 31338 1 0 100 0 0 10 0
   2: 00000000:1F42 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 31339 1 0 100 0 0 10 0
   3: 0000000000000000FFFF00000100007F:1F43 00000000000000000000000000000000:0000 0A 0 0 0 0 0 31340
"""


def test_only_listeners_are_read_with_address_port_and_inode():
    assert [(one.address, one.port, one.inode) for one in ports.parse_table(TABLE.splitlines())] == [
        (ipaddress.ip_address("127.0.0.1"), 8001, 31337),
        (ipaddress.ip_address("0.0.0.0"), 8002, 31339),
        (ipaddress.ip_address("::ffff:127.0.0.1"), 8003, 31340),
    ]


@given(st.lists(st.text(max_size=120)))
def test_any_table_is_read_without_failing(lines):
    list(ports.parse_table(lines))


@pytest.mark.parametrize(
    ("address", "host", "collides"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("::", "127.0.0.1", True),
        ("::1", "localhost", True),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("192.168.1.5", "127.0.0.1", False),
        ("100.64.0.7", "localhost", False),
        ("192.168.1.5", "spark-3.lan", True),
        ("192.168.1.5", "", True),
        ("127.0.0.1", "0.0.0.0", True),
        ("::1", "[::1]", True),
    ],
)
def test_which_listener_stands_in_the_way(address, host, collides):
    assert ports.collides(ipaddress.ip_address(address), host) is collides


def table(*rows):
    return {pid: Process(pid, parent, session, ticks, state, "x") for pid, parent, session, ticks, state in rows}


MINE = Witness(Mark("e", "/home", "1", "f"), silent=False)
OTHER = Witness(Mark("o", "/home", "2", "f"), silent=False)
NOBODY, SILENT = Witness(None, silent=False), Witness(None, silent=True)


@pytest.mark.parametrize(
    ("rows", "witnesses", "root", "found"),
    [
        # The root, its child, a double-forked one in another session that carries the mark, and a bystander.
        ([(10, 1, 10, 5, "S"), (11, 10, 10, 6, "S"), (12, 1, 12, 7, "S"), (13, 1, 13, 7, "S")],
         {10: MINE, 11: NOBODY, 12: MINE, 13: NOBODY}, Root(10, 5), {10, 11, 12}),
        # No record at all: the mark is enough.
        ([(10, 1, 10, 5, "S"), (11, 10, 10, 6, "S")], {10: MINE, 11: SILENT}, None, {10, 11}),
        # The number was given to somebody else, who has children.
        ([(10, 1, 10, 99, "S"), (11, 10, 10, 100, "S")], {10: NOBODY, 11: NOBODY}, Root(10, 5), set()),
        # The root is gone; an EngineCore that overwrote its environment stays in its session.
        ([(11, 1, 10, 6, "S"), (12, 1, 10, 6, "S")], {11: SILENT, 12: NOBODY}, Root(10, 5), {11}),
        # A session of the same number from before this launch.
        ([(11, 1, 10, 3, "S")], {11: SILENT}, Root(10, 5), set()),
        # Zombies are not alive, and do not hide their children.
        ([(10, 1, 10, 5, "Z"), (11, 10, 10, 6, "S")], {10: SILENT, 11: MINE}, Root(10, 5), {11}),
        # An engine that runs pitstop, which runs another engine: the inner one is not ours to stop.
        ([(10, 1, 10, 5, "S"), (11, 10, 11, 6, "S")], {10: MINE, 11: OTHER}, Root(10, 5), {10}),
    ],
)  # fmt: skip
def test_which_processes_belong_to_an_engine(rows, witnesses, root, found):
    assert set(tree.members(table(*rows), witnesses, "e", "/home", root)) == found


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=9))
def test_a_table_with_loops_of_parents_ends(rows):
    seen = table(*((*row, "S") for row in rows))
    found = tree.members(seen, dict.fromkeys(seen, MINE), "e", "/home", Root(3, 3))
    assert set(found) == set(seen)


def test_this_process_is_read_with_its_parent_and_its_command():
    mine = proc.read(os.getpid())
    assert (mine.parent, mine.is_dead) == (os.getppid(), False)
    assert proc.read(2**22 + 1) is None
    assert "python" in proc.command(os.getpid()) or "pytest" in proc.command(os.getpid())
    assert proc.resident_bytes(os.getpid()) > 2**20


@pytest.mark.parametrize("name", ["a) b", ") R 1", "((", "x y z"])
def test_a_process_name_with_parentheses_does_not_shift_the_fields(name, tmp_path, monkeypatch):
    folder = tmp_path / "77"
    folder.mkdir()
    fields = ["S", "5", "77", "77", *["0"] * 15, "4242", "0"]
    (folder / "stat").write_text(f"77 ({name}) {' '.join(fields)}")
    monkeypatch.setattr(proc, "PROC", tmp_path)
    assert proc.read(77) == Process(77, 5, 77, 4242, "S", name)


def test_a_process_that_calls_itself_by_half_a_character_is_a_process_like_any_other(tmp_path, monkeypatch):
    """The kernel cuts a name off at 15 bytes, in the middle of an umlaut if need be."""
    for pid in (77, os.getpid()):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "status").write_bytes(b"Name:\tserve-gr\xc3\nVmRSS:\t 12 kB\n")
        (tmp_path / str(pid) / "cgroup").write_bytes(b"0::/m\xc3/docker-77\n")
        fields = ["S", "5", "77", "77", *["0"] * 15, "4242", "0"]
        (tmp_path / str(pid) / "stat").write_bytes(b"%d (serve-gr\xc3) %b" % (pid, " ".join(fields).encode()))
    monkeypatch.setattr(proc, "PROC", tmp_path)
    assert proc.resident_bytes(77) == 12 * 1024
    assert {one.pid for one in cgroup.processes_of("docker-77")} == {77, os.getpid()}
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("b")
    assert process_id(77, tmp_path) is not None


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("HF_TOKEN", "x", True), ("VLLM_API_KEY", "x", True), ("AWS_SECRET_ACCESS_KEY", "x", True),
        ("DB_PASSWORD", "x", True), ("apikey", "x", True), ("OPENAI_APIKEY", "x", True), ("hf_token", "x", True),
        ("TOKENIZERS_PARALLELISM", "false", False), ("MAX_TOKENS", "512", False), ("KEYBOARD", "de", False),
        ("MONKEY", "x", False), ("PATH", "/bin", False), ("VLLM_USE_V1", "1", False), ("AUTHOR", "x", False),
        ("HTTPS_PROXY", "http://me:word@proxy:3128", True), ("HTTPS_PROXY", "http://proxy:3128", False),
        ("ANYTHING", "hf_abcdefghijkl", True),
    ],
)  # fmt: skip
def test_which_variables_are_secrets(name, value, secret):
    assert secrets.is_secret(name, value) is secret


def test_a_digest_tells_values_apart_and_does_not_contain_them():
    first, second = secrets.digest("e", "N", "one"), secrets.digest("e", "N", "two")
    assert first != second
    assert first == secrets.digest("e", "N", "one") != secrets.digest("f", "N", "one")
    assert len(first) == 16


def inspected(**more):
    return {
        "Id": "a" * 64,
        "Name": "/prod",
        "Image": "sha256:1",
        "State": {"Status": "running", "Running": True, "Pid": 7, "StartedAt": "2026-01-01T00:00:00Z"},
        "Config": {"Cmd": ["vllm", "serve", "--max-num-seqs", "4"], "Env": ["A=b", "HF_TOKEN=hf_abcdefghi"]},
        "HostConfig": {"RestartPolicy": {"Name": "always", "MaximumRetryCount": 0}, "AutoRemove": False},
        "Mounts": [{"Type": "bind", "Source": "/m", "Destination": "/models", "RW": True}],
        **more,
    }


def parsed(**more):
    return container.parse(json.dumps([inspected(**more)]))


def test_a_container_is_up_only_with_a_process():
    assert parsed().is_up
    assert not parsed(State={"Status": "restarting", "Running": True, "Restarting": True, "Pid": 0}).is_up
    assert not parsed(State={"Status": "exited", "Running": False, "ExitCode": 0}).is_up
    assert parsed().restart_policy == "always"


@pytest.mark.parametrize(
    ("change", "phrases"),
    [
        ({}, []),
        ({"Config": {**inspected()["Config"], "Cmd": ["vllm", "serve", "--max-num-seqs", "32"]}},
         ["command: --max-num-seqs: 32 instead of 4"]),
        ({"Config": {**inspected()["Config"], "Cmd": ["vllm", "serve"]}},
         ["command: nothing instead of --max-num-seqs 4"]),
        ({"Config": {**inspected()["Config"], "Env": ["A=c", "HF_TOKEN=hf_abcdefghi"]}}, ["env A: c instead of b"]),
        ({"Config": {**inspected()["Config"], "Env": ["A=b", "HF_TOKEN=hf_zzzzzzzzz"]}},
         ["env HF_TOKEN: another value"]),
        ({"Config": {**inspected()["Config"], "Env": ["A=b"]}}, ["env HF_TOKEN: not set"]),
        ({"Image": "sha256:2"}, ["image: sha256:2 instead of sha256:1"]),
        ({"Mounts": []}, ["mounts: nothing instead of"]),
        ({"Mounts": None}, ["mounts: nothing instead of"]),
        ({"HostConfig": {"RestartPolicy": {"Name": "no"}}}, ["restart policy: no instead of always"]),
        ({"HostConfig": {**inspected()["HostConfig"], "AutoRemove": True}}, ["AutoRemove: true instead of nothing"]),
        ({"HostConfig": {**inspected()["HostConfig"], "ShmSize": 0, "Dns": [], "Ulimits": None}}, []),
        ({"HostConfig": {**inspected()["HostConfig"], "IpcMode": "host"}}, ["IpcMode: host instead of nothing"]),
        # What Podman adds by itself to a container that has run.
        ({"Config": {**inspected()["Config"],
                     "Env": ["A=b", "HF_TOKEN=hf_abcdefghi", "HOSTNAME=spark-3", "HOME=/root"]}}, []),
    ],
)  # fmt: skip
def test_every_difference_is_named_and_no_secret_shown(change, phrases):
    found = container.differences(parsed(**change), parsed(), "e")
    assert len(found) == len(phrases)
    assert all(one.startswith(phrase) for one, phrase in zip(found, phrases, strict=True))
    assert "hf_" not in " ".join(found)


def test_a_secret_is_compared_with_what_the_launch_value_says_of_it():
    wanted = parsed(Config={**inspected()["Config"], "Env": ["A=b"]})
    same, other = secrets.digest("e", "HF_TOKEN", "hf_abcdefghi"), secrets.digest("e", "HF_TOKEN", "hf_other")
    assert container.differences(parsed(), wanted, "e", {"HF_TOKEN": same}) == []
    assert container.differences(parsed(), wanted, "e", {"HF_TOKEN": other}) == ["env HF_TOKEN: another value"]


def test_pitstops_own_labels_and_anonymous_volumes_do_not_count():
    one = {"Type": "volume", "Name": "0" * 64, "Destination": "/cache", "RW": True}
    labelled = parsed(Config={**inspected()["Config"], "Labels": {"pitstop.engine": "e"}}, Mounts=[one])
    assert container.configured(labelled, "e") == container.configured(parsed(Mounts=[{**one, "Name": "f" * 64}]), "e")


@pytest.mark.parametrize("text", ["", "{}", "[]", "[{}]", "null", '[{"Id":1}]', "[[", '["a"]'])
def test_an_answer_that_is_no_container_is_told(text):
    with pytest.raises(EngineFailed, match="inspect"):
        container.parse(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(
    st.dictionaries(st.sampled_from(["Id", "Name", "State", "Config", "HostConfig", "Mounts", "NetworkSettings"]), JSON)
)
def test_any_json_is_read_or_refused(found):
    try:
        container.parse(json.dumps([found]))
    except EngineFailed as error:
        assert error.message


@given(
    st.sampled_from(
        ["Env", "Labels", "Cmd", "Entrypoint", "RestartPolicy", "PortBindings", "Ports", "Mounts", "LogConfig"]
    ),
    JSON,
)
def test_whatever_was_not_refused_can_be_read(key, odd):
    """Null, a number or a list where a text belongs: refused at the door, not where a restore needs it."""
    asked = {**inspected(), "Mounts": [], "NetworkSettings": {"Ports": {}}}
    place = {"Mounts": asked, "Ports": asked["NetworkSettings"], "Env": asked["Config"], "Labels": asked["Config"]}
    place |= {"Cmd": asked["Config"], "Entrypoint": asked["Config"]}
    place = {**place.get(key, asked["HostConfig"]), key: odd}
    level = {"Ports": "NetworkSettings", **dict.fromkeys(("Env", "Labels", "Cmd", "Entrypoint"), "Config")}
    asked = {**asked, level.get(key, "HostConfig"): place} if key != "Mounts" else place
    try:
        found = container.parse(json.dumps([asked]))
    except EngineFailed:
        return
    assert container.configured(found, "e")
    assert container.differences(found, found, "e") == []
    assert isinstance(found.published_ports, set)


def test_published_ports_are_read_from_both_places():
    bound = parsed(
        HostConfig={"PortBindings": {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8001"}], "9/tcp": None}},
        NetworkSettings={"Ports": {"8000/tcp": [{"HostIp": "0.0.0.0", "HostPort": "8002"}]}},
    )
    assert bound.published_ports == {8001, 8002}


@pytest.mark.parametrize(
    ("digests", "reference", "expected"),
    [
        ((), "base:1", "sha256:id"),
        (("ghcr.io/x/vllm@sha256:a", "localhost:5000/vllm@sha256:b"), "localhost:5000/vllm:tag", "sha256:b"),
        (("ghcr.io/x/vllm@sha256:a",), "ghcr.io/x/vllm:v1@sha256:a", "sha256:a"),
        (("ghcr.io/y/vllm@sha256:a",), "ghcr.io/x/vllm:v1", "sha256:id"),
        (("docker.io/library/redis@sha256:a",), "redis:7", "sha256:a"),
    ],
)
def test_the_digest_is_of_the_repository_that_was_asked(digests, reference, expected):
    assert registry_digest("sha256:id", digests, reference) == expected


def test_a_twin_is_created_under_another_name_and_never_started():
    argv = [
        "docker",
        "run",
        "--label",
        "a=b",
        "--detach",
        "--pull",
        "never",
        "--name",
        "p",
        "image",
        "run",
        "--name",
        "x",
    ]
    assert create_argv(argv, "twin") == [
        "docker", "create", "--label", "a=b", "--pull", "never", "--name", "twin", "image", "run", "--name", "x",
    ]  # fmt: skip


ID = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("path", "key", "belongs"),
    [
        (f"/docker/{ID}", ID, True),
        (f"/system.slice/docker-{ID}.scope", ID, True),
        (f"/machine.slice/libpod-{ID}.scope/container", ID, True),
        (f"/docker/{'f' * 64}", ID, False),
        ("/system.slice/vllm-mid.service", "vllm-mid.service", True),
        ("/system.slice/other-vllm-mid.service", "vllm-mid.service", False),
        ("/", ID, False),
    ],
)
def test_control_groups(path, key, belongs):
    assert cgroup.names(path, key) is belongs


@pytest.mark.parametrize(
    ("said", "failure"),
    [
        ("Cannot connect to the Docker daemon at unix:///x.sock. Is the docker daemon running?", Failure.DAEMON_DOWN),
        ("permission denied while trying to connect to the Docker daemon socket", Failure.FORBIDDEN),
        ('docker: Conflict. The container name "/x" is already in use by container "77bbd"', Failure.NAME_TAKEN),
        ("Error: creating container storage: the container name \"x\" is already in use by 12ab", Failure.NAME_TAKEN),
        ("Error response from daemon: removal of container x is already in progress", Failure.REMOVAL_RUNNING),
        ("Error response from daemon: No such container: x", Failure.NOT_FOUND),
        ("Error: x: image not known", Failure.NOT_FOUND),
        ("Bind for 127.0.0.1:8001 failed: port is already allocated", Failure.PORT_TAKEN),
        ("System has not been booted with systemd as init system (PID 1). Can't operate.", Failure.DAEMON_DOWN),
        ("Unit x.service could not be found.", Failure.NOT_FOUND),
        ("something else", Failure.REFUSED),
    ],
)  # fmt: skip
def test_what_commands_mean(said, failure):
    assert command.classify(said) is failure


async def test_a_command_that_takes_too_long_is_killed_with_its_children():
    with pytest.raises(CommandFailed, match="no answer within") as caught:
        await command.run(["sh", "-c", "sleep 600 & sleep 600"], environ={"PATH": os.environ["PATH"]}, timeout_s=0.2)
    assert caught.value.failure is Failure.TIMED_OUT


async def test_what_a_command_said_is_in_the_sentence_without_secrets():
    script = "echo HF_TOKEN=hf_abcdefghijkl is wrong >&2; exit 9"
    with pytest.raises(CommandFailed, match="exit code 9") as caught:
        await command.run(["sh", "-c", script], environ={"PATH": os.environ["PATH"]}, timeout_s=5)
    assert "hf_abc" not in caught.value.message
    assert caught.value.code == 9


def test_an_old_compose_is_spoken_to_in_its_own_words():
    argv = ["docker", "compose", "--file", "f", "up", "--detach", "--pull", "never", "mid"]
    assert dialect(argv, ("docker", "compose")) == argv
    assert dialect(argv, ("docker-compose",)) == ["docker-compose", "--file", "f", "up", "--detach", "mid"]


@pytest.mark.parametrize(
    ("before", "key", "seen", "answer", "remember"),
    [
        ({}, "prod/s1", "A", "prod", True),
        ({"prod/s1": "A"}, "prod/s1", "A", "prod", False),
        ({"prod/s1": "A"}, "prod/s1", "B", "seen-B", False),  # restarted from a stale script
        ({"prod/s1": "A"}, "prod/s2", "B", "prod", True),  # a person edited the script
        ({"prod/s1": "A"}, "k2/s1", "A", "prod", False),  # a knob without effect, or a watchdog's relaunch
        ({"prod/s1": "A"}, "k2/s1", "B", "k2", True),
        ({"prod/s1": "A", "k2/s1": "B"}, "prod/s1", "B", "k2", False),
    ],
)
def test_what_is_seen_is_judged_by_what_was_seen_before(before, key, seen, answer, remember):
    assert known.judge(before, key, seen) == (answer, remember)


@given(st.text(alphabet="0123456789²٣,\n [N/A]", max_size=30))
def test_any_list_of_the_gpus_processes_is_read(text):
    assert all(isinstance(pid, int) for pid in orphans.parse_compute_apps(text))


def test_the_gpus_processes_are_read_and_unknown_memory_is_not_zero():
    text = "4321, VLLM::EngineCore, 104277\n4322, python, with, commas, [N/A]\n\nNo running processes found\n4321, x, 1"
    assert orphans.parse_compute_apps(text) == {4321: 104278 * 2**20, 4322: None}


SHOW = """\
LoadState=loaded
ActiveState=inactive
SubState=dead
Result=success
MainPID=0
ExecMainCode=1
ExecMainStatus=0
FragmentPath=/etc/systemd/system/vllm-mid.service
DropInPaths=/etc/systemd/system/vllm-mid.service.d/restart-always.conf
NeedDaemonReload=no
TriggeredBy=
ExecStart={ path=/usr/bin/docker ; argv[]=/usr/bin/docker start -a vllm-mid ; start_time=[n/a] ; pid=0 }
Environment=A=b
Restart=always
Transient=no
"""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("", ""), ""),
        (("LoadState=loaded", "LoadState=not-found"), "there is no such unit"),
        (("LoadState=loaded", "LoadState=masked"), "there is no such unit"),
        (("Transient=no", "Transient=yes"), "transient"),
        (("TriggeredBy=", "TriggeredBy=vllm-mid.timer"), "vllm-mid.timer would start it again"),
        (("NeedDaemonReload=no", "NeedDaemonReload=yes"), ""),  # it is not up: nothing to lose
    ],
)
def test_why_a_unit_could_not_be_brought_back(change, reason):
    found = unit.why_not(unit.parse(SHOW.replace(*change)))
    assert reason in found
    assert bool(found) == bool(reason)


def test_a_unit_whose_files_were_edited_while_it_ran_is_refused():
    text = SHOW.replace("inactive", "active").replace("MainPID=0", "MainPID=9").replace("Reload=no", "Reload=yes")
    assert "edited after it was started" in unit.why_not(unit.parse(text))


def test_an_exit_state_is_a_code_or_a_negative_signal_or_unknown():
    assert unit.parse(SHOW).exit_state == 0
    assert unit.parse(SHOW.replace("Code=1", "Code=2").replace("Status=0", "Status=9")).exit_state == -9
    assert unit.parse(SHOW.replace("Code=1", "Code=0")).exit_state is None
    assert unit.parse("").exit_state is None


def test_a_drop_in_quotes_as_systemd_reads():
    text = unit.drop_in({"A": 'x "y" 100% \\z'}, True, {"HF_TOKEN": "hf_x"})
    assert 'Environment="A=x \\"y\\" 100%% \\\\z"' in text
    assert "Restart=no" in text
    assert "hf_x" not in text
    assert unit.environment_file({"HF_TOKEN": "a%b"}) == 'HF_TOKEN="a%b"\n'
    assert unit.drop_in({}, False, {}) == ""


@given(st.text(max_size=300))
def test_any_text_is_a_unit(text):
    unit.why_not(unit.parse(text))


def test_where_podman_keeps_its_log_is_no_setting():
    logs = ({"Type": "k8s-file", "Path": f"/containers/{name}/ctr.log", "Size": "0B"} for name in ("one", "two"))
    one, two = (parsed(HostConfig={"LogConfig": log}) for log in logs)
    assert container.differences(one, two, "e") == []
    journal = parsed(HostConfig={"LogConfig": {"Type": "journald"}})
    assert container.differences(one, journal, "e") == ['LogConfig: {"Type":"k8s-file"} instead of {"Type":"journald"}']


def test_a_process_in_the_middle_of_becoming_another_is_looked_at_again(monkeypatch):
    mine = Mark("e", "/home", "1", "f")
    answers = [{}, {}, mine.as_environ()]
    monkeypatch.setattr(proc, "environment", lambda _pid: answers.pop(0))
    monkeypatch.setattr(proc, "arguments", lambda _pid: [])
    assert tree._witness(Process(10, 1, 10, 5, "R", "sh")) == Witness(mine, silent=False)
    # A kernel thread never shows an environment, and is not waited for.
    answers[:] = [{}]
    assert tree._witness(Process(11, 2, 0, 5, "S", "kworker")).silent


@pytest.mark.parametrize(
    ("config", "host", "is_for"),
    [
        ({"Cmd": ["serve", "--port", "8001"]}, {}, True),
        ({"Cmd": ["serve", "--port=8001"]}, {}, True),
        ({"Env": ["PORT=8001"]}, {}, True),
        ({}, {"PortBindings": {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8001"}]}}, True),
        ({"Env": ["VLLM_PORT=8001"], "Cmd": ["serve"]}, {}, True),
        ({"Env": ["OPENAI_API_BASE_URL=http://127.0.0.1:8001"], "Cmd": ["webui"]}, {}, False),
        ({"Cmd": ["proxy", "--upstream=http://127.0.0.1:8001"]}, {}, False),
        ({"Env": ["MAX_TOKENS=8001"]}, {}, False),
        ({"Cmd": ["serve", "--port", "80010"], "Env": ["PORT=18001"]}, {}, False),
    ],
)
def test_which_containers_are_for_an_engines_port(config, host, is_for):
    found = container.Container(id="1", name="/stray", path="serve", config=config, host=host)
    assert is_for_port(found, 8001) is is_for
