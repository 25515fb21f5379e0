"""The chart of the tokens added to context, with a text and a table that say the same."""

from __future__ import annotations

from html import unescape

from room_browsing import Browser, Parsed
from satchel import Satchel
from satchel.interfaces.web.pages.health import Series, chart

NASTY = "<script>alert(1)</script>\u202e\"'><img src=x>"


def test_chart_table_and_twin_show_the_same_tokens(ann: Browser, satchel: Satchel) -> None:
    briefing = satchel.brief(agent="reader")
    assert briefing.is_recorded
    twin = ann.get("/p/project/health.json").json()["spending"]
    answer = ann.get("/p/project/health")
    svg = next(
        dict(attributes) for _, attributes in Parsed(answer.body).elements if dict(attributes).get("role") == "img"
    )
    assert f"{twin['tokens']:,} in all" in (svg["aria-label"] or "")
    assert twin["tokens"] == sum(one["tokens"] for one in twin["moments"]) >= briefing.tokens
    assert f"{twin['tokens']:,} tokens in" in answer.body.decode()
    assert ann.get("/p/project/health?days=91").status == 400


def test_charts_have_a_description_and_escape_it() -> None:
    for made in (
        chart(NASTY, NASTY, [NASTY], [Series(NASTY, [3]), Series("b", [4])], NASTY),
        chart("nothing", "tokens", [], [], "none"),
        chart("nothing", "tokens", ["a"], [Series("b", [0])], "none"),
    ):
        page = Parsed(made.encode())
        tags = {"figure", "figcaption", "span", "div", "svg", "path", "ul", "li", "bdi"}
        assert {tag for tag, _ in page.elements} <= tags
        assert not any(name == "style" or name.startswith("on") for _, some in page.elements for name, _ in some)
    assert "3,000" in unescape(chart("c", "u", ["a"], [Series("b", [2_900])], "s"))
