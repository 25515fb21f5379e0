"""``satchel export``, and importing what it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.keep.moving.kinds import LINE_KINDS

Cli = Callable[..., tuple[int, str, str]]


def lines(text: str) -> list[dict[str, Any]]:
    """Return the lines of an export."""
    return [json.loads(line) for line in text.splitlines()]


def kept(cli: Cli) -> None:
    """Keep something."""
    assert cli("write", "discovery", "the exports are separated by semicolons", "--agent", "ann")[0] == 0
    assert cli("decide", "store", "redis", "--agent", "ann")[0] == 0


def test_it_writes_lines_with_a_header_and_an_end(cli: Cli) -> None:
    kept(cli)
    status, out, err = cli("export")
    header, *items, end = lines(out)
    assert (status, header["kind"], header["schema"], header["lines"]) == (0, "satchel", 1, len(items))
    assert [item["kind"] for item in items] == ["agent", "run", "decision", "entry"]
    assert err == "exported 4 lines of project\n"
    assert (end["kind"], end["lines"], list(end["kinds"])) == ("end", 4, ["agent", "run", "decision", "entry"])
    assert header["kinds"] == list(LINE_KINDS)


def test_only_some_kinds_are_written(cli: Cli) -> None:
    kept(cli)
    assert [one["kind"] for one in lines(cli("export", "--kinds", "decision")[1])] == ["satchel", "decision", "end"]
    status, _, err = cli("export", "--kinds", "decisions")
    assert (status, "Did you mean 'decision'?" in err) == (2, True)


def test_a_file_appears_whole_for_its_owner_alone_and_an_older_export_is_replaced(cli: Cli, folder: Path) -> None:
    kept(cli)
    for _ in range(2):
        assert cli("export", "out.jsonl")[0] == 0
    file = folder / "out.jsonl"
    assert (file.stat().st_mode & 0o777, len(lines(file.read_text()))) == (0o600, 6)
    assert [path.name for path in folder.iterdir() if path.suffix == ".partial"] == []


def test_another_file_is_not_replaced(cli: Cli, folder: Path) -> None:
    kept(cli)
    (folder / "notes.txt").write_text("mine")
    status, _, err = cli("export", "notes.txt")
    assert (status, "is no export" in err, (folder / "notes.txt").read_text()) == (4, True, "mine")


def test_nothing_written_yet_is_said(cli: Cli) -> None:
    assert cli("export")[0] == 3


def test_an_export_comes_back_by_its_header(cli: Cli, folder: Path) -> None:
    kept(cli)
    cli("export", "out.jsonl")
    status, out, _ = cli("import", "out.jsonl", "--project", "other")
    assert status == 0
    assert out.splitlines()[1:] == [
        "  agents: 1: 1 new",
        "  runs: 1: 1 new",
        "  decisions: 1: 1 new",
        "  entries: 1: 1 new",
    ]


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ('{"kind": "satchel", "schema": 2}', 11, "update Satchel"),
        ('{"kind": "satchel"}', 10, "has no schema version"),
        ("[1]", 10, "is not an export"),
    ],
)
def test_a_file_that_is_not_a_readable_export_is_refused(
    cli: Cli, folder: Path, text: str, status: int, said: str
) -> None:
    (folder / "x.jsonl").write_text(text)
    found, _, err = cli("import", "x.jsonl")
    assert (found, said in err) == (status, True)


def test_a_cut_file_is_taken_as_far_as_it_goes_and_the_status_says_so(cli: Cli, folder: Path) -> None:
    kept(cli)
    whole = cli("export")[1]
    (folder / "cut.jsonl").write_text(whole[: whole.index('"kind":"entry"') + 40])
    status, out, _ = cli("import", "cut.jsonl", "--project", "other")
    assert status == 15
    assert "  decisions: 1: 1 new" in out.splitlines()
    assert "left out: line line 5: the file is truncated in this line" in out.splitlines()


def test_an_export_is_imported_as_written_from_standard_input(cli: Cli) -> None:
    kept(cli)
    assert cli("pin", "e1", "--agent", "human")[0] == 0
    whole = cli("export")[1].encode()
    status, out, _ = cli("import", "--as-written", "--project", "other", stdin=whole)
    assert status == 0
    first, *kinds, left_out, last = out.splitlines()
    assert first == "imported as written from standard input (project project)"
    assert [line.split()[0] for line in kinds] == ["agent", "run", "decision", "entry"]
    assert [line.split()[1] for line in kinds] == ["2", "1", "1", "1"]
    assert all(line.endswith("  same") for line in kinds)
    assert left_out.startswith("not moved: conversations with other models, live sessions")
    assert last == "same: every line was stored as it was exported"
    assert "e2 entry by human" in cli("pin", "--list", "--project", "other")[1]
    status, _, err = cli("import", "--as-written", "--project", "other", stdin=whole)
    assert (status, "is not empty" in err, "leave out --as-written to merge" in err) == (4, True, True)


def test_a_kind_that_differs_after_an_import_as_written_is_named_and_the_status_is_1(cli: Cli) -> None:
    kept(cli)
    changed = cli("export")[1].replace("semicolons", "commas").encode()
    status, out, _ = cli("import", "--as-written", "--project", "other", stdin=changed)
    assert (status, out.splitlines()[-1]) == (1, "differs: entry")
    told = json.loads(cli("import", "--as-written", "--project", "third", "--json", stdin=changed)[1])
    assert (told["differing"], told["source"], len(told["kinds"])) == (["entry"], "standard input", 4)


@pytest.mark.parametrize("option", [("--dry-run",), ("--from", "claude")])
def test_an_import_as_written_is_one_of_an_export_and_no_preview(cli: Cli, option: tuple[str, ...]) -> None:
    status, _, err = cli("import", "x.jsonl", "--as-written", *option)
    assert (status, "goes with neither --from nor --dry-run" in err) == (2, True)
