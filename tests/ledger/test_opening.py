import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event

from pitstop.core.errors import PitstopError, Unreachable, UsageError
from pitstop.ledger import migrations
from pitstop.ledger.opening import connected
from pitstop.ledger.store import Ledger
from pitstop.ledger.tables import SCHEMA, VERSION_TABLE, metadata
from support.kept import a_run


@pytest.fixture
def place(tmp_path):
    return tmp_path / "ledger.sqlite3"


def execute(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def read_everything(path):
    with Ledger.open(path) as ledger:
        return [ledger.run(run.id) for run in ledger.runs()]


def test_the_migrations_end_where_the_tables_are(place):
    engine, _ = connected(place)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == SCHEMA
    engine.dispose()


def test_the_newest_step_is_the_schema_that_the_tables_claim():
    assert ScriptDirectory(next(iter(migrations.__path__))).get_heads() == [SCHEMA]


def test_a_ledger_is_its_owners_alone(place):
    with Ledger.open(place) as ledger:
        ledger.record_run(a_run("r1"))
        for file in place.parent.glob("ledger.sqlite3*"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_was_written_is_there_when_it_is_opened_again(place):
    with Ledger.open(place) as ledger:
        ledger.record_run(a_run("r1"))
    for same in (place, str(place), f"sqlite:///{place}"):
        with Ledger.open(same) as ledger:
            assert ledger.run("r1") == a_run("r1")


def test_a_ledger_of_a_newer_pitstop_is_left_alone(place):
    Ledger.open(place).close()
    execute(place, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    before = place.read_bytes()
    with pytest.raises(UsageError, match=r"newer pitstop.*9999") as refused:
        Ledger.open(place)
    assert "nothing was changed" in refused.value.hint
    assert place.read_bytes() == before
    assert [file.name for file in place.parent.iterdir()] == [place.name]


def test_a_ledger_of_a_newer_pitstop_in_another_journal_mode_keeps_it(place):
    execute(place, f"CREATE TABLE {VERSION_TABLE} (version_num TEXT)", f"INSERT INTO {VERSION_TABLE} VALUES ('9998')")
    before = place.read_bytes()
    with pytest.raises(UsageError, match="newer"):
        Ledger.open(place)
    assert place.read_bytes() == before


def test_a_database_of_another_program_is_left_alone(place):
    execute(place, "CREATE TABLE bookmarks (url TEXT)")
    before = place.read_bytes()
    with pytest.raises(UsageError, match="another program"):
        Ledger.open(place)
    assert place.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be one" * 50, b"\0" * 5000, b"{}"])
def test_a_file_that_is_no_database_is_told_and_kept(place, content):
    place.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be used: it is not a database"):
        Ledger.open(place)
    assert place.read_bytes() == content


def test_a_ledger_damaged_in_the_middle_is_told(place):
    with Ledger.open(place) as ledger:
        for number in range(50):
            ledger.record_run(a_run(f"r{number}"))
    content = bytearray(place.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    place.write_bytes(content)
    with pytest.raises(UsageError, match=r"ledger\.sqlite3 cannot be used"):
        read_everything(place)


def test_a_damaged_page_that_opening_does_not_read_is_found_by_the_check(place):
    with Ledger.open(place) as ledger:
        for number in range(50):
            ledger.record_run(a_run(f"r{number}"))
        ledger.check()
    content = bytearray(place.read_bytes())
    content[-3 * 4096 : -4096] = b"\xff" * (2 * 4096)
    place.write_bytes(content)
    with Ledger.open(place) as ledger, pytest.raises(UsageError, match="it is damaged") as refused:
        ledger.check()
    assert "restore a copy" in refused.value.hint


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="cannot be opened") as refused:
        Ledger.open(tmp_path / "missing" / "ledger.sqlite3")
    assert "folder" in refused.value.hint


def test_a_folder_in_its_place_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"cannot be (opened|used)"):
        Ledger.open(tmp_path)


def test_a_read_only_ledger_is_told(place):
    with Ledger.open(place) as ledger:
        event.listen(ledger._engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
        ledger._engine.dispose()
        with pytest.raises(UsageError, match="cannot be written"):
            ledger.record_run(a_run("r1"))


def test_a_full_disk_is_told_and_loses_nothing_that_was_there(place):
    with Ledger.open(place) as ledger:
        ledger.record_run(a_run("r1"))
        event.listen(ledger._engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count = 1"))
        ledger._engine.dispose()
        with pytest.raises(UsageError, match="the disk is full") as full:
            ledger.record_run(a_run("r2", samples=5000))
        assert "nothing that was recorded before is lost" in full.value.hint
    with Ledger.open(place) as ledger:
        assert [run.id for run in ledger.runs()] == ["r1"]


def test_a_ledger_that_somebody_holds_for_too_long_is_told(place):
    with Ledger.open(place) as ledger, closing(sqlite3.connect(place)) as other:
        event.listen(ledger._engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout = 20"))
        ledger._engine.dispose()
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match="another process has held it"):
            ledger.record_run(a_run("r1"))
        assert ledger.runs() == []  # readers do not wait for writers


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://u:secret@h/d", "SQLite or PostgreSQL"),
        ("nonsense://x", "SQLite or PostgreSQL|cannot be read"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("postgresql+nodriver://u:secret@h/d", "cannot be read"),
        ("postgresql://u:secret@h:notaport/d", "cannot be read"),
    ],
)
def test_a_url_that_leads_nowhere_is_told_without_its_password(url, words):
    with pytest.raises(PitstopError, match=words) as refused:
        Ledger.open(url)
    assert "secret" not in str(refused.value)


def test_a_driver_that_is_not_installed_is_named():
    with pytest.raises(UsageError, match="pg8000") as refused:
        Ledger.open("postgresql+pg8000://u:secret@127.0.0.1:24000/d")
    assert "secret" not in str(refused.value)
    assert not isinstance(refused.value, Unreachable)


_OPEN_AND_WRITE = """
import sys
from pitstop.ledger.store import Ledger
from pitstop.ledger.records import Transition
with Ledger.open(sys.argv[1]) as ledger:
    ledger.record_transition(Transition(trial_id="t", at="2026-10-19T10:00:00Z", from_state="", to_state=sys.argv[2]))
"""


def test_processes_that_create_the_ledger_at_once_all_get_it(place):
    together = [
        subprocess.Popen([sys.executable, "-c", _OPEN_AND_WRITE, str(place), str(number)], stderr=subprocess.PIPE)
        for number in range(5)
    ]
    for process in together:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, b"")
    with Ledger.open(place) as ledger:
        assert {step.to_state for step in ledger.transitions("t")} == set("01234")
