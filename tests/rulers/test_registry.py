import pytest

from pitstop.core.config.consistency import RULERS
from pitstop.core.errors import UsageError
from pitstop.rulers.presets import PRESETS, preset_for
from pitstop.rulers.registry import NAMES, ruler_for, rulers_for


def test_every_ruler_is_found_by_its_own_name():
    assert all(ruler_for(name).name == name for name in NAMES)


def test_rulers_come_in_the_order_asked_for_and_once():
    assert [ruler.name for ruler in rulers_for(["prefill", "decode", "prefill"])] == ["prefill", "decode"]


def test_an_unknown_ruler_or_preset_is_refused_with_the_nearest_known():
    with pytest.raises(UsageError, match="did you mean `decode`"):
        ruler_for("decoed")
    with pytest.raises(UsageError, match="did you mean `spark`"):
        preset_for("sprak")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_names_rulers_that_there_are_and_says_where_it_differs(name):
    preset = preset_for(name)
    assert rulers_for(preset.rulers)
    assert preset.differs


def test_the_spark_preset_is_the_second_report_s_method():
    settings = preset_for("spark").settings
    assert (settings.runs, settings.max_tokens, settings.temperature) == (3, 512, 0.0)
    assert (settings.thinking, settings.prompt_order, settings.concurrency) == (("on",), "first", (1, 8))


def test_a_trial_may_name_every_ruler_that_there_is():
    assert set(RULERS) == set(NAMES)
