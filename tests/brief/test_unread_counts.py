"""Counts of unread messages are those of the listed ones, whatever ends messages that were read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from satchel import open_satchel

STEPS = st.sampled_from(["Ann proposes", "Bob proposes", "read", "read by another", "reject", "an hour passes"])


@settings(max_examples=examples(25), deadline=None)
@given(steps=st.lists(STEPS, max_size=8))
def test_as_many_are_counted_unread_as_are_listed(steps: list[str]) -> None:
    now = [1_795_000_000_000]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".git").mkdir()
        relaxed = {"store.durability": "relaxed"}
        with open_satchel(cwd=folder, environ={}, clock=lambda: now[0], settings=relaxed) as satchel:
            satchel.decisions.set("q", 0, agent="human:Eva")
            for number, step in enumerate(steps):
                now[0] += 1000
                if step.endswith("proposes"):
                    satchel.decisions.set("q", number, agent=step[:3])
                elif step == "reject" and satchel.decisions.find(status="draft").total:
                    satchel.decisions.set("q_draft", status="deprecated", agent="human:Eva")
                elif step.startswith("read"):
                    reader = "human:Max" if step.endswith("another") else "human:Eva"
                    satchel.messages.mark_read(everything=True, agent=reader)
                elif step == "an hour passes":
                    now[0] += 3_600_000
                for reader in ("human:Eva", "human:Max", "human", "Ann", "Bob"):
                    assert (page := satchel.messages.inbox(agent=reader)).unread == sum(
                        one.read_at is None for one in page.items
                    )
