from pitstop.core.config.engine import (
    ComposeLaunch,
    DockerLaunch,
    Engine,
    Knob,
    ProcessLaunch,
    ScriptLaunch,
    SystemdLaunch,
)
from pitstop.launch.plan import plan
from pitstop.launch.steps import start_steps, stop_steps

ENVIRON = {"PATH": "/bin", "API_KEY": "sk-a-secret-that-nobody-sees"}


def planned(launch, knob=None, overrides=None):
    engine = Engine(
        kind="vllm", model="m", base_url="http://127.0.0.1:9/v1", launch=launch, knob={"K": knob} if knob else {}
    )
    return plan("e", engine, overrides, environ=ENVIRON)


def test_docker_is_stopped_removed_and_run_with_the_argv_that_is_really_run():
    spec = planned(DockerLaunch(name="prod", image="img:1", command=("serve", "a b"), env={"API_KEY": "${API_KEY}"}))
    assert stop_steps(spec) == ["docker stop --time 60 prod", "docker rm --force --volumes prod"]
    [line] = start_steps(spec)
    assert line.startswith("docker run --label pitstop.engine=e --label pitstop.fingerprint=")
    assert line.endswith("--detach --pull never --name prod --env API_KEY img:1 serve 'a b'")
    assert "sk-" not in line


def test_podman_is_called_podman():
    spec = planned(DockerLaunch(name="prod", image="img:1", binary="podman"))
    assert [line.split()[0] for line in (*stop_steps(spec), *start_steps(spec))] == ["podman"] * 3


def test_a_process_is_started_as_typed_and_stopped_by_signals():
    spec = planned(ProcessLaunch(command=("serve", "--port", "{port}"), env={"A": "b c"}))
    assert start_steps(spec) == ["A='b c' serve --port 9"]
    assert stop_steps(spec) == ["SIGTERM to its processes; SIGKILL to those that live 60 s later"]


def test_a_script_gets_its_knobs_in_front():
    knob = Knob(default="3", env="MTP_K")
    spec = planned(ScriptLaunch(start=("./up.sh",), stop=("./down.sh",), container="c"), knob, {"K": "2"})
    assert start_steps(spec) == ["MTP_K=2 ./up.sh"]
    assert stop_steps(spec)[0] == "MTP_K=2 ./down.sh"


def test_compose_and_systemd_are_named_with_their_own_words():
    knob = Knob(default="3", env="MTP_K")
    compose = planned(ComposeLaunch(file="c.yml", service="s"), knob, {"K": "2"})
    assert start_steps(compose) == ["MTP_K=2 docker compose --file c.yml up --detach --no-deps --pull never s"]
    assert stop_steps(compose) == ["docker compose --file c.yml rm --stop --force s"]
    unit = planned(SystemdLaunch(unit="v.service"), knob, {"K": "2"})
    assert any("MTP_K=2" in line for line in start_steps(unit))
    assert start_steps(unit)[-1] == "systemctl start v.service"
    assert stop_steps(unit) == ["systemctl stop v.service"]
