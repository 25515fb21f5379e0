"""The comparison with other servers: what it counts as lost, what it puts in bold, what it damages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.rivals.servers import Home, Rival
from benchmarks.rivals.speed import write_together
from benchmarks.rivals.table import Cell, losses, render
from benchmarks.rivals.torture import Scene, flip, overwrite, secret

SERVER = """
import json, pathlib, sys
store = pathlib.Path.home() / "store"
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    text, error, call = "", False, request["params"].get("arguments", {})
    if "text" in call:
        error = call["text"].endswith("pair00001")
        if not error and not call["text"].endswith("pair00002"):
            store.open("a").write(call["text"] + chr(10))
    elif "words" in call:
        held = store.read_text().splitlines() if store.exists() else []
        text = chr(10).join(note for note in held if call["words"] in note)
    result = {"serverInfo": {"version": "1"}, "content": [{"text": text}], "isError": error}
    print(json.dumps({"id": request["id"], "result": result}), flush=True)
"""


@pytest.fixture
def rival() -> Rival:
    """Return a server that refuses the note of number 1, and loses that of number 2."""
    return Rival(
        name="forgetful",
        version="1",
        older="",
        kind="pip",
        package="forgetful",
        base=lambda _: [sys.executable, "-c", SERVER],
        write=lambda _, text: ("write", {"text": text}),
        search=lambda words: ("search", {"words": words}),
    )


def test_notes_that_were_refused_are_told_from_those_that_were_lost(rival: Rival, tmp_path: Path) -> None:
    outcome = write_together(Home.make(rival, tmp_path, tmp_path / "home"), 2, range(4))
    assert (sorted(outcome.acknowledged), list(outcome.lost), len(outcome.refusals)) == ([0, 2, 3], [2], 1)


def test_secrets_are_looked_for_in_every_file(rival: Rival, tmp_path: Path) -> None:
    cell = secret(Scene(rival, tmp_path, None, tmp_path))
    assert (cell.text, cell.bad) == ("3 of 3: GitHub token, AWS key, private key", 3)


def test_damage_strikes_the_page_of_a_note_and_no_other() -> None:
    whole = bytearray(3 * 4096)
    whole[4100:4109] = b"pair00030"
    damaged = bytearray(whole)
    overwrite(damaged)
    assert damaged[4096:8192] != whole[4096:8192]
    assert (damaged[:4096], damaged[8192:]) == (whole[:4096], whole[8192:])


def test_one_bit_is_flipped_in_each_of_64_bytes() -> None:
    data = bytearray(1_000)
    flip(data)
    assert [byte.bit_count() for byte in data if byte] == [1] * 64


def test_the_best_of_a_row_is_bold_unless_all_are_alike() -> None:
    rows = {
        "speed": {"a": Cell("9 ms", 9), "b": Cell("3 ms", 3), "c": Cell("not measured")},
        "lost": {"a": Cell("0", 0), "b": Cell("0", 0), "c": Cell("0", 0)},
    }
    lines = render(rows, {"a": "A 1", "b": "B 2", "c": "C 3"}).splitlines()
    assert lines == [
        "| | A 1 | B 2 | C 3 |",
        "|---|---|---|---|",
        "| speed | 9 ms | **3 ms** | not measured |",
        "| lost | 0 | 0 | 0 |",
    ]
    assert (losses(rows, "a"), losses(rows, "b")) == (["speed"], [])
