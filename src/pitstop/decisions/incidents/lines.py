"""One line of a log in any dialect: what it says, without everything that was put in front of it.

Read are Docker's json-file, the CRI form of Podman and Kubernetes, compose prefixes, journald (short, iso, json), ANSI
colours, ISO times, the process tags of vLLM and Ray, the ranks of torchrun and SGLang, and the logger prefixes of vLLM,
SGLang, uvicorn, glog and Python's logging. An unknown prefix stays part of the message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

MAX_LINE_BYTES = 64 * 1024  # past this a line is somebody's data; what matters of it stands in front
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_MONTHS = {
    name: at
    for at, name in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1)
}
_LEVELS = {
    "WARN": "WARNING", "ERR": "ERROR", "FATAL": "CRITICAL",
    "E": "ERROR", "F": "CRITICAL", "W": "WARNING", "I": "INFO",
}  # fmt: skip

_OF_A_USER = frozenset(("role", "content", "prompt", "messages"))  # a line of JSON with these repeats a request

Until = tuple[int, int]  # year and month


@dataclass(frozen=True)
class LogLine:
    """`at` is ISO 8601 where the line told it (with an offset only if the line had one); `epoch_s` orders lines."""

    text: str  # the message; leading blanks of a traceback's frame are kept
    at: str | None = None
    epoch_s: float | None = None
    process: str = ""  # `EngineCore_DP0 pid=123`, `rank0`, `TP1`
    level: str = ""
    raw: str = ""  # as it stands in the log, without colours
    service: str = ""  # of compose: several services may share one log
    tagged: bool = False  # a logger or a process tag stood in front: this line is no continuation

    @property
    def rank(self) -> int | None:
        """The rank in the process tag, where it has one."""
        match = re.search(r"(?:rank|TP|DP|rank=)\s?(\d{1,5})\b", self.process)
        return int(match[1]) if match else None


def read_line(raw: bytes, until: Until | None = None) -> LogLine:
    """Take a raw line apart; never raises. `until`, the month in which the log ends, gives times their year."""
    text = raw[:MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r\n")
    draft, raw_text = _Draft(until), _ANSI.sub("", text)
    if text.startswith("{"):
        text = _unwrapped(text, draft)
    text = _ANSI.sub("", text.rpartition("\r")[2])
    for _ in range(8):  # prefixes come in any order, at most this many
        for pattern, take in _PREFIXES:
            if match := pattern.match(text):
                take(draft, match)
                text = text[match.end() :]
                break
        else:
            break
    return LogLine(text, draft.at, draft.epoch_s, draft.process, draft.level, raw_text, draft.service, draft.tagged)


class _Draft:
    def __init__(self, until: Until | None) -> None:
        self.until = until
        self.at: str | None = None
        self.epoch_s: float | None = None
        self.process, self.level, self.service, self.tagged = "", "", "", False

    def time(self, moment: datetime, *, zoned: bool) -> None:
        """The outermost time wins: it was written by one clock for all processes."""
        if self.at is None:
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            self.epoch_s = aware.timestamp()
            self.at = aware.astimezone(UTC).isoformat().replace("+00:00", "Z") if zoned else moment.isoformat()


def _unwrapped(text: str, draft: _Draft) -> str:
    """The message inside a line of JSON: Docker's, journald's, or a structured logger's."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, dict) or not _OF_A_USER.isdisjoint(found):
        return text
    for key in ("time", "timestamp", "ts", "asctime", "__REALTIME_TIMESTAMP"):
        if key in found:
            _json_time(found[key], draft)
            break
    if isinstance(level := found.get("level") or found.get("levelname"), str) and level.isalpha():
        draft.level, draft.tagged = level.upper(), True
    for key in ("log", "message", "msg", "MESSAGE", "event"):
        if isinstance(inner := found.get(key), str):
            return inner.rstrip("\r\n")
    return text


def _json_time(value: object, draft: _Draft) -> None:
    try:
        if isinstance(value, str) and not value.isdigit():
            moment = datetime.fromisoformat(_trimmed(value))
            draft.time(moment, zoned=moment.tzinfo is not None)
        elif isinstance(value, int | float | str):
            number = float(value)
            draft.time(datetime.fromtimestamp(number / 1e6 if number > 1e14 else number, UTC), zoned=True)
    except (ValueError, OverflowError, OSError):
        return


def _trimmed(text: str) -> str:
    """Nanoseconds cut to microseconds, and a comma made a point, as Python wants it."""
    return re.sub(r"([.,])(\d{6})\d+", r".\2", text).replace(",", ".")


def _iso(draft: _Draft, match: re.Match[str]) -> None:
    try:
        moment = datetime.fromisoformat(_trimmed(match["iso"]))
    except ValueError:
        return
    draft.time(moment, zoned=moment.tzinfo is not None)


def _short(draft: _Draft, match: re.Match[str]) -> None:
    _partial(draft, _MONTHS.get(match["mon"], 0), match["day"], match["clock"])


def _partial(draft: _Draft, month: int | str, day: str, clock: str) -> None:
    """A time without a year, as vLLM's `09-06 14:03:11`: of the last such month before the log's end, if known."""
    if draft.until is None:
        return
    year = draft.until[0] - (int(month) > draft.until[1])
    try:
        moment = datetime.fromisoformat(f"{year:04d}-{int(month):02d}-{int(day):02d}T{_trimmed(clock)}")
    except ValueError:
        return
    draft.time(moment, zoned=False)


def _service(draft: _Draft, match: re.Match[str]) -> None:
    draft.service = draft.service or match["service"]


def _process(draft: _Draft, match: re.Match[str]) -> None:
    draft.process = " ".join(part for part in (draft.process, match["process"]) if part)
    draft.tagged = True


def _logger(draft: _Draft, match: re.Match[str]) -> None:
    groups = match.groupdict()
    if level := groups.get("level"):
        draft.level = _LEVELS.get(level, level)
    if (mon := groups.get("mon")) and groups.get("day"):
        _partial(draft, mon, groups["day"] or "", groups["clock"] or "")
    if groups.get("iso"):
        _iso(draft, match)
    if groups.get("process"):
        _process(draft, match)
    draft.tagged = True


_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"
_ISO = r"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
_UNIT = r"[\w.\-]{1,64} [\w.\-@/]{1,64}(?:\[\d+\])?: "  # of journald: `host unit[123]: `
_PLACE = r"[\w./\-]{1,80}:\d+\] ?"  # `core.py:123] `
_CLOCK = r"(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"

_Take = Callable[[_Draft, "re.Match[str]"], None]
_PREFIXES: tuple[tuple[re.Pattern[str], _Take], ...] = (
    # Kubernetes and Podman: time, stream, full or partial
    (re.compile(rf"{_ISO} (?:stdout|stderr) [FP] "), _iso),
    # Python's logging: `2026-10-19 12:00:00,123 - ERROR - name - `, also level first and without dashes
    (re.compile(rf"{_ISO} (?:- |\[)?{_LEVEL}\]?(?: -)? (?:\S{{1,60}}(?:\.py:\d+)? - )?"), _logger),
    # SGLang: `[2026-10-19 12:00:00 TP0] `
    (re.compile(rf"\[{_ISO}(?: (?P<process>[A-Z]{{2}}\d[\w ]{{0,20}}))?\] "), _logger),
    # journald, iso and short: `… host unit[123]: `
    (re.compile(rf"{_ISO} {_UNIT}"), _iso),
    (re.compile(rf"(?P<mon>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) {_CLOCK} {_UNIT}"), _short),
    (re.compile(rf"{_ISO}\s"), _iso),
    # compose: `vllm-mid-1  | `
    (re.compile(r"(?P<service>[A-Za-z0-9][\w.\-]{0,80}) +\| ?"), _service),
    # vLLM and Ray: `(EngineCore_DP0 pid=123) `; torchrun: `[rank0]: `, `[default0]:`, `[Rank 0] `
    (re.compile(r"\((?P<process>[A-Za-z_][^()]{0,80}?pid=\d+[^()]{0,40})\) ?"), _process),
    (re.compile(r"\((?P<process>(?:EngineCore|Worker|VllmWorker|APIServer|ApiServer)[^()]{0,60})\) ?"), _process),
    (re.compile(r"\[(?P<process>(?:rank|default|Rank |TP|PP|DP)\d+)\]:? ?"), _process),
    # vLLM: `ERROR 09-06 14:03:11 [core.py:123] `, with the bracket only behind in old versions
    (re.compile(rf"{_LEVEL} (?P<mon>\d\d)-(?P<day>\d\d) {_CLOCK} \[?{_PLACE}"), _logger),
    # glog: `[E1129 10:11:12.123 File.cpp:616] `
    (re.compile(rf"\[?(?P<level>[IWEF])(?P<mon>\d\d)(?P<day>\d\d) {_CLOCK}\s+(?:\d+ )?{_PLACE}"), _logger),
    # llama.cpp with times: `0.00.123.456 E `
    (re.compile(r"\d+\.\d\d\.\d{3}\.\d{3} (?P<level>[IWEF]) "), _logger),
    # uvicorn: `INFO:     `
    (re.compile(rf"{_LEVEL}:\s+"), _logger),
)  # fmt: skip
