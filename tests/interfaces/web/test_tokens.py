"""The chart of the tokens added to context, with a text and a table that say the same."""

from __future__ import annotations

from room_browsing import Browser, Parsed
from satchel import Satchel


def test_chart_and_twin_show_the_same_tokens(ann: Browser, satchel: Satchel) -> None:
    briefing = satchel.brief(agent="reader")
    assert briefing.is_recorded
    twin = ann.get("/p/project/health.json").json()["spending"]
    answer = ann.get("/p/project/health")
    elements = [(tag, dict(attributes)) for tag, attributes in Parsed(answer.body).elements]
    chart = next(given for _, given in elements if given.get("class") == "bars")
    assert f"{twin['tokens']:,} in all" in (chart["aria-label"] or "")
    assert twin["tokens"] == sum(one["tokens"] for one in twin["days"]) >= briefing.tokens
    assert f"{twin['tokens']:,} tokens in" in answer.body.decode()
    heights = [float(given["height"] or 0) for tag, given in elements if tag == "rect" and "%" in (given["x"] or "")]
    assert (len(heights), sum(height > 0 for height in heights), max(heights)) == (14, 1, 60)
