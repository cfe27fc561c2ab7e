"""`pitstop report`, from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from pitstop.cli import report
from pitstop.core.documents import encode
from pitstop.ledger.store import Ledger
from support import documents as made

Run = Callable[..., Result]


@pytest.fixture
def pitstop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("PITSTOP_CONFIG", raising=False)
    app = typer.Typer()
    report.register(app)
    app.callback()(lambda: None)
    return lambda *argv: CliRunner().invoke(app, ["report", *argv])


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    path = tmp_path / "trial.json"
    path.write_bytes(encode(made.trial()))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_bytes(encode(made.run(figures=[*made.figures(), *made.awkward_figures()])))
    return path


def test_a_trial_is_told_in_sentences_and_tables(pitstop: Run, trial: Path) -> None:
    done = pitstop(str(trial))
    assert done.exit_code == 0
    assert done.stdout.index("k2 is worse than production") < done.stdout.index("verdicts")
    assert "▲ better" in done.stdout
    assert "noise floor" in done.stdout


def test_a_run_is_told_with_the_reasons_of_what_is_not_ok(pitstop: Run, run: Path) -> None:
    done = pitstop(str(run))
    assert done.exit_code == 0
    assert "7,936 of 8,000 tokens came from the cache" in done.stdout
    assert "2 × the stream ended before [DONE]" in done.stdout


def test_json_is_the_document_alone(pitstop: Run, trial: Path) -> None:
    assert json.loads(pitstop(str(trial), "--json").stdout) == json.loads(trial.read_bytes())


def test_every_file_is_written_in_one_go(pitstop: Run, run: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("html", "csv", "llama-benchy")}
    done = pitstop(str(run), *(word for name, path in files.items() for word in (f"--{name}", str(path))))
    assert done.exit_code == 0
    assert files["html"].read_text().startswith("<!doctype html>")
    assert files["csv"].read_text().startswith("arm,run,ruler,")
    assert json.loads(files["llama-benchy"].read_text())["benchmarks"]
    assert done.stderr.count("Wrote ") == 3


def test_markdown_goes_to_stdout(pitstop: Run, trial: Path) -> None:
    assert pitstop(str(trial), "--markdown").stdout.startswith("## nightly\n\n- k2 is worse")


def test_runs_and_trials_are_found_in_the_ledger_by_the_beginning_of_their_id(pitstop: Run, tmp_path: Path) -> None:
    home = tmp_path / "state"
    home.mkdir()
    with Ledger.open(home / "ledger.sqlite3") as ledger:
        ledger.record_trial(made.trial())
        ledger.record_run(made.run())
    assert "k2 is worse" in pitstop("20261019-0100").stdout
    assert "qwen3.6-35b: decode" in pitstop("20261019-0115").stdout


def test_the_ledger_is_the_one_that_the_configuration_names(
    pitstop: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pitstop.toml").write_text('[host]\nledger_url_env = "WHERE"\n')
    monkeypatch.setenv("WHERE", f"sqlite:///{tmp_path}/elsewhere.sqlite3")
    with Ledger.open(tmp_path / "elsewhere.sqlite3") as ledger:
        ledger.record_trial(made.trial())
    assert "k2 is worse" in pitstop("20261019-0100").stdout


def test_an_unknown_id_names_both_places_where_it_was_sought(pitstop: Run) -> None:
    done = pitstop("nope")
    assert done.exit_code == 2
    assert "there is no trial `nope`" in done.stderr
    assert "there is no run `nope`" in done.stderr
    assert "->" in done.stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "cannot be read"), (b"{}", "it names no schema"), (b"\x00", "is not a document of pitstop")],
)
def test_a_file_that_is_no_document_ends_with_2(
    pitstop: Run, tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "bad.json"
    if content is not None:
        path.write_bytes(content)
    done = pitstop(str(path))
    assert (done.exit_code, sentence in done.stderr) == (2, True)


def test_a_place_that_cannot_be_written_ends_with_2_and_says_where(pitstop: Run, run: Path) -> None:
    done = pitstop(str(run), "--html", "/nowhere/at/all/x.html")
    assert done.exit_code == 2
    assert "/nowhere/at/all/x.html cannot be written" in done.stderr


def test_a_trial_has_no_llama_benchy_form(pitstop: Run, trial: Path, tmp_path: Path) -> None:
    done = pitstop(str(trial), "--llama-benchy", str(tmp_path / "x.json"))
    assert (done.exit_code, "holds one run" in done.stderr) == (2, True)


def test_hostile_names_reach_the_terminal_as_text(pitstop: Run, tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07[red]x[/nope]"
    path = tmp_path / "evil.json"
    path.write_bytes(encode(made.trial(name=evil, verdicts=[made.verdict(arm=evil, reason=evil)])))
    done = pitstop(str(path))
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "[red]x[/nope]" in done.stdout


_TOML = """\
[engine.qwen]
kind = "vllm"
[engine.qwen.knob.MTP_K]
default = "3"
"""


def test_the_page_shows_the_edit_that_would_promote_a_winner(pitstop: Run, tmp_path: Path) -> None:
    (tmp_path / "pitstop.toml").write_text(_TOML)
    path, page = tmp_path / "won.json", tmp_path / "won.html"
    won = made.verdict(verdict="better", ratio=1.1, interval=(1.05, 1.15))
    path.write_bytes(encode(made.trial(verdicts=[won])))
    assert pitstop(str(path), "--html", str(page)).exit_code == 0
    assert "+default = &#34;2&#34;" in page.read_text()
    assert (tmp_path / "pitstop.toml").read_text() == _TOML


def test_no_winner_no_edit(pitstop: Run, trial: Path, tmp_path: Path) -> None:
    (tmp_path / "pitstop.toml").write_text(_TOML)
    page = tmp_path / "page.html"
    assert pitstop(str(trial), "--html", str(page)).exit_code == 0
    assert "Promotion" not in page.read_text()
