import pytest

from pitstop.core.config.load import parse
from pitstop.core.errors import ConfigError

ENGINE = '[engine.qwen]\nkind = "vllm"\nmodel = "m"\nbase_url = "http://127.0.0.1:8001/v1"\n'


def test_the_defaults_are_the_first_reports():
    watch = parse(ENGINE).watch
    assert (watch.every, watch.strikes, watch.boot_grace) == (300.0, 2, 900.0)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ('engines = ["qwn"]', "there is no engine 'qwn'; did you mean `qwen`?"),
        ("strikes = 0", "strikes must be at least 1"),
        ('every = "0 s"', "longer than nothing"),
        ('boot_grce = "1 min"', "did you mean `boot_grace`?"),
    ],
)
def test_what_cannot_work_gets_a_sentence(table, sentence):
    with pytest.raises(ConfigError) as caught:
        parse(f"{ENGINE}[watch]\n{table}\n")
    assert sentence in str(caught.value)
