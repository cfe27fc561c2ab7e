"""The pages in a real browser: nothing is fetched, nothing complains, nothing sticks out or lies on something else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from pitstop.report.page import render_run, render_trial
from support import documents as made
from support.browser import Tab, opened
from support.document_strategies import HOSTILE

pytestmark = pytest.mark.real

_LONG = "a-very-long-model-name/" * 12


def _run_page() -> str:
    figures = [*made.figures(), *made.awkward_figures(), *made.thinking_figures(), *made.mutual_figures()]
    return render_run(made.run(figures=figures))


def _hostile_page() -> str:
    evil = [made.verdict(arm=text, case=text, reason=text) for text in HOSTILE]
    run = made.run(engine=made.engine(model=_LONG), settings={text: text for text in HOSTILE})
    run.figures = [made.figure("decode", text, "decode_tok_s", "tok/s", (1.0, 90.0)) for text in (*HOSTILE, _LONG)]
    arms = [made.arm("k2", 1.0, 1, name=_LONG, runs=[run]), made.arm("k3", 1.0, 1, runs=[run])]
    return render_trial(made.trial(name=_LONG, arms=arms, verdicts=evil), promotion=_LONG)


PAGES = {
    "trial": lambda: render_trial(made.trial(), promotion='-default = "3"\n+default = "2"'),
    "run": _run_page,
    "many": lambda: render_run(made.run(figures=made.figures(runs=200))),
    "hostile": _hostile_page,
}


@pytest.fixture(params=PAGES)
async def site(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, list[str]]]:
    """The page on a server of its own, and the paths that were asked for."""
    html, asked = PAGES[request.param](), list[str]()

    async def answer(incoming: web.Request) -> web.Response:
        asked.append(incoming.path)
        return web.Response(text=html, content_type="text/html")

    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/report", asked
    finally:
        await runner.cleanup()


_OVERLAPS = """
[...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0).flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  const outside = ([, b]) => b.left < frame.left - 1 || b.right > frame.right + 1;
  const found = boxes.filter(outside).map(([t]) => 'outside: ' + t);
  boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 4) found.push(one + ' / ' + other);
  }));
  return found;
})
"""


@pytest.mark.parametrize("width", [390, 800, 1280])
async def test_the_page_is_quiet_fits_and_its_labels_keep_apart(
    site: tuple[str, list[str]], tmp_path: Path, width: int
) -> None:
    url, asked = site
    async with opened(tmp_path / "profile", url, width=width) as tab:
        await _is_quiet(tab, url, asked)
        assert await tab.evaluate("document.documentElement.scrollWidth") <= width
        assert await tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)") is None
        assert await tab.evaluate("document.documentElement.scrollWidth") <= width
        assert await tab.evaluate(_OVERLAPS) == []


async def _is_quiet(tab: Tab, url: str, asked: list[str]) -> None:
    requests = [each["request"]["url"] for each in tab.told("Network.requestWillBeSent")]
    assert [each for each in requests if not each.startswith("data:")] == [url]
    assert asked == ["/report"]
    assert tab.told("Log.entryAdded") == []
    assert tab.told("Runtime.consoleAPICalled") == []
    assert tab.told("Runtime.exceptionThrown") == []


async def test_the_style_is_applied_and_follows_the_colour_scheme(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(render_trial(made.trial()))
    colours = []
    for dark in (False, True):
        async with opened(tmp_path / f"profile-{dark}", page.as_uri(), width=1280, dark=dark) as tab:
            colours.append(await tab.evaluate("getComputedStyle(document.body).backgroundColor"))
            contrast = await tab.evaluate(_CONTRAST)
            assert contrast == [], contrast
    assert colours == ["rgb(255, 255, 255)", "rgb(18, 22, 29)"]


# Every text against the background behind it, by the formula of WCAG 2; 4.5 is its level AA.
_CONTRAST = """
(() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const linear = c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => [r, g, b].map(c => linear(c / 255))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll('p, td, th, dd, dt, li, summary, caption, figcaption, text, h1, h2')];
  return [...new Set(texts.filter(e => e.textContent.trim()).flatMap(e => {
    const style = getComputedStyle(e);
    const ink = light(numbers(e.tagName === 'text' ? style.fill : style.color));
    const [a, b] = [ink, light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    return ratio < 4.5 ? [`${e.tagName} ${e.getAttribute('class')} ${ratio.toFixed(2)}`] : [];
  }))];
})()
"""
