import pytest

from pitstop.cli.bench_options import budgets, settings_of, sizes
from pitstop.core.errors import UsageError
from pitstop.rulers.presets import preset_for
from pitstop.rulers.ruler import Settings

OPTIONS = {"runs": 3, "max_tokens": 512, "pp": "8000,30000", "thinking": "off,on", "cases": ""}


def test_the_defaults_are_the_reports_own():
    assert settings_of(OPTIONS, [], None) == Settings()


def test_a_preset_stands_under_what_was_given_by_hand():
    settings = settings_of(OPTIONS | {"runs": 1, "pp": "400"}, ["runs", "ruler"], preset_for("swap"))
    assert settings.runs == 1
    assert settings.pp == (8000, 30000)
    assert settings.cases == ("*/en/*",)


@pytest.mark.parametrize(
    ("text", "read"), [("none,512,768", (None, 512, 768)), ("512", (512,)), (" None , 64 ", (None, 64))]
)
def test_budgets_are_sizes_or_none(text, read):
    assert budgets("budgets", text) == read


@pytest.mark.parametrize("text", ["", ",", "0", "-5", "none,x", "1.5", "512 tokens"])
def test_budgets_that_are_none_are_refused_by_the_options_name(text):
    with pytest.raises(UsageError, match="--budgets takes"):
        budgets("budgets", text)


@pytest.mark.parametrize("text", ["", "8k", "0", "1,,x", "²"])
def test_sizes_that_are_none_are_refused_by_the_options_name(text):
    with pytest.raises(UsageError, match="--pp takes"):
        sizes("pp", text)


@pytest.mark.parametrize(
    ("option", "text", "flag"),
    [("thinking", "yes", "--thinking"), ("thinking", "", "--thinking"), ("prompt_order", "random", "--prompt-order"),
     ("request_timeout_s", "10", "--request-timeout"), ("request_timeout_s", "0 s", "--request-timeout")],
)  # fmt: skip
def test_a_word_that_an_option_does_not_know_is_refused(option, text, flag):
    with pytest.raises(UsageError, match=flag):
        settings_of({option: text}, [], None)
