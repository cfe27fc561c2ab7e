"""Logs and states that people reported, and what has to be said of each."""

import json

import pytest

from support.crash_logs import (
    BANNER,
    CUBLAS_VISION,
    CUDNN,
    FRAMES,
    NOT_PERMITTED,
    READY,
    SHM,
    STATS,
    crash,
    second_report,
    traceback,
)
from support.incident_findings import exited, found, kinds, only

# One failure, one incident


def test_nine_crashes_of_the_second_report_are_seven_and_two_unexplained():
    findings = found(second_report())
    assert kinds(findings).count("flashinfer-3566-cudnn-fp8") == 7
    assert findings.unexplained == 2
    assert len(findings.incidents) == 9
    assert all("3566" in one.upstream for one in findings.incidents if one.explained)
    assert [one.first_at[:10] for one in findings.incidents][:2] == ["2026-09-06", "2026-09-07"]


def test_nine_bare_tracebacks_are_nine_incidents():
    mix = [(CUDNN, "cudnn")] * 7 + [(CUBLAS_VISION, "vision"), (NOT_PERMITTED, "plain")]
    findings = found("".join(traceback(message, FRAMES[frames]) for message, frames in mix))
    assert kinds(findings).count("flashinfer-3566-cudnn-fp8") == 7
    assert findings.unexplained == 2
    assert len({one.key for one in findings.incidents}) == 9


def test_nine_files_are_nine_incidents():
    mix = [(CUDNN, "cudnn")] * 7 + [(CUBLAS_VISION, "vision"), (NOT_PERMITTED, "plain")]
    findings = found(*(traceback(message, FRAMES[frames]) for message, frames in mix))
    assert kinds(findings).count("flashinfer-3566-cudnn-fp8") == 7
    assert findings.unexplained == 2


@pytest.mark.parametrize(
    "message",
    [
        "RuntimeError: Plan index 7 is invalid",
        "RuntimeError: execute(...) failed with message: err 715, and code: CUDNN_STATUS_EXECUTION_FAILED",
        "cudnn._compiled_module.cudnnGraphNotSupportedError: No valid engine configs",
    ],
)
def test_the_same_fault_is_known_by_each_of_its_surfaces(message):
    assert only(found(crash(message, "cudnn", "09-06 14:03:11"))).signature == "flashinfer-3566-cudnn-fp8"


def test_prefix_caching_with_the_gated_delta_net_is_another_issue():
    message = "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasCreate(handle)`"
    assert "54173" in only(found(crash(message, "gdn", "09-06 14:03:11"))).upstream


def test_similar_unknown_failures_share_a_group_and_different_ones_do_not():
    first, second, third = (
        only(found(crash(message, "plain", "09-06 14:03:11"))).signature
        for message in (
            "ValueError: block 17 of 0x7f3a is not in /models/a/b.safetensors",
            "ValueError: block 9 of 0x11 is not in /srv/other/c.safetensors",
            "ValueError: a different thing",
        )
    )
    assert first == second != third
    assert first.startswith("unknown-")


# Dialects

PLAIN = crash(CUDNN, "cudnn", "09-06 14:03:11")


def as_docker(log):
    lines = [
        json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-09-06T12:03:11.123456789Z"})
        for line in log.splitlines()
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("dress", "at"),
    [
        (as_docker, "2026-09-06T12:03:11.123456Z"),
        (lambda log: "".join(f"vllm-mid-1  | {line}\n" for line in log.splitlines()), "2026-09-06T14:03:11"),
        (
            lambda log: "".join(f"\x1b[36mvllm-mid-1  | \x1b[0m\x1b[1;31m{line}\x1b[0m\n" for line in log.splitlines()),
            "2026-09-06T14:03:11",
        ),
        (
            lambda log: "".join(f"Sep 06 12:03:11 spark-3 docker[812]: {line}\n" for line in log.splitlines()),
            "2026-09-06T12:03:11",
        ),
        (
            lambda log: "".join(f"2026-09-06T12:03:11.5Z {line}\n" for line in log.splitlines()),
            "2026-09-06T12:03:11.500000Z",
        ),
        (
            lambda log: "".join(f"2026-09-06T12:03:11.5+00:00 stderr F {line}\n" for line in log.splitlines()),
            "2026-09-06T12:03:11.500000Z",
        ),
        (
            lambda log: "".join(
                json.dumps({"MESSAGE": line, "__REALTIME_TIMESTAMP": "1788696191000000"}) + "\n"
                for line in log.splitlines()
            ),
            "2026-09-06T12:03:11Z",
        ),
        (lambda log: log.replace("\n", "\r\n"), "2026-09-06T14:03:11"),
        (lambda log: log.replace("\n", "\n\x00\xff\xfe\n"), "2026-09-06T14:03:11"),
    ],
)
def test_every_dialect_tells_the_same_incident(dress, at):
    raw = dress(PLAIN).encode("latin-1")
    one = only(found(raw))
    assert one.signature == "flashinfer-3566-cudnn-fp8"
    assert one.first_at == at


def test_ranks_that_interleave_are_put_together_each():
    prefix = "(Worker_TP{} pid={}) ERROR 09-06 14:03:11 [x.py:1] "
    lines = [traceback(CUDNN, FRAMES["cudnn"], prefix.format(rank, rank + 9)).splitlines() for rank in (0, 1)]
    log = "\n".join(line for pair in zip(*lines, strict=True) for line in pair)
    one = only(found(log))
    assert one.signature == "flashinfer-3566-cudnn-fp8"
    assert one.detail["rank"] == 0


# C2: a crash with exit code 0


def test_exit_zero_after_a_fatal_error_is_a_crash_and_says_which_policy_helps():
    one = only(found(PLAIN, state=exited(0)))
    assert any("code 0" in line for line in one.consequences)
    assert any("unless-stopped" in line for line in one.consequences)


def test_exit_zero_after_a_signal_is_an_intended_stop():
    log = READY + "(APIServer pid=1) INFO:     Received SIGTERM\n(APIServer pid=1) INFO:     Shutting down\n" + PLAIN
    findings = found(log, state=exited(0))
    assert kinds(findings) == []
    assert any("asked to stop" in note.text for note in findings.notes)


def test_a_signal_after_the_fatal_error_does_not_excuse_it():
    assert len(found(READY + PLAIN + "Received SIGTERM\n", state=exited(0)).incidents) == 1


def test_systemd_calls_the_same_crash_a_success():
    one = only(found(PLAIN, state="ExecMainStatus=0 Result=success NRestarts=0\n"))
    assert any("unless-stopped" in line or "always" in line for line in one.consequences)


def test_a_state_fragment_without_braces_is_read():
    text = '"State":{"Status":"exited","Running":false,"OOMKilled":false,"ExitCode":0,"Error":""}'
    assert only(found(PLAIN, state=text)).consequences


def test_the_end_state_is_not_blamed_on_a_crash_that_was_followed_by_a_good_boot():
    log = PLAIN + BANNER.format(time="09-06 15:00:00") + READY + "INFO:     Received SIGTERM\n"
    one = only(found(log, state=exited(0)))
    assert not any("code 0" in line for line in one.consequences)


# Exit codes


@pytest.mark.parametrize(
    ("state", "log", "signature"),
    [
        (exited(137), READY, "killed-from-outside"),
        (exited(137, OOMKilled=True), READY, "oom-cgroup"),
        (exited(139), READY, "segmentation-fault"),
        (exited(134), READY, "aborted"),
        (exited(128, Error="driver failed programming external connectivity"), "", "container-not-started"),
    ],
)
def test_an_exit_code_is_told_for_what_it_proves(state, log, signature):
    assert only(found(log, state=state)).signature == signature


@pytest.mark.parametrize(("code", "log"), [(0, READY), (143, READY), (137, READY + "INFO:  Shutting down\n")])
def test_an_end_that_needs_no_explanation_is_no_incident(code, log):
    assert kinds(found(log, state=exited(code))) == []


def test_137_is_not_called_out_of_memory():
    one = only(found(READY, state=exited(137)))
    assert "oom" not in one.signature
    assert not one.explained


def test_our_own_kill_is_ours():
    guard = "21:16:22 avail=7488MiB free=7161MiB\n21:16:42 MemAvailable=6018 MiB < floor -> docker kill\n"
    one = only(found(READY, state=exited(137), guard=guard))
    assert one.signature == "guard-kill"
    assert any("ours" in line for line in one.consequences)


def test_echoes_after_our_own_kill_are_aftermath():
    guard = (
        "time,mem_available_mib,mem_free_mib,event\n2026-09-06T14:00:00.000Z,9000,8000,\n"
        "2026-09-06T14:03:10.000Z,7000,6000,killed: available\n"
    )
    log = READY + "(APIServer pid=1) ERROR 09-06 14:03:11 [x.py:1] Engine core proc EngineCore_DP0 died unexpectedly\n"
    assert kinds(found(log, state=exited(137), guard=guard)) == ["guard-kill"]


def test_a_guard_that_killed_nothing_is_no_incident():
    guard = (
        "time,mem_available_mib,event\n2026-09-06T14:00:00Z,9000,spared by the second look\n"
        "2026-09-06T14:00:01Z,9000,nothing to kill\n"
    )
    assert kinds(found(READY, state=exited(0), guard=guard)) == []


# C4: workers that wait


def shm(times, line=466):
    return "".join(SHM.format(time=f"09-06 {time}", line=line) for time in times)


def test_waiting_while_compiling_is_no_hang():
    findings = found(
        BANNER.format(time="09-06 14:00:00") + shm(["14:01:00", "14:02:00", "14:03:00", "14:04:00"]) + READY
    )
    assert kinds(findings) == []
    assert any("no hang" in note.text for note in findings.notes)


@pytest.mark.parametrize("line", [466, 802])
def test_waiting_while_requests_run_and_nothing_comes_is_a_hang(line):
    busy = STATS.format(time="09-06 14:00:30", rate=0.0, running=2)
    working = STATS.format(time="09-06 14:00:00", rate=50.1, running=2)
    log = READY + working + busy + shm(["14:01:00", "14:02:00", "14:03:00"], line)
    assert only(found(log)).signature == "hang-shm"


def test_the_older_wording_counts_too():
    old = "INFO 09-06 14:0{}:00 shm_broadcast.py:396] No available block found in 60 second.\n"
    log = READY + STATS.format(time="09-06 14:00:00", rate=0.0, running=1) + "".join(old.format(at) for at in (1, 2, 3))
    assert only(found(log)).signature == "hang-shm"


def test_tokens_in_between_are_no_hang():
    work = STATS.format(time="09-06 14:02:30", rate=12.0, running=2)
    before = STATS.format(time="09-06 14:00:00", rate=9.0, running=2)
    log = READY + before + shm(["14:01:00", "14:02:00"]) + work + shm(["14:03:00"])
    assert kinds(found(log)) == []


def test_waiting_of_an_idle_engine_is_no_hang():
    idle = STATS.format(time="09-06 14:00:00", rate=0.0, running=0)
    assert kinds(found(READY + idle + shm(["14:01:00", "14:02:00", "14:03:00", "14:04:00"]))) == []


# C5: the loud line is the victim

SAMPLE = "TimeoutError: RPC call to sample_tokens timed out."


def test_a_worker_that_does_not_answer_hangs_and_is_not_out_of_memory():
    one = only(found(READY + crash(SAMPLE, "plain", "07-16 08:23:49")))
    assert one.signature == "hang-worker-rpc"
    assert one.severity == "hang"


def test_the_guards_lowest_reading_is_evidence_of_a_hang():
    guard = "time,mem_available_mib,event\n2026-07-16T08:20:00Z,17000,\n2026-07-16T08:21:00Z,14000,\n"
    one = only(found(READY + crash(SAMPLE, "plain", "07-16 08:23:49"), guard=guard))
    assert any("14000" in line for line in one.evidence)


NCCL = (
    "[rank1]:[E906 14:13:31.123456789 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=203441, OpType=GATHER, NumelIn=1, Timeout(ms)=600000) ran for 600020 milliseconds before timing "
    "out.\n"
)


def test_nccl_alone_says_that_a_peer_was_lost():
    one = only(found(NCCL.replace("E906", "E0906")))
    assert one.signature == "peer-lost"
    assert "other rank" in one.advice


def test_the_quiet_cause_of_another_rank_wins_over_the_loud_victim():
    memory = FREE.format(free=112.05, share=0.93, wanted=113.17)
    cause = traceback(memory, FRAMES["plain"], "(EngineCore_DP0 pid=9) ERROR 09-06 14:03:11 [core.py:1] ")
    for logs in ((NCCL.replace("E906", "E0906") * 3, cause), (cause, NCCL.replace("E906", "E0906") * 3)):
        assert only(found(*logs)).signature == "oom-admission"


# C6: five kinds of out of memory

FREE = (
    "ValueError: Free memory on device cuda:0 ({free}/121.69 GiB) on startup is less than desired GPU memory "
    "utilization ({share}, {wanted} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
)


def test_five_kinds_have_five_signatures_and_five_advices():
    runtime = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 72.00 MiB. GPU 0 has 121.69 GiB."
    init = traceback(
        "torch.AcceleratorError: CUDA error: out of memory", ("init_device", "__post_init__", "mem_get_info")
    )
    ones = [
        only(found(traceback(FREE.format(free=109.53, share=0.91, wanted=110.74), FRAMES["plain"]))),
        only(
            found(traceback("ValueError: No available memory for the cache blocks. Try increasing x.", FRAMES["plain"]))
        ),
        only(found(init)),
        only(found(traceback(runtime, FRAMES["plain"]))),
        only(
            found(
                "", state=exited(137), kernel="[1.2] Out of memory: Killed process 123 (VLLM::EngineCor) total-vm:1kB"
            )
        ),
    ]
    assert len({one.signature for one in ones}) == 5
    assert len({one.advice for one in ones}) == 5
    assert "1.21 GiB" in ones[0].summary
    assert ones[0].detail["short"] == 1.21
    assert "72.00 MiB" in ones[3].summary


@pytest.mark.parametrize(
    "line",
    [
        FREE.format(free=109.53, share=0.91, wanted=110.74),
        "ValueError: No available memory for the cache blocks",
        "torch.AcceleratorError: CUDA error: out of memory",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 72.00 MiB",
    ],
)
def test_an_excerpt_of_one_line_is_enough(line):
    assert only(found(line)).signature.startswith("oom-")


def test_an_orphan_is_suspected_when_most_of_the_memory_is_gone():
    one = only(found(traceback(FREE.format(free=8.88, share=0.85, wanted=103.44), FRAMES["plain"])))
    assert "orphan" in one.advice


def test_the_drivers_refusal_is_evidence_only():
    line = "[ 812.1] NVRM: nvAssertOkFailedNoLog: Assertion failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)\n"
    findings = found(READY, kernel=line)
    assert kinds(findings) == []
    assert findings.notes


XIDS = (
    "[ 9911.2] NVRM: Xid (PCI:000f:01:00): 13, Graphics SM Warp Exception on (GPC 0, TPC 0): Out Of Range Address\n"
    "[ 9911.3] NVRM: Xid (PCI:000f:01:00): 43, pid=4242, name=VLLM::EngineCor, channel 0x0000000a\n"
)


def test_xid_13_and_43_are_one_fault_of_the_gpu():
    one = only(found(READY, kernel=XIDS))
    assert one.signature == "gpu-xid-13"
    assert any("cannot go on" in line for line in one.consequences)


def test_the_kernels_lines_are_evidence_of_the_logs_incident():
    message = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    one = only(found(crash(message, "plain", "09-06 14:03:11"), kernel=XIDS))
    assert one.signature == "cuda-illegal-memory-access"
    assert any("Xid" in line for line in one.evidence)


# What users wrote

QUOTING = [
    "INFO 09-06 14:03:12 [logger.py:43] Received request chatcmpl-abc: prompt: '{0}', params: SamplingParams(n=1)\n",
    "INFO 09-06 14:03:12 [logger.py:43] Generated response chatcmpl-abc: output: '{0}', finish_reason: stop\n",
    "[2026-09-06 14:03:12] Receive: obj=GenerateReqInput(rid='1', text='{0}', sampling_params=None)\n",
    'srv  log_server_r: request: {{"messages":[{{"role":"user","content":"{0}"}}]}}\n',
    "(APIServer pid=1) ERROR 09-06 14:03:12 [serving.py:1] Error in preprocessing prompt inputs: '{0}'\n",
    '{{"level":"info","msg":"request","body":{{"prompt":"{0}"}}}}\n',
]
WORDS = [
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "EngineCore encountered a fatal error. EngineDeadError",
    "why does cuDNN fail with Plan index 13 is invalid in fp8?",
    "NVRM: Xid 13, NCCL error, GGML_ASSERT(x) failed, No space left on device",
    "Received SIGTERM",
]


@pytest.mark.parametrize("line", QUOTING)
@pytest.mark.parametrize("words", WORDS)
def test_what_a_user_wrote_triggers_nothing(line, words):
    assert kinds(found(READY + line.format(words))) == []


def test_a_pasted_traceback_in_a_prompt_of_many_lines_triggers_nothing():
    pasted = traceback(CUDNN, FRAMES["cudnn"]) + "EngineCore encountered a fatal error.\nSegmentation fault\n"
    log = (
        READY + f"INFO 09-06 14:03:12 [logger.py:43] Received request c-1: prompt: 'What is this?\n{pasted}', params: "
        "SamplingParams(n=1), prompt_token_ids: None\n" + STATS.format(time="09-06 14:03:20", rate=70.0, running=1)
    )
    assert kinds(found(log)) == []


def test_a_crash_right_after_a_logged_request_is_still_seen():
    log = READY + "INFO 09-06 14:03:12 [logger.py:43] Received request c-1: prompt: 'hi', params: SamplingParams(n=1)\n"
    assert len(found(log + traceback(CUDNN, FRAMES["cudnn"])).incidents) == 1


def test_one_requests_traceback_is_no_failure_of_the_engine():
    log = READY + "ERROR:    Exception in ASGI application\n" + traceback("ValueError: bad image", ("app", "handle"))
    assert kinds(found(log)) == []


def test_a_cause_in_the_chain_counts_not_what_was_raised_while_handling_it():
    log = (
        traceback(CUDNN, FRAMES["cudnn"])
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + traceback("KeyError: 'request-1'", ("cleanup",))
    )
    assert only(found(log)).signature == "flashinfer-3566-cudnn-fp8"


def test_a_healthy_log_tells_nothing():
    log = BANNER.format(time="09-06 14:00:00") + READY + STATS.format(time="09-06 14:03:20", rate=70.0, running=1) * 50
    findings = found(log, state={"State": {"Status": "running", "Running": True, "ExitCode": 0}})
    assert kinds(findings) == []
