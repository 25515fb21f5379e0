"""One durable write through the library beside the same row, and its text, written with bare apsw."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.bare import BareStore, prepared
from benchmarks.content import notes, open_filled
from benchmarks.harness import Bench, Section, interleave, timed


def run(bench: Bench) -> Section:
    """Write the same notes in turn into three stores of equal size, each write a durable transaction of its own."""
    size = bench.choose(5_000, 500)
    rounds = bench.choose(1_500, 150)
    warm_up = 30
    made = notes(size + warm_up + rounds)
    held, fresh = made[:size], made[size:]
    with ExitStack() as stack:
        bench.progress.say(f"filling three stores with {size:,} entries each")
        satchel = stack.enter_context(open_filled(bench.folder / "satchel.db", held))
        row = stack.enter_context(BareStore(bench.folder / "row.db", with_text=False))
        text = stack.enter_context(BareStore(bench.folder / "text.db", with_text=True))
        for store in (row, text):
            store.fill(held)
        ready = prepared(fresh)

        def write(number: int) -> None:
            satchel.entries.write(**fresh[number].arguments())

        bench.progress.say(f"writing {rounds:,} notes into each")
        taken = interleave(
            {
                "satchel": write,
                "text": lambda number: text.write(ready[number]),
                "row": lambda number: row.write(ready[number]),
            },
            rounds,
            warm_up,
        )
    ours = taken["satchel"]
    return Section(
        "One durable write",
        (
            timed("write, beside row and text", ours, taken["text"], "bare row and text", ratio_at_most=1.6),
            timed("write, beside the row alone", ours, taken["row"], "bare row"),
        ),
        (
            f"{rounds:,} writes into each of three stores that held {size:,} entries, WAL and synchronous FULL; the "
            "bare stores have the same tables, indexes and FTS5 settings, and what they index was worked out "
            "beforehand. `write` also finds secrets, resolves project, run and agent, checks foreign keys, and keeps "
            "a row for searching and the change counter.",
        ),
    )
