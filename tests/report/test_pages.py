"""Pages of runs and trials: what they say, and that nothing in a document can make them say more."""

from __future__ import annotations

import base64
import hashlib
import re

from hypothesis import HealthCheck, given, settings

from pitstop.core.documents import ProductionRecord, RunDocument, Status, TrialDocument, Verdict
from pitstop.report import exports
from pitstop.report.page import render_run, render_trial
from support import documents as made
from support.document_strategies import HOSTILE, documents
from support.markup import read_page, read_svg

_SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@settings(max_examples=70, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(document=documents)
def test_any_document_becomes_a_well_formed_page_of_known_elements_only(document: RunDocument | TrialDocument) -> None:
    html = exports.html(document)
    read_page(html)
    assert not _CONTROL.search(html)
    html.encode("utf-8")
    for svg in _SVG.findall(html):
        read_svg(svg)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(document=documents)
def test_any_document_becomes_text_markdown_and_csv_without_control_characters(
    document: RunDocument | TrialDocument,
) -> None:
    texts = [
        exports.markdown(document),
        exports.csv(document),
        *(table.as_text() for table in exports.tables(document)),
    ]
    for text in [*texts, *(sentence.text for sentence in exports.sentences(document))]:
        assert not _CONTROL.search(text)
        text.encode("utf-8")


def test_every_hostile_string_in_every_place_stays_text() -> None:
    for evil in HOSTILE:
        run = made.run(
            engine=made.engine(model=evil, version=evil), settings={evil: evil}, conditions={evil: {evil: evil}}
        )
        run.figures = [
            made.figure(evil, evil, evil, evil, (1.0, 2.0), reason=evil, source=evil, status=Status.UNVERIFIED)
        ]
        arm = made.arm(
            "k2", 1.0, 1, name=evil, overrides={evil: evil}, runs=[run], incidents=[{"at": evil, evil: evil}]
        )
        trial = made.trial(
            name=evil, arms=[arm], verdicts=[made.verdict(arm=evil, case=evil, reason=evil)], plan={evil: evil}
        )
        page = read_page(render_trial(trial, promotion=evil))
        assert page.hrefs == ["data:,"]
        read_page(render_run(run))


def test_the_page_asks_for_nothing_and_its_policy_allows_only_its_own_style() -> None:
    html = render_trial(made.trial())
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:" in html
    assert "http://www.w3.org/2000/svg" in html
    rest = html.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|url\(|@import|<script|\son\w+=|style=", rest)


def test_the_verdict_comes_first_in_a_sentence() -> None:
    page = read_page(render_trial(made.trial()))
    text = " ".join(" ".join(page.text).split())
    assert text.index("k2 is worse than production on decode") < text.index("minimum effect")
    assert "−6.6" in text
    assert "1 worse, 1 better, 1 equivalent" in text
    assert "k4 is undecided" in text
    assert "is back with the fingerprint it had" in text


def test_an_arm_without_figures_is_worse_for_a_reason_and_not_by_an_effect() -> None:
    why = "boots without a figure: 2 of the variant, 0 of production"
    crashed = made.verdict(ratio=None, interval=None, reason=why)
    page = " ".join(" ".join(read_page(render_trial(made.trial(verdicts=[crashed]))).text).split())
    assert re.search(r"k2 is worse than production on decode \([^)]*\): boots without a figure: 2 of the variant", page)


def test_production_that_is_not_back_is_said_in_the_head_of_the_page() -> None:
    lost = ProductionRecord(engine="qwen", fingerprint_before="aa")
    page = render_trial(made.trial(production=lost, state="not-restored"))
    assert '<p class="statement bad">Production (qwen) is not back; a person is needed.</p>' in page


def test_production_with_another_fingerprint_is_not_called_back() -> None:
    other = ProductionRecord(engine="qwen", fingerprint_before="aa", fingerprint_after="bb", restored=True)
    page = render_trial(made.trial(production=other))
    assert "answers, with another fingerprint than before" in page
    assert "no, a person is needed" in page


def test_a_trial_that_touched_nothing_says_so() -> None:
    same = ProductionRecord(engine="qwen", fingerprint_before="aa", restored=True, proved_by="was never touched")
    page = render_trial(made.trial(production=same, state="gave-up", arms=[], verdicts=[]))
    assert "Production (qwen) was never touched." in page
    assert "gave up waiting and touched nothing" in page


def test_an_arm_that_only_had_incidents_is_not_forgotten() -> None:
    arm = made.arm("k9", 1.0, 0, incidents=[{"at": "2026-10-19T03:02:11Z", "step": "boot", "reason": "guard stop"}])
    page = render_trial(made.trial(arms=[made.arm("production", 1.0, 1), arm], verdicts=[]))
    assert "k9 got no verdict" in page
    assert "guard stop" in page


def test_a_guard_stop_brings_its_memory_curve() -> None:
    page = render_trial(made.trial())
    assert "memory until k4 was stopped" in page
    assert "Least available: 7531 MiB." in page


def test_an_invalid_figure_is_neither_drawn_nor_quoted() -> None:
    run = made.run(figures=made.awkward_figures())
    page = render_run(run)
    assert all("782,114" not in svg for svg in _SVG.findall(page))
    assert "7,936 of 8,000 tokens came from the cache" in page
    assert "1 of 3 figures is invalid." in page


def test_an_empty_run_and_an_empty_trial_have_a_page() -> None:
    assert "No figure was measured." in render_run(
        made.run(figures=[], requests=[], warnings=[], conditions={}, host={})
    )
    assert "Nothing was compared" in render_trial(made.trial(arms=[], verdicts=[], log=[], plan={}))


def test_the_promotion_edit_is_shown_with_the_word_that_nothing_was_changed() -> None:
    page = render_trial(made.trial(), promotion='-default = "3"\n+default = "2"')
    assert "+default = &#34;2&#34;" in page
    assert "Nothing has been changed." in page
    assert "Nothing has been changed." not in render_trial(made.trial())


def test_secret_overrides_are_masked_on_the_page() -> None:
    arm = made.arm("k2", 1.0, 1, overrides={"HF_TOKEN": "hf_verysecret"})
    assert "hf_verysecret" not in render_trial(made.trial(arms=[arm]))


def test_a_page_with_two_hundred_samples_a_figure_stays_of_a_size_that_opens() -> None:
    run = made.run(figures=made.figures(runs=200))
    assert len(render_run(run)) < 1_500_000


def test_one_sample_and_one_verdict_without_interval_are_drawn() -> None:
    lonely = made.verdict(verdict=Verdict.UNDECIDED, ratio=None, interval=None, noise_floor=None, blocks=0)
    page = render_trial(made.trial(arms=[made.arm("production", 1.0, 1), made.arm("k2", 1.0, 1)], verdicts=[lonely]))
    assert "? undecided" in page
    assert "change against production" in page
