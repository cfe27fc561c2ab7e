"""`pitstop incidents` from outside."""

import json

import pytest
from typer.testing import CliRunner

from pitstop.cli.main import command_line
from support.crash_logs import second_report

REPORT = ["--before", "2", "--in", "72d", "--clean-since", "2026-09-27", "--now", "2026-10-19"]


@pytest.fixture
def pitstop(tmp_path, monkeypatch):
    monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("PITSTOP_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        result = CliRunner().invoke(command_line(["incidents"]), ["incidents", *map(str, words)])
        assert result.exit_code == code, (result.exit_code, result.output, result.exception)
        return result

    return run


def test_a_scan_tells_seven_and_two_files_them_once_and_shows_the_lines(pitstop, tmp_path):
    log = tmp_path / "nine.log"
    log.write_text(second_report())
    document = json.loads(pitstop("scan", "--log", log, "--json").stdout)
    assert document["counts"]["flashinfer-3566-cudnn-fp8"] == 7
    assert document["unexplained"] == 2
    wanted = {"signature", "summary", "first_at", "evidence", "consequences", "advice", "upstream"}
    assert all(wanted <= set(one) for one in document["incidents"])
    pitstop("scan", "--log", log)
    assert len(json.loads(pitstop("list", "--json").stdout)["incidents"]) == 9
    shown = pitstop("show", document["incidents"][0]["id"]).stdout
    assert "Plan index 13 is invalid" in shown


def test_a_dry_run_files_nothing(pitstop, tmp_path):
    log = tmp_path / "nine.log"
    log.write_text(second_report())
    pitstop("scan", "--log", log, "--dry-run")
    assert json.loads(pitstop("list", "--json").stdout)["incidents"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("scan",),
        ("scan", "--log", "absent.log"),
        ("scan", "--log", "."),
        ("show", "nothing"),
        ("verdict",),
        ("verdict", "--before", "2"),
        ("verdict", "--before", "2", "--in", "72"),
        ("verdict", "--before", "2", "--in", "72d", "--clean-since", "2027-01-01", "--now", "2026-10-19"),
        ("verdict", "--before", "2", "--in", "0d", "--over", "3d"),
        ("verdict", "--now", "tomorrow"),
        ("verdict", "--before", "2", "--in", "72d", "--over", "99999999999d"),
        ("count", "--over", "99999999999d"),
        ("compare", "2/72d", "x"),
        ("compare", "2/72d", "1/0d"),
        ("import", "absent.toml"),
    ],
)
def test_bad_input_gets_a_sentence_and_exit_2(pitstop, words):
    result = pitstop(*words, code=2)
    assert result.stdout == ""
    assert "Traceback" not in result.output


def test_a_compressed_log_says_how_to_unpack_it(pitstop, tmp_path):
    (tmp_path / "x.gz").write_bytes(b"\x1f\x8b\x08")
    assert "zcat" in pitstop("scan", "--log", "x.gz", code=2).output


def test_the_second_reports_rule_is_the_eighth_of_december(pitstop):
    document = json.loads(pitstop("verdict", *REPORT, "--json", code=4).stdout)
    assert document["state"] == "open"
    assert document["rule_at"] == "2026-12-08"
    assert document["more_days_for_rule"] == pytest.approx(50)
    assert document["chance"] == pytest.approx((72 / 94) ** 2)
    assert document["clean_days_needed"] == pytest.approx(72 * (20**0.5 - 1))
    assert "2026-12-08" in pitstop("verdict", *REPORT, code=4).stdout


def test_five_in_six_days_then_22_clean_ones_are_support(pitstop):
    words = ["--before", "5", "--in", "6d", "--clean-since", "2026-09-27", "--now", "2026-10-19"]
    document = json.loads(pitstop("verdict", *words, "--json").stdout)
    assert document["state"] == "supported"
    assert document["chance"] == pytest.approx((6 / 28) ** 5)


def test_it_happened_again_is_reopened(pitstop):
    words = ["--before", "5", "--in", "7d", "--after", "4", "--over", "15d", "--json"]
    assert json.loads(pitstop("verdict", *words, code=1).stdout)["state"] == "reopened"


def test_two_configurations_are_compared_exactly(pitstop):
    document = json.loads(pitstop("compare", "2/72d", "5/6d", "--json", code=1).stdout)
    assert document["verdict"] == "worse"
    assert document["ratio"] == pytest.approx(30)
    assert json.loads(pitstop("compare", "2/72d", "1/30d", "--json", code=4).stdout)["verdict"] == "undecided"
    assert json.loads(pitstop("compare", "9/20d", "0/60d", "--json").stdout)["verdict"] == "better"


def test_the_users_signatures_are_listed_and_a_bad_one_is_named(pitstop, tmp_path):
    folder = tmp_path / "config/pitstop/signatures"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('[[signature]]\nid = "mine"\nsummary = "s"\npattern = "x"\n')
    assert "mine" in pitstop("signatures").stdout
    (folder / "mine.toml").write_text('[[signature]]\nid = "mine"\nsummary = "s"\npattern = "("\n')
    assert "regular expression" in pitstop("signatures", code=2).output
