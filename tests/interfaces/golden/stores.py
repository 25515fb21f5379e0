"""A small store and a large one, as two agents leave them, the same each time: fixed times, names and ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conftest import ManualClock
from satchel import Satchel, open_satchel
from satchel.keep.sessions.caller import SERVER

MINUTE, HOUR = 60_000, 3_600_000
LAST_YEAR = 1_766_300_000_000
"""21 December 2025, 06:53 UTC: in the large store the work begins here."""

NOW = 1_795_000_000_000
"""18 November 2026, 11:06 UTC."""

OF_LARGE = 26
"""So many of each kind make a second page."""

_PLACES = ("the cart", "the catalog", "the login form", "the mailer", "the search index")
_AUTHORS = ("planner", "builder", "reviewer")


def connect(folder: Path, client: str, clock: ManualClock) -> Satchel:
    """Open the folder's store as the server of a client does."""
    settings = {"store.durability": "relaxed"}
    satchel = open_satchel(cwd=folder, environ={}, clock=clock, settings=settings, caller=SERVER)
    caller = satchel.workplace.caller
    assert caller is not None
    caller.set_client(client, None)
    return satchel


def fill_small(satchel: Satchel, other: Satchel, clock: ManualClock) -> None:
    """Write one or two of each kind: ``planner`` in one client, ``builder`` in the other."""
    clock.now = NOW - 5 * HOUR
    satchel.runs.start("login-page", title="New login page", effort="high")
    satchel.runs.end("login-page")
    write = satchel.entries.write
    write(
        "discovery", "Sessions live in src/auth.py.\nTokens expire after 300 s.", agent="planner", file="src/auth.py:12"
    )
    clock.advance(7 * MINUTE)
    other.entries.write(
        "scratchpad",
        {
            "iteration": 2,
            "done": False,
            "attempted": ["refresh the token on 401"],
            "blockers": ["the gateway caches the old token"],
            "next_step": "refresh the token before it expires",
        },
        agent="builder",
        task_id="T1",
        loop_id="L1",
    )
    clock.advance(7 * MINUTE)
    write(
        "review_issue",
        {"description": "The token is logged", "issue_type": "architecture-concern", "suggestion": "mask it"},
        agent="planner",
        task_id="T1",
        file="src/auth.py",
    )
    write("review_verdict", {"passed": False, "summary": "One issue is open"}, agent="planner", task_id="T1")
    satchel.decisions.set("session_ttl", 300, agent="planner", layer="business", rationale="the gateway keeps 300 s")
    clock.advance(11 * MINUTE)
    satchel.decisions.set(
        "token_store", "Redis, not cookies", agent="planner", tags=["api", "security"], scopes=["login"]
    )
    other.decisions.set("session_ttl", 600, agent="builder", rationale="the gateway keeps 600 s now")
    with open_satchel(cwd=satchel.workplace.root, environ={}, clock=clock) as program:  # an agent makes none critical
        program.constraints.add(
            "Passwords are never logged.", category="security", priority="critical", agent="planner"
        )
    satchel.constraints.add(
        "No request takes longer than 200 ms.", category="performance", tags=["api"], agent="builder"
    )
    satchel.patterns.report(
        "TypeError", "'NoneType' object is not subscriptable in token 41", agent="builder", lang="python"
    )
    satchel.patterns.report(
        "TypeError",
        "'NoneType' object is not subscriptable in token 42",
        agent="builder",
        lang="python",
        solution="Check that the token was found before reading its fields.",
    )
    satchel.packages.save(
        "How tokens are refreshed",
        type="handoff",
        content="Call refresh() before expiry.",
        agent="planner",
        consumers=["developer"],
    )
    satchel.strategies.save(
        "token-refresh", "Refresh before expiry, not on 401: no request fails.", lang="python", agent="planner"
    )
    clock.advance(9 * MINUTE)
    other.messages.send("May I change src/auth.py?", to="planner", type="request", agent="builder")
    other.messages.send("The schema has changed, pull first.", priority="high", agent="builder")
    other.files.record("src/auth.py", change="modified", description="tokens are refreshed early", agent="builder")
    other.files.claim(["src/auth.py"], agent="builder", reason="token refresh", minutes=600)
    clock.now = NOW


def fill_large(satchel: Satchel, other: Satchel, clock: ManualClock) -> None:
    """Write enough of each kind for a second page, the first half of it last year, and two notes that are very long."""
    clock.now = LAST_YEAR
    half = OF_LARGE // 2
    for number in range(OF_LARGE):
        if number == half:
            clock.now = NOW - 40 * HOUR
        author, place = _AUTHORS[number % 3], _PLACES[number % 5]
        task = f"T{number % 4}"
        satchel.entries.write(
            "discovery" if number % 4 else "error",
            f"Finding {number}: {place} reads its token twice, once from the header and once from the cookie.",
            agent=author,
            task_id=task,
        )
        clock.advance(3 * MINUTE)
        satchel.entries.write(
            "scratchpad",
            {"iteration": number + 1, "done": not number % 2, "next_step": f"test {place}"},
            agent=author,
            task_id=task,
            loop_id="L1",
        )
        satchel.decisions.set(
            f"token_rule_{number}",
            f"{place} keeps its token for {number} s" if number % 3 else number,
            agent=author,
            layer=("business", "data")[number % 2],
            tags=["api"] if number % 2 else ["api", "security"],
            version="2.1.0" if number == 5 else "1.0.0",
            status="draft" if number == 5 else "active",
        )
        satchel.constraints.add(
            f"Rule {number}: {place} never logs a token.",
            category=("security", "architecture")[number % 2],
            priority=("medium", "high", "low")[number % 3],
            agent=author,
        )
        satchel.packages.save(
            f"How {place} works, part {number}",
            type=("handoff", "research")[number % 2],
            content="x" * (number + 1),
            agent=author,
        )
        other.messages.send(
            f"Please test {place} again ({number}).", to=None if number % 2 else "planner", agent=author
        )
        other.files.record(f"src/part{number % 7}.py", change="modified", description=place, agent=author)
        satchel.runs.start(f"run-{number}", title=f"Work on {place}")
        satchel.runs.end(f"run-{number}", "completed" if number % 5 else "failed")
        clock.advance(49 * MINUTE)
    for number in range(OF_LARGE):
        satchel.decisions.set("token_rule_0", f"keep it {number} minutes", agent="builder")
        clock.advance(MINUTE)
    for number in range(6):
        satchel.patterns.report(
            "TimeoutError",
            "the token service did not answer",
            agent=_AUTHORS[number % 3],
            solution=f"Way {number}: raise the timeout of the token service to {number + 2} s.",
        )
    long = " ".join(f"Line {number} of the long analysis says that tokens are read twice." for number in range(500))
    satchel.entries.write("discovery", long, agent="planner", file="src/long.py")
    satchel.decisions.set("long_rule", long, agent="planner")
    satchel.entries.write("discovery", f"Second. {long}", agent="builder", file="src/long.py")
    clock.now = NOW


FILLED: dict[str, Callable[[Satchel, Satchel, ManualClock], None]] = {"small": fill_small, "large": fill_large}
"""By its name, what fills a store."""
