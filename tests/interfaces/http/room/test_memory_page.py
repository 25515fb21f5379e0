"""The pages of memory: figures, a plot with a text that says the same, and the briefing of an agent."""

from __future__ import annotations

from html import unescape

from room_browsing import Browser, Parsed
from satchel import Satchel
from satchel.interfaces.http.room.formatting import shown
from satchel.interfaces.http.room.plots import Line, Series, bars, lines

NASTY = "<script>alert(1)</script>\u202e\"'><img src=x>"


def test_what_was_delivered_is_in_the_plot_the_table_and_the_twin(ann: Browser, satchel: Satchel) -> None:
    got = satchel.brief(agent="reader")
    assert got.is_recorded
    for by in ("moment", "agent"):
        twin = ann.get(f"/p/project/memory.json?by={by}").json()["spending"]
        answer = ann.get(f"/p/project/memory?by={by}")
        page = Parsed(answer.body)
        svg = next(dict(attributes) for tag, attributes in page.elements if dict(attributes).get("role") == "img")
        assert f"{twin['tokens']:,} in all" in (svg["aria-label"] or "")
        assert twin["tokens"] == sum(one["tokens"] for one in twin["names"]) >= got.tokens
        assert f"<td>{twin['tokens']:,}</td>" in answer.body.decode()
    assert "reader" in [one["name"] for one in twin["names"]]


def test_the_briefing_is_shown_as_the_agent_gets_it_and_nothing_is_recorded(ann: Browser, satchel: Satchel) -> None:
    path = "/p/project/memory/briefing?agent=someone&query=sessions+expire"
    for _ in range(2):
        page = ann.get(path)
        assert "why each item" in page.body.decode().lower()
    assert ann.get(path.replace("briefing?", "briefing.json?")).json()["text"] in Parsed(page.body).text
    assert satchel.brief(agent="someone", query="sessions expire").text in Parsed(page.body).text
    assert ann.get("/p/project/memory/briefing?moment=lunch").status == 400
    assert ann.get("/p/project/memory/briefing?budget=x").status == 400
    assert ann.get("/p/project/memory?days=91").status == 400
    assert ann.get("/p/project/memory?by=colour").status == 400


def test_whatever_is_stored_is_shown_as_text(ann: Browser, satchel: Satchel) -> None:
    plain = [tag for tag, _ in Parsed(ann.get("/p/project/memory?by=agent").body).elements if tag in {"script", "img"}]
    note = satchel.entries.write("discovery", f"{NASTY} of the pages", agent="<b>bold</b>")
    satchel.brief(agent="<b>bold</b>", query="pages")
    for path in ("memory?by=agent", "memory/briefing?agent=%3Cb%3Ebold%3C/b%3E&moment=clear&query=pages"):
        page = Parsed(ann.get(f"/p/project/{path}").body)
        assert [tag for tag, _ in page.elements if tag in {"script", "img"}] == plain
        assert shown(note.content) in page.text
        assert "<b>bold</b>" in page.text


def test_plots_say_what_they_show_and_escape_it() -> None:
    for plot in (
        bars(NASTY, NASTY, [NASTY], [Series(NASTY, [3]), Series("b", [4])], NASTY),
        bars("nothing", "tokens", [], [], "none"),
        bars("nothing", "tokens", ["a"], [Series("b", [0])], "none"),
        lines(NASTY, "tenths", [Line(NASTY, [(0, 5), (10, 7)])], NASTY, began_at=0, ended_at=10, top=10),
        lines("one", "tenths", [Line("a", [])], "none", began_at=5, ended_at=5),
    ):
        page = Parsed(plot.encode())
        assert {tag for tag, _ in page.elements} <= {
            "figure",
            "figcaption",
            "span",
            "div",
            "svg",
            "path",
            "ul",
            "li",
            "bdi",
        }
        assert not any(name == "style" or name.startswith("on") for _, some in page.elements for name, _ in some)
    assert "3,000" in unescape(bars("c", "u", ["a"], [Series("b", [2_900])], "s"))
