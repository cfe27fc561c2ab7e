"""Other members of the same kinds: other engines, other wordings, causes that only the outside knows."""

import json

import pytest

from support.crash_logs import BANNER, CUDNN, FRAMES, READY, SHM, STATS, crash, traceback
from support.incident_findings import exited, found, kinds, only

DIED = (
    "(APIServer pid=1) ERROR 09-06 14:03:11 [core_client.py:1] Engine core proc EngineCore_DP0 died unexpectedly, "
    "shutting down client.\n"
)


# Other engines


def test_sglang_tags_only_the_first_line_of_a_traceback():
    bare = traceback(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ("event_loop", "forward")
    )
    one = only(found(f"[2026-10-19 12:00:00 TP0] Scheduler hit an exception: {bare}\n[2026-10-19 12:00:01] Killed\n"))
    assert one.signature == "oom-runtime"
    assert one.detail["rank"] == 0
    assert one.first_at == "2026-10-19T12:00:00"


def test_llama_cpp_says_it_without_a_traceback():
    log = (
        "0.00.101.200 I llama_model_loader: loaded meta data\n"
        "0.01.101.200 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 18432.00 MiB on device 0: cudaMalloc "
        "failed: out of memory\n"
        "0.01.101.300 E llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"
        "0.01.101.400 E srv    load_model: failed to load model, '/models/x.gguf'\n"
    )
    one = only(found(log, state=exited(1)))
    assert one.signature == "oom-runtime"
    assert "18432.00 MiB" in one.summary


def test_an_abort_is_told_by_its_reason_not_by_its_shout():
    log = (
        READY + "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        "  what():  [PG ID 0 PG GUID 0 Rank 0] Process group watchdog thread terminated with exception: CUDA error: an "
        "illegal memory access was encountered\n"
    )
    assert only(found(log, state=exited(134))).signature == "cuda-illegal-memory-access"
    alone = READY + "terminate called after throwing an instance of 'std::runtime_error'\n"
    assert only(found(alone, state=exited(134))).signature == "aborted"


def test_two_services_in_one_compose_log_are_two_stories():
    qwen = "".join(f"qwen-1      | {line}\n" for line in crash(CUDNN, "cudnn", "09-06 14:03:11").splitlines())
    boot = "".join(f"nemotron-1  | {line}\n" for line in (BANNER.format(time="09-06 14:03:12") + READY).splitlines())
    stop = "nemotron-1  | INFO:     Shutting down\n"
    lines = qwen.splitlines(keepends=True)
    one = only(found(boot + stop + "".join(lines[:9]) + boot + "".join(lines[9:])))
    assert one.signature == "flashinfer-3566-cudnn-fp8"
    assert one.sources == ("log0: qwen-1",)


def test_a_traceback_that_comes_out_after_the_server_has_gone_is_the_same_failure():
    again = traceback(CUDNN, FRAMES["cudnn"], "(Worker_TP0 pid=9) ERROR 09-06 14:03:13 [x.py:1] ")
    assert len(found(crash(CUDNN, "cudnn", "09-06 14:03:11") + again).incidents) == 1
    later = again.replace("14:03:13", "14:13:13")
    assert len(found(crash(CUDNN, "cudnn", "09-06 14:03:11") + later).incidents) == 2


# Ends that only the outside explains


def test_an_echo_is_explained_by_the_kernel():
    one = only(
        found(READY + DIED, kernel="[1.0] Memory cgroup out of memory: Killed process 99 (python3) total-vm:1kB")
    )
    assert one.signature == "oom-cgroup"
    assert any("died unexpectedly" in line for line in one.evidence)


def test_an_echo_is_explained_by_the_end_state():
    assert only(found(READY + DIED, state=exited(137, OOMKilled=True))).signature == "oom-cgroup"


def test_somebody_elses_death_is_not_the_engines():
    kernel = "[1.0] Out of memory: Killed process 99 (chrome) total-vm:1kB"
    assert kinds(found(READY, state={"State": {"Status": "running", "Running": True}}, kernel=kernel)) == []
    assert only(found(READY, state=exited(137), kernel=kernel)).signature == "killed-from-outside"


def test_a_kill_of_another_day_is_not_this_one():
    kernel = "2026-09-01T10:00:00+00:00 spark kernel: Out of memory: Killed process 99 (python3) total-vm:1kB"
    state = exited(137, FinishedAt="2026-09-06T14:03:11.123456789Z")
    assert only(found(READY, state=state, kernel=kernel)).signature == "killed-from-outside"
    near = kernel.replace("09-01T10:00", "09-06T14:03")
    assert only(found(READY, state=state, kernel=near)).signature == "oom-killer"


def test_a_cause_in_the_log_stays_the_root_when_the_guard_kills_what_is_left():
    guard = "time,mem_available_mib,event\n2026-09-06T14:03:40Z,7000,killed: available\n"
    one = only(found(crash(CUDNN, "cudnn", "09-06 14:03:11"), state=exited(137), guard=guard))
    assert one.signature == "flashinfer-3566-cudnn-fp8"
    assert any("guard" in line for line in one.consequences)
    later = guard.replace("14:03:40", "19:00:00")
    assert sorted(kinds(found(crash(CUDNN, "cudnn", "09-06 14:03:11"), guard=later))) == [
        "flashinfer-3566-cudnn-fp8", "guard-kill",
    ]  # fmt: skip


def test_the_guards_own_account_is_read():
    report = {"schema": "pitstop.guard", "verdict": "tripped", "engine": "q", "reason": "low"}
    report |= {"finished_at": "2026-09-06T14:03:10.000Z", "lowest_available_bytes": 6 * 2**30}
    one = only(found(READY, state=exited(137), guard=json.dumps(report, indent=2)))
    assert one.signature == "guard-kill"
    assert one.detail["lowest_available_mib"] == 6144
    assert kinds(found(READY, state=exited(0), guard=json.dumps({**report, "verdict": "clean"}))) == []


def test_the_last_errors_are_the_evidence_of_an_end_without_a_traceback():
    one = only(found(READY + "ERROR 09-06 14:03:11 [x.py:1] the model says no\n", state=exited(1)))
    assert any("the model says no" in line for line in one.evidence)
    assert one.signature.startswith("unknown-")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ExecMainCode=exited\nExecMainStatus=1\nResult=exit-code\n", "exit code 1"),
        ("ExecMainCode=killed\nExecMainStatus=9\nResult=signal\n", "137"),
        ("ExecMainCode=2\nExecMainStatus=11\nResult=core-dump\n", "139"),
    ],
)
def test_systemd_counts_signals_apart(text, code):
    assert code in only(found(READY, state=text)).summary


# Exceptions that an engine survives


def test_what_went_wrong_while_it_started_all_the_same_is_no_failure():
    log = BANNER.format(time="09-06 14:00:00") + traceback("ImportError: no module x", ("load",)) + READY
    findings = found(log)
    assert kinds(findings) == []
    assert any("went on" in note.text for note in findings.notes)


def test_an_unknown_exception_after_which_tokens_come_is_no_failure():
    log = READY + traceback("ValueError: odd", ("handle",), "ERROR 09-06 14:00:01 [x.py:1] ")
    assert len(found(log).incidents) == 1
    assert kinds(found(log + STATS.format(time="09-06 14:00:10", rate=70.0, running=1))) == []


def test_a_traceback_that_was_logged_as_a_warning_is_none():
    log = READY + traceback("ImportError: no module x", ("load",), "WARNING 09-06 14:00:01 [x.py:1] ")
    assert kinds(found(log)) == []


def test_an_intended_end_in_the_middle_of_a_request_is_no_failure():
    log = READY + "INFO:     Received SIGINT\n" + traceback("KeyboardInterrupt", ("run",)) + DIED
    assert kinds(found(log, state=exited(130))) == []


# Waiting


def test_waiting_of_four_workers_in_one_minute_is_not_four_minutes():
    lines = "".join(
        SHM.format(time="09-06 14:01:00", line=1).replace("EngineCore_DP0 pid=171", f"Worker_TP{at} pid={at}")
        for at in range(4)
    )
    assert kinds(found(READY + STATS.format(time="09-06 14:00:00", rate=0.0, running=2) + lines)) == []


def test_a_hang_that_ends_in_a_timeout_is_one_incident():
    waits = "".join(SHM.format(time=f"09-06 14:0{at}:00", line=1) for at in range(1, 6))
    log = READY + STATS.format(time="09-06 14:00:00", rate=0.0, running=1) + waits
    one = only(found(log + crash("TimeoutError: RPC call to sample_tokens timed out.", "plain", "09-06 14:06:00")))
    assert one.signature == "hang-worker-rpc"
    assert any("block found" in line for line in one.evidence)


def test_every_line_of_a_hang_belongs_to_it():
    waits = "".join(SHM.format(time=f"09-06 14:0{at}:00", line=1) for at in range(1, 7))
    findings = found(READY + STATS.format(time="09-06 14:00:00", rate=0.0, running=1) + waits)
    assert only(findings).last_at == "2026-09-06T14:06:00"
    assert findings.notes == ()


def test_waiting_while_nobody_knows_whether_requests_ran_is_said_not_judged():
    waits = "".join(SHM.format(time=f"09-06 14:0{at}:00", line=1) for at in range(1, 6))
    findings = found(READY + waits)
    assert kinds(findings) == []
    assert "perhaps a hang" in findings.notes[0].text


def test_waiting_in_a_second_boot_is_compiling_again():
    waits = "".join(SHM.format(time=f"09-06 14:0{at}:00", line=1) for at in range(1, 6))
    log = READY + STATS.format(time="09-06 13:00:00", rate=9.0, running=1) + "INFO:     Received SIGTERM\n"
    assert kinds(found(log + BANNER.format(time="09-06 14:00:00") + waits)) == []


# Peers


@pytest.mark.parametrize(
    "line",
    [
        "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, remote process exited",
        "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "[Rank 1] Some NCCL operations have failed or timed out.",
    ],
)
def test_every_nccl_complaint_alone_is_a_lost_peer(line):
    assert only(found(line + "\n")).signature == "peer-lost"


def test_the_first_rank_to_fail_is_the_root_of_ranks_in_one_log():
    def rank(number, time, message):
        return traceback(message, FRAMES["plain"], f"(Worker_TP{number} pid={number}) ERROR 09-06 {time} [x.py:1] ")

    log = rank(1, "14:03:11", CUDNN) + rank(0, "14:03:12", "RuntimeError: NCCL error: remote process exited")
    one = only(found(log))
    assert (one.signature, one.detail["rank"]) == ("flashinfer-3566-cudnn-fp8", 1)


# Memory


def test_the_older_wording_of_the_admission_check_is_known():
    line = (
        "ValueError: Free memory on device (8.88/121.69 GiB) on startup is less than desired GPU memory utilization "
        "(0.85, 103.44 GiB)."
    )
    one = only(found(line))
    assert "94.56 GiB" in one.summary
    assert "orphan" in one.advice


def test_no_room_for_one_request_is_the_kv_cache():
    line = (
        "ValueError: To serve at least one request with the models's max seq len (262144), (24.0 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (9.5 GiB)."
    )
    assert only(found(line)).signature == "oom-kv-cache"


# Users


@pytest.mark.parametrize(
    "line",
    [
        '{"role":"user","message":"RuntimeError: CUDA error: an illegal memory access"}\n',
        '{"level":"error","messages":[{"role":"user","content":"EngineDeadError"}],"message":"EngineDeadError: x"}\n',
        "pydantic_core.ValidationError: 1 validation error\n  Input should be a string [input_value='CUDA error']\n",
    ],
)
def test_other_ways_to_repeat_a_user_trigger_no_known_fault(line):
    assert all(one.signature.startswith("unknown-") for one in found(READY + line).incidents)


def test_a_citation_inside_an_exception_is_no_fault():
    message = "ValueError: cannot parse the tool call 'RuntimeError: Plan index 13 is invalid (cuDNN fp8)'"
    one = only(found(crash(message, "plain", "09-06 14:03:11")))
    assert one.signature.startswith("unknown-")
