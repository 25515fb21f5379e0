"""How often a briefing asks a database that is far away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import on_postgresql
from satchel import Satchel
from satchel.store.postgres.transaction import StoreConnection


def test_a_briefing_makes_few_round_trips_however_many_kinds_of_things_there_are(
    open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with on_postgresql.instead_of_files():
        store = open_in(project)
        store.runs.start("night")
        for number in range(3):
            store.entries.write("discovery", f"note {number} of the task", task_id="T1", run_id="night", agent="ann")
            pad = {"iteration": number, "attempted": [f"attempt {number}"]}
            store.entries.write("scratchpad", pad, task_id="T1", loop_id="L", run_id="night", agent="ann")
            store.entries.write("review_issue", {"description": f"issue {number}"}, task_id="T1", run_id="night")
            store.constraints.add(f"rule {number}")
            store.decisions.set(f"key-{number}", f"value {number}")
            store.messages.send(f"message {number}", agent="ann")
            store.packages.save(f"package {number}", content="text", task_id="T1", run_id="night", consumers=["qa"])
            store.patterns.report("KeyError", f"pattern {number}", solution=f"solution {number}")
            store.strategies.save(f"topic {number}", f"insight {number}")
        sent: list[int] = []
        exchange = StoreConnection.exchange

        def counted(self: StoreConnection, messages: Sequence[Any], **named: Any) -> object:
            sent.append(len(messages))
            return exchange(self, messages, **named)

        monkeypatch.setattr(StoreConnection, "exchange", counted)
        briefing = store.brief("qa", task_id="T1", loop_id="L", run_id="night", agent="ben", dry_run=True)
        assert {item.section for item in briefing.items} >= {"attempts", "reviews", "packages", "rules", "messages"}
        assert {item.section for item in briefing.items} >= {"errors", "entries"}
        assert len(sent) <= 7
        assert sum(sent) > 40
