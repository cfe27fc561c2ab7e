"""Logs of engines that broke, written the way the engines write them."""

from __future__ import annotations

ENGINE = "(EngineCore_DP0 pid={pid}) ERROR {time} [core.py:{line}] "
FRAMES = {
    "cudnn": ("run_engine_core", "execute_model", "bmm_fp8", "fp8_gemm_sm100", "_cudnn_gemm_fp8"),
    "vision": ("run_engine_core", "execute_model", "embed_multimodal", "visual", "forward"),
    "gdn": ("run_engine_core", "execute_model", "gated_delta_net", "forward"),
    "plain": ("run_engine_core", "execute_model", "forward"),
}
CUDNN = "RuntimeError: Plan index 13 is invalid"
CUBLAS_VISION = "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle)`"
NOT_PERMITTED = "RuntimeError: CUDA error: operation not permitted"
BANNER = "(APIServer pid=1) INFO {time} [utils.py:233] vLLM API server version 0.28.1\n"
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"
SHM = (
    "(EngineCore_DP0 pid=171) INFO {time} [shm_broadcast.py:{line}] No available shared memory broadcast block found "
    "in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work (e.g. "
    "compilation).\n"
)
STATS = (
    "(APIServer pid=1) INFO {time} [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation "
    "throughput: {rate} tokens/s, Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%\n"
)


def traceback(message: str, frames: tuple[str, ...], prefix: str = "") -> str:
    """A traceback as Python prints it, each line behind a prefix."""
    lines = ["Traceback (most recent call last):"]
    for at, name in enumerate(frames):
        lines += [f'  File "/usr/lib/python3/dist-packages/vllm/x{at}.py", line {100 + at}, in {name}', f"    {name}()"]
    return "".join(f"{prefix}{line}\n" for line in [*lines, message])


def crash(message: str, frames: str, time: str, *, pid: int = 171, line: int = 710) -> str:
    """What vLLM writes when its engine core dies: the traceback, its repetition, the echo, and a clean shutdown."""
    prefix = ENGINE.format(pid=pid, time=time, line=line)
    bare = f"(EngineCore_DP0 pid={pid}) "
    server = f"(APIServer pid=1) ERROR {time} [async_llm.py:419] "
    return (
        f"{prefix}EngineCore encountered a fatal error.\n"
        + traceback(message, FRAMES[frames], prefix)
        + f"{bare}Process EngineCore_DP0:\n"
        + traceback(message, FRAMES[frames], bare)
        + f"{server}AsyncLLM output_handler failed.\n"
        + traceback(
            "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for "
            "the root cause.",
            ("output_handler", "get_output_async"),
            server,
        )
        + "(APIServer pid=1) INFO:     Shutting down\n"
        + "(APIServer pid=1) INFO:     Waiting for application shutdown.\n"
        + "(APIServer pid=1) INFO:     Application shutdown complete.\n"
        + "(APIServer pid=1) INFO:     Finished server process [1]\n"
    )


def second_report() -> str:
    """Nine crashes: seven of cuDNN's FP8 kernel, one in the vision encoder, one of unknown origin."""
    days = ("09-06", "09-07", "09-08", "09-09", "09-10", "09-19", "09-21", "09-24", "09-26")
    kinds = [(CUDNN, "cudnn")] * 4 + [(CUBLAS_VISION, "vision"), (CUDNN, "cudnn"), (NOT_PERMITTED, "plain")]
    kinds += [(CUDNN, "cudnn")] * 2
    return "".join(
        BANNER.format(time=f"{day} 01:00:00")
        + READY
        + STATS.format(time=f"{day} 14:00:00", rate=79.2, running=1)
        + crash(message, frames, f"{day} 14:03:11", line=700 + at)
        for at, (day, (message, frames)) in enumerate(zip(days, kinds, strict=True))
    )
