"""Tasks of one's own: a folder of TOML files, one task each. The schema is in docs/quality-tasks.md."""

from __future__ import annotations

from pathlib import Path

from pitstop.core.errors import UsageError
from pitstop.rulers.quality.task import Instance
from pitstop.rulers.quality.task_file import HINT, parse


def read_folder(folder: Path) -> list[Instance]:
    """Every `*.toml` of the folder, by name; UsageError names the file and what is wrong with it.

    Hidden files are left alone: editors and file systems leave some of that ending behind (`._a.toml`, `.#a.toml`).
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder of tasks.", hint=HINT)
    try:
        files = sorted(file for file in folder.glob("*.toml") if not file.name.startswith("."))
    except OSError as error:
        raise UsageError(f"the tasks in {folder} cannot be read: {error.strerror or error}.", hint=HINT) from error
    if not files:
        raise UsageError(f"{folder} holds no task: there is no file that ends in .toml.", hint=HINT)
    return [parse(_text(file), file.stem, str(file)) for file in files]


def _text(file: Path) -> str:
    """A byte order mark is what some editors begin a file with."""
    where = str(file).encode("utf-8", "backslashreplace").decode()
    if where != str(file):
        raise UsageError(f"the name {where} is not UTF-8.", hint="Rename it: its name becomes the name of its task.")
    try:
        if file.exists() and not file.is_file():
            raise UsageError(f"{where} is no file.", hint="Move it elsewhere, or rename it so that it ends otherwise.")
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{where} is not UTF-8 ({error.reason} at byte {error.start}).", hint="Save it so.") from error
    except OSError as error:
        raise UsageError(f"{where} cannot be read: {error.strerror or error}.", hint=HINT) from error
