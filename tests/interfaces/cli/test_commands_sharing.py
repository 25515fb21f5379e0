"""The commands of the shared text, as people and CI call them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Cli = Callable[..., tuple[int, str, str]]


def _file(folder: Path) -> Path:
    (file,) = (folder / ".satchel/shared").glob("*.md")
    return file


def test_share_says_what_was_written(cli: Cli, folder: Path) -> None:
    """And that nothing is committed."""
    cli("decide", "db.engine", "SQLite")
    status, out, _ = cli("share", "d1")
    assert status == 0
    assert out.splitlines()[0] == "wrote 1 file; commit them when you like"
    assert out.splitlines()[1].endswith(f"{_file(folder).relative_to(folder)}: in step")


def test_what_was_not_shared_is_said_with_the_others(cli: Cli) -> None:
    """The exit status tells that something was left out."""
    cli("decide", "db", "SQLite")
    cli("error", "report", "ValueError", "bad thing")
    status, out, _ = cli("share", "d1", "x1")
    assert status == 15
    assert "not shared: x1: this error has no solution yet" in out


def test_check_fails_where_a_file_is_not_what_sync_would_write(cli: Cli, folder: Path) -> None:
    """It names the file and the line, and needs no store."""
    cli("decide", "db", "SQLite")
    cli("share", "d1")
    assert cli("share", "--check")[0] == 0
    for name in (folder / ".satchel").glob("satchel.db*"):
        name.unlink()
    file = _file(folder)
    text = file.read_text()
    file.write_text(text.replace("status: active", "status:   active"))
    status, out, _ = cli("share", "--check")
    assert status == 4
    assert out.splitlines()[0] == f"{file.relative_to(folder)}:5: is not formatted as satchel sync writes it"
    file.write_text(text.replace("status: active", "state: active"))
    status, out, _ = cli("share", "--check", "--json")
    assert (status, json.loads(out)["problems"][0]["line"]) == (4, 5)
    assert not (folder / ".satchel/satchel.db").exists()


def test_check_finds_copies_secrets_and_names(cli: Cli, folder: Path) -> None:
    """Whatever a pull request should not bring in."""
    cli("decide", "db", "SQLite")
    cli("share", "d1")
    file = _file(folder)
    token = "ghp_" + "A1b2C3d4" * 4 + "Zz9Y"
    (file.parent / "other.md").write_text(file.read_text())
    file.write_text(file.read_text().replace("SQLite", f"{token} \u202e"))
    (file.parent / "link.md").symlink_to(file)
    status, out, _ = cli("share", "--check")
    assert status == 4
    for problem in ("holds a secret", "one of them is a copy", "its name does not end with", "is a link"):
        assert problem in out


def test_a_folder_without_shared_text_is_fine(cli: Cli) -> None:
    """As in the CI of a project that shares nothing yet."""
    assert cli("share", "--check") == (0, "0 files, 0 problems\n", "")


def test_sync_says_what_is_in_step_and_fails_on_what_it_cannot_read(cli: Cli, folder: Path) -> None:
    """What can be read is brought in step all the same."""
    cli("decide", "db", "SQLite")
    cli("share", "d1")
    assert cli("sync")[:2] == (0, "1 in step\n")
    (folder / ".satchel/shared/bad.md").write_text("bad")
    status, out, _ = cli("sync")
    assert status == 15
    assert out == "1 in step\n.satchel/shared/bad.md:1: the first line is not ---, with which front matter begins\n"


def test_shared_shows_accepts_and_rejects(cli: Cli, folder: Path) -> None:
    """What waits is shown with its difference, and decided by name or all at once."""
    cli("decide", "db", "SQLite")
    cli("share", "d1")
    file = _file(folder)
    file.write_text(file.read_text().replace("SQLite", "DuckDB"))
    out = cli("share", "--list")[1]
    assert out.startswith("1 waiting, 1 shared\n  d1 decision db by human")
    assert out.endswith("`satchel import docs`\n")
    assert "\n-SQLite\n+DuckDB" in cli("share", "--diff", "d1")[1]
    assert cli("accept", "d9")[0] == 3
    assert cli("accept")[0] == 2
    assert cli("accept", "d1")[1].startswith("accepted d1: decision db\n")
    assert "DuckDB" in cli("show", "d1")[1]
    assert cli("reject", "--all")[1] == "rejected nothing: nothing waits\n"


def test_json_has_what_waits(cli: Cli, folder: Path) -> None:
    """For machines, times as elsewhere."""
    cli("decide", "db", "SQLite")
    cli("share", "d1")
    file = _file(folder)
    file.write_text(file.read_text().replace("SQLite", "DuckDB"))
    waiting = json.loads(cli("sync", "--json")[1])["waiting"][0]
    assert (waiting["id"], waiting["state"], waiting["kind"]) == ("d1", "waits", "decision")
    assert waiting["changed_at"].endswith("Z")


def test_unshare_and_a_way_to_resolve_that_there_is_not(cli: Cli, folder: Path) -> None:
    """The file stays and says so."""
    cli("decide", "db", "SQLite")
    cli("share", "d1")
    assert cli("share", "--remove", "d1")[1].startswith("1 item no longer shared\n")
    assert "unshared: true" in _file(folder).read_text()
    assert cli("share", "--remove", "d1")[0] == 3
    assert cli("sync", "--resolve", "mine")[0] == 2


def test_a_clone_without_a_store_names_the_texts_that_wait_and_the_commands(cli: Cli, folder: Path) -> None:
    assert "wait" not in cli("status")[1]
    shared = folder / ".satchel" / "shared"
    shared.mkdir(parents=True)
    (shared / "decision-db-0123456789abcdef0123456789abcdef.md").write_text("---\n---\n")
    assert "1 shared text waits here: `satchel sync` reads" in cli("status")[1]
