"""The page of the health: tokens added to context, hooks, backups, and tokens of access."""

from __future__ import annotations

from pathlib import Path

from http_serving import served
from room_browsing import Browser, Parsed
from satchel import Satchel
from satchel.base.clock import system_clock
from satchel.interfaces.http.tokens import Tokens
from satchel.interfaces.web.logins import Logins


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


def test_health_has_hooks_that_fail_backups_and_tokens_with_their_last_use(
    satchel: Satchel, logins: Logins, tmp_path: Path
) -> None:
    satchel.sessions.record_hooks([("claude Stop", "ValueError", 1, satchel.workplace.clock())])
    backup = satchel.housekeeping.backup()
    tokens = Tokens(tmp_path / "tokens", system_clock)
    (_, text), _ = (tokens.new(name, store=satchel.place.file, project="project") for name in ("nightly", "spare"))
    with served(tokens, logins=logins) as server:
        ann = Browser.of(server, logins, "ann")
        assert server.ask("/api/room_reached", token=text).status == 200
        page = Parsed(ann.get("/p/project/health").body)
        assert "1 hook fails" in page.text
        assert "claude Stop" in page.text
        assert backup.file.name in page.text
        nightly, spare = (page.text.partition(name)[2][:80] for name in ("nightly", "spare"))
        assert "used less than 1 min ago" in nightly
        assert "not used since this server started" in spare
        twin = ann.get("/p/project/health.json").json()["tokens"]
        assert [one["used_at"] is None for one in twin] == [False, True]
