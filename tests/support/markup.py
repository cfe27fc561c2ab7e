"""A strict reader of the pages: every element closed in order, nothing that is not on the list."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

_VOID = {"meta", "link"}
_SVG = {"svg", "g", "title", "path", "line", "rect", "polyline", "polygon", "text"}
_HTML = {
    "html", "head", "meta", "title", "link", "style", "body", "header", "main", "footer", "section", "p", "b", "h1",
    "h2", "h3", "dl", "dt", "dd", "div", "figure", "figcaption", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "ul", "li", "details", "summary", "pre",
}  # fmt: skip
_ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "rel", "href", "class", "id", "tabindex", "role", "aria-label",
    "scope", "data-label", "xmlns", "viewbox", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "rx", "d", "points",
    "text-anchor",
}  # fmt: skip
_CLASS = re.compile(r"[a-z0-9 -]*")
_PLACE = re.compile(r"-?\d+(\.\d)?")
_PATH = re.compile(r"(M-?\d+(\.\d)? -?\d+(\.\d)?h0)*")


class Strict(HTMLParser):
    """Raises AssertionError for whatever our templates never write."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _SVG | _HTML, f"unexpected <{tag}>"
        for name, value in attrs:
            assert name in _ATTRIBUTES, f"unexpected attribute {name} on <{tag}>"
            _check(name, value or "")
            if name == "href":
                self.hrefs.append(value or "")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data!r}")


def read_page(html: str) -> Strict:
    """Parse a whole page; AssertionError when it is not what the templates can write."""
    parser = Strict()
    parser.feed(html)
    parser.close()
    assert parser.open == [], f"left open: {parser.open}"
    return parser


def read_svg(svg: str) -> ET.Element:
    """Parse a picture as XML, with every coordinate a plain number."""
    root = ET.fromstring(svg)
    for element in root.iter():
        for name, value in element.attrib.items():
            _check(name.lower(), value)
    return root


def _check(name: str, value: str) -> None:
    if name == "class":
        assert _CLASS.fullmatch(value), f"class {value!r}"
    elif name in {"x", "y", "x1", "x2", "y1", "y2", "rx"} or (name in {"width", "height"} and value != "device-width"):
        assert _PLACE.fullmatch(value), f"{name}={value!r}"
    elif name == "d":
        assert _PATH.fullmatch(value), f"d={value[:80]!r}"
    elif name in {"points", "viewbox"}:
        assert all(_PLACE.fullmatch(part) for part in re.split(r"[ ,]", value)), f"{name}={value[:80]!r}"
