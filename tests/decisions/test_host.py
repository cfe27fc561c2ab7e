from dataclasses import replace

import pytest

from pitstop.decisions.host import BoxView, EngineOnBox, OpenPort, Severity, findings

GIB = 2**30
GOOD = BoxView(
    compaction_proactiveness=0,
    kcompactd_cpu_s=3.0,
    uptime_s=86_400.0,
    swap_total_bytes=16 * GIB,
    memory_total_bytes=121 * GIB,
    min_available_bytes=12 * GIB,
    max_swap_growth_bytes=8 * GIB,
    engines=(EngineOnBox("qwen", 8001, has_key=False, restart_policy="no", unit="q.service", unit_restart="always"),),
    ports=(OpenPort("0.0.0.0", 22, "sshd"), OpenPort("192.168.1.5", 8001, "python3")),
    known_ports=(OpenPort("0.0.0.0", 22, "sshd"),),
    firewall=False,
)


def codes(box):
    return [one.code for one in findings(box)]


def test_a_box_in_order_has_no_findings():
    assert codes(GOOD) == []


@pytest.mark.parametrize(
    ("cpu_s", "severity"), [(80_000.0, Severity.PROBLEM), (3.0, Severity.ADVICE), (None, Severity.ADVICE)]
)
def test_compaction_is_judged_by_what_kcompactd_really_spent(cpu_s, severity):
    (one,) = findings(replace(GOOD, compaction_proactiveness=20, kcompactd_cpu_s=cpu_s))
    assert (one.code, one.severity) == ("proactive-compaction", severity)
    assert "=20" in one.undo


def test_a_kernel_without_the_setting_is_no_finding():
    assert codes(replace(GOOD, compaction_proactiveness=None)) == []


@pytest.mark.parametrize(
    ("policy", "unit_restart", "found"),
    [
        ("no", "on-failure", True), ("on-failure:3", None, True), ("no", None, True), (None, "no", True),
        ("always", None, False), ("unless-stopped", "no", False), ("no", "always", False), (None, None, False),
    ],
)  # fmt: skip
def test_an_engine_that_a_clean_exit_would_leave_down_is_found(policy, unit_restart, found):
    engine = replace(GOOD.engines[0], restart_policy=policy, unit_restart=unit_restart)
    assert codes(replace(GOOD, engines=(engine,))) == (["not-revived"] if found else [])


@pytest.mark.parametrize(("address", "found"), [("0.0.0.0", True), ("::", True), ("192.168.1.5", False)])
def test_an_engine_that_is_open_to_all_is_found_unless_a_key_or_a_firewall_stands_before_it(address, found):
    port = OpenPort(address, 8001, "docker-proxy")
    box = replace(GOOD, ports=(port,), known_ports=(port,))
    assert codes(box) == (["engine-exposed"] if found else [])
    assert codes(replace(box, firewall=True)) == []
    assert codes(replace(box, engines=(replace(GOOD.engines[0], has_key=True),))) == []


def test_a_firewall_that_nobody_could_see_is_none():
    port = OpenPort("0.0.0.0", 8001)
    assert codes(replace(GOOD, ports=(port,), known_ports=(port,), firewall=None)) == ["engine-exposed"]


def test_an_agent_that_an_installer_brought_is_found_by_its_new_port():
    agent = OpenPort("0.0.0.0", 34334, "atlasctl-agent")
    (one,) = findings(replace(GOOD, ports=(*GOOD.ports, agent)))
    assert one.code == "new-listener"
    assert "atlasctl-agent" in one.text
    assert "34334" in one.evidence


def test_the_first_check_knows_no_ports_and_so_calls_none_new():
    assert codes(replace(GOOD, known_ports=None)) == []


def test_a_floor_above_half_of_the_memory_and_a_swap_limit_beyond_the_swap_are_found():
    assert codes(replace(GOOD, min_available_bytes=70 * GIB, swap_total_bytes=2 * GIB)) == [
        "floor-too-high",
        "swap-limit-unreachable",
    ]


def test_every_finding_has_evidence_a_remedy_and_an_undo():
    port = OpenPort("::", 8001)
    bad = replace(
        GOOD, compaction_proactiveness=20, swap_total_bytes=1, min_available_bytes=121 * GIB, ports=(port,),
        engines=(replace(GOOD.engines[0], unit_restart="no"),),
    )  # fmt: skip
    found = findings(bad)
    assert len(found) == 6
    assert all(one.evidence and one.remedy and one.undo for one in found)
