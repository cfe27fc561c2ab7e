from pitstop.core.home import Home
from pitstop.launch.strays import Before, Bystanders

BEFORE = Before(frozenset({"a" * 64, "b" * 64}), 1_796_000_000.5)


def test_who_was_up_before_a_script_outlives_the_process_that_looked(tmp_path):
    home = Home(tmp_path).prepared()
    assert Bystanders(home, "qwen").noted() is None
    Bystanders(home, "qwen").note(BEFORE)
    assert Bystanders(home, "qwen").noted() == BEFORE
    assert Bystanders(home, "nemotron").noted() is None
    Bystanders(home, "qwen").forget()
    Bystanders(home, "qwen").forget()
    assert Bystanders(home, "qwen").noted() is None


def test_a_torn_note_and_a_disk_that_takes_none_are_no_errors(tmp_path):
    home = Home(tmp_path).prepared()
    (home.engines / "qwen.bystanders").write_text('{"ids": ["aa')
    assert Bystanders(home, "qwen").noted() is None
    (home.engines / "nemotron.bystanders").mkdir()
    Bystanders(home, "nemotron").note(BEFORE)
    assert Bystanders(home, "nemotron").noted() is None
    Bystanders(home, "nemotron").forget()
