"""Real llama.cpp as a process of its own: `python -m pitstop.supply.llamacpp_server --model FILE --port N`.

The extra `demo` brings it (`xllamacpp`, llama.cpp's own HTTP server as a Python extension). Logs go to stderr; SIGTERM
and SIGINT end it at once. It is an engine like any other that pitstop launches, so it is spoken to only through its
arguments, its port and its log.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

ENDING = (signal.SIGTERM, signal.SIGINT)
_LOG_S = 0.3  # llama.cpp writes its log from a thread of its own, and the last line says why it did not start
USAGE, FAILED = 2, 3  # exit codes: an argument to change; the engine did not start
# Speculation that needs no draft model. What each brings is in docs/engines.md.
SPECULATION = {
    "none": "COMMON_SPECULATIVE_TYPE_NONE",
    "ngram-simple": "COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE",
    "ngram-map-k": "COMMON_SPECULATIVE_TYPE_NGRAM_MAP_K",
    "ngram-map-k4v": "COMMON_SPECULATIVE_TYPE_NGRAM_MAP_K4V",
    "ngram-mod": "COMMON_SPECULATIVE_TYPE_NGRAM_MOD",
    "ngram-cache": "COMMON_SPECULATIVE_TYPE_NGRAM_CACHE",
}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Serve until a signal comes. Exits 0 after SIGTERM or SIGINT, 2 for a bad argument, 3 when it cannot start.

    While the model loads a signal kills it outright: the extension holds the interpreter, and nothing is to be saved.
    """
    options = _parser().parse_args(argv)
    if not Path(options.model).is_file():
        _give_up(USAGE, f"--model {options.model} is no file.")
    if options.api_key_env and not os.environ.get(options.api_key_env):
        _give_up(USAGE, f"--api-key-env {options.api_key_env}: that variable is not set.")
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    server = _started(options)
    signals = _signals()
    _say(f"serving {options.alias} on {server.listening_address}")
    _say(f"stopped by {signal.Signals(os.read(signals, 1)[0]).name}")
    os._exit(0)  # destructors wait for running requests; the kernel takes sockets and memory back at once


def _started(options: argparse.Namespace) -> Any:
    try:
        import xllamacpp  # noqa: PLC0415 - half a second, and not installed without the extra

        return xllamacpp.Server(parameters(xllamacpp, options))
    except ImportError as error:
        _give_up(FAILED, f"llama.cpp is not installed ({error}): install pitstop with its extra `demo`.")
    except Exception as error:  # noqa: BLE001 - the extension raises bare exceptions of its own
        time.sleep(_LOG_S)
        _give_up(FAILED, f"llama.cpp did not start: {error}")


def _signals() -> int:
    """A descriptor from which the numbers of signals can be read.

    The kernel may hand a signal to any of the engine's threads; that would not wake a call that waits in this one.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for number in ENDING:
        signal.signal(number, lambda *_: None)
    return reading


def parameters(xllamacpp: Any, options: argparse.Namespace) -> Any:
    """The `CommonParams` that llama.cpp's server is started with."""
    p = xllamacpp.CommonParams()
    p.model.path = str(options.model)
    p.model_alias = {options.alias}  # a set: a plain string would name its letters
    p.hostnames = ["127.0.0.1"]
    p.port = options.port
    p.n_ctx, p.n_parallel = options.ctx * options.parallel, options.parallel  # llama.cpp divides n_ctx among the slots
    p.n_batch, p.n_ubatch = options.batch, options.ubatch
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = options.threads
    p.endpoint_metrics = p.endpoint_slots = p.endpoint_props = True
    p.cache_prompt = not options.no_cache_prompt
    p.ui = False
    if options.api_key_env:
        p.api_keys = [os.environ[options.api_key_env]]
    if options.chat_template:
        p.chat_template = options.chat_template
    for name, value in options.sampling:
        _set_default(p.sampling, name, value)
    _speculate(xllamacpp, p.speculative, options)
    return p


def _set_default(sampling: Any, name: str, value: str) -> None:
    """What llama.cpp samples by where a request does not say."""
    kinds = {one: type(getattr(sampling, one)) for one in dir(sampling) if not one.startswith("_")}
    numbers = [one for one, kind in kinds.items() if kind in (int, float)]
    if name not in numbers:
        _give_up(USAGE, f"--sampling {name}: llama.cpp has no such number; it has {', '.join(numbers)}.")
    try:
        setattr(sampling, name, kinds[name](value))
    except (ValueError, OverflowError):
        _give_up(USAGE, f"--sampling {name}={value}: that is no {kinds[name].__name__}.")


def _speculate(xllamacpp: Any, speculative: Any, options: argparse.Namespace) -> None:
    speculative.types = [getattr(xllamacpp.common_speculative_type, SPECULATION[options.spec])]
    if options.spec_draft_max:
        speculative.draft.n_max = options.spec_draft_max
        speculative.ngram_mod.n_max = options.spec_draft_max
        for mode in (speculative.ngram_simple, speculative.ngram_map_k, speculative.ngram_map_k4v):
            mode.size_m = options.spec_draft_max
    if options.spec_match:
        speculative.ngram_mod.n_match = options.spec_match
        for mode in (speculative.ngram_simple, speculative.ngram_map_k, speculative.ngram_map_k4v):
            mode.size_n = options.spec_match


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="llamacpp_server", description="Real llama.cpp as a process of its own.")
    add = parser.add_argument
    add("--version", action=_Version, help="print the version of the engine")
    add("--model", required=True, help="a GGUF file")
    add("--port", required=True, type=_number(1, 65535))
    add("--alias", default="smollm2", help="the served name")
    add("--ctx", type=_number(64, 2**24), default=8192, help="context of one request, in tokens")
    add("--parallel", type=_number(1, 256), default=2, help="requests at once")
    add("--threads", type=_number(1, 1024), default=os.cpu_count() or 1)
    add("--batch", type=_number(1, 2**20), default=2048, help="tokens of one logical batch")
    add("--ubatch", type=_number(1, 2**20), default=512, help="tokens of one physical batch")
    add("--spec", choices=SPECULATION, default="none", help="speculation without a draft model")
    add("--spec-draft-max", type=_number(1, 1024), help="longest draft, in tokens")
    add("--spec-match", type=_number(1, 1024), help="tokens that must repeat before anything is drafted")
    add("--no-cache-prompt", action="store_true", help="compute every prompt anew")
    add("--chat-template", default="", help="a template's name or text instead of the model's own")
    add("--sampling", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="a default of its sampler")
    add("--api-key-env", default="", help="the variable that holds the key clients must send")
    return parser


class _Version(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **rest)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        sys.stdout.write(engine_version() + "\n")
        raise SystemExit(0)


def engine_version() -> str:
    """`xllamacpp 2026.10.11549 (GNU 10.2.1, Linux x86_64)`: of the wheel; the build inside calls itself b0-unknown."""
    try:
        installed = version("xllamacpp")
        from xllamacpp import BUILD_INFO  # noqa: PLC0415 - see _started
    except (ImportError, PackageNotFoundError):
        _give_up(FAILED, "llama.cpp is not installed: install pitstop with its extra `demo`.")
    return f"xllamacpp {installed} ({BUILD_INFO.get('compiler', '?')}, {BUILD_INFO.get('build_target', '?')})"


def _number(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not within {least} and {most}")
        return value

    return number


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, as in min_p=0.1")
    return name.strip(), value.strip()


def _say(sentence: str) -> None:
    sys.stderr.write(f"llamacpp_server: {sentence}\n")
    sys.stderr.flush()


def _give_up(code: int, sentence: str) -> NoReturn:
    _say(sentence)
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
