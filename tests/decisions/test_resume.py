import msgspec
import pytest

from pitstop.core.documents import EngineIdentity, Figure, RunDocument, Status, encode
from pitstop.decisions.resume import differences, measured_rulers

ENGINE = EngineIdentity(kind="vllm", model="m", version="0.28.0", started_at="2026-01-01T00:00:00Z")
SETTINGS = {"rulers": ["decode"], "runs": 3, "pp": (8000, 30000), "text": None}


def run(**changes):
    document = RunDocument(id="r", started_at="t", engine=ENGINE, settings=dict(SETTINGS), **changes)
    return msgspec.json.decode(encode(document), type=RunDocument)  # as it comes out of a file


def figure(ruler):
    return Figure(ruler=ruler, case="c", metric="m", unit="", value=None, status=Status.UNAVAILABLE, source="none")


def test_the_same_engine_and_the_same_question_differ_in_nothing():
    assert differences(run(), ENGINE, SETTINGS, run().tool) == []


def test_other_rulers_are_no_other_run():
    assert differences(run(), ENGINE, SETTINGS | {"rulers": ["decode", "prefill"]}, run().tool) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("version", "0.32.0"), ("model", "other"), ("started_at", "2026-01-02T00:00:00Z"), ("fingerprint", "f"),
     ("image_digest", "sha256:1"), ("pid", 7), ("container_id", "c"), ("kind", "sglang")],
)  # fmt: skip
def test_another_engine_or_another_boot_is_named(name, value):
    [found] = differences(run(), msgspec.structs.replace(ENGINE, **{name: value}), SETTINGS, run().tool)
    assert found.startswith(f"engine.{name}: ")
    assert str(value) in found


def test_every_setting_that_differs_is_named_those_that_are_new_or_gone_too():
    other = {"rulers": [], "runs": 5, "pp": (8000, 30000), "seed": 2}
    found = differences(run(), ENGINE, other, run().tool)
    assert found == ["settings.runs: 3 then, 5 now", "settings.seed: not known then, 2 now"]


def test_another_version_of_the_tool_measures_otherwise():
    [found] = differences(run(), ENGINE, SETTINGS, {"name": "pitstop", "version": "99"})
    assert found.endswith("99 now")


def test_a_ruler_is_measured_when_it_has_figures_whatever_they_are_worth():
    assert measured_rulers(run(figures=[figure("prefill"), figure("decode"), figure("prefill")])) == (
        "prefill",
        "decode",
    )
