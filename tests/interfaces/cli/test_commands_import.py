"""``satchel import``: every option, what people are told, and what machines are."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import bazinga_databases
from bazinga_databases import BazingaDatabase
from sqlew_databases import SqlewDatabase, sample

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def now() -> int:
    """The time in seconds."""
    return int(time.time())


@pytest.fixture
def file(tmp_path: Path, now: int) -> Path:
    """A sqlew database with something in every table."""
    return sample(tmp_path / "sqlew.db", "3.6", now)


def test_people_are_told_what_was_taken(cli: Cli, file: Path) -> None:
    status, out, err = cli("import", "--from", "sqlew", str(file))
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"imported from {file} (sqlew 1.1 to 3.6)",
        "  decisions: 2: 2 new",
        "  constraints: 2: 2 new",
        "  messages: 1: 1 new",
        "  file changes: 1: 1 new",
        "note: earlier states stored with value, version, author and time only, imported as active without layer, "
        "tags and scopes: 2",
    ]


def test_the_second_time_everything_is_here_already(cli: Cli, file: Path) -> None:
    cli("import", "--from", "sqlew", str(file))
    _, out, _ = cli("import", "--from", "sqlew", str(file))
    assert "  decisions: 2: 2 here already" in out.splitlines()


def test_a_preview_says_what_would_be_taken_and_makes_no_store(cli: Cli, folder: Path, file: Path) -> None:
    status, out, _ = cli("import", "--from", "sqlew", str(file), "--dry-run")
    assert status == 0
    assert out.startswith(f"would import from {file}")
    assert "decisions: 2: 2 new" in out
    assert not (folder / ".satchel").exists()


def test_machines_are_told_everything(cli: Cli, file: Path) -> None:
    status, out, _ = cli("import", "--from", "sqlew", str(file), "--json")
    told = json.loads(out)
    assert (status, told["done"], told["source"], told["source_project"]) == (0, True, str(file), None)
    assert told["kinds"][0] == {
        "kind": "decision",
        "rows": 2,
        "added": 2,
        "updated": 0,
        "present": 0,
        "conflicts": 0,
        "left_out": 0,
    }
    assert (told["troubles"], told["conflicts"]) == ([], [])


def test_a_relative_path_is_taken_from_the_current_folder(cli: Cli, folder: Path, now: int) -> None:
    sample(folder / "here.db", "3.6", now)
    status, out, _ = cli("import", "--from", "sqlew", "here.db")
    assert status == 0
    assert str(folder / "here.db") in out


def test_the_project_of_several_is_chosen(cli: Cli, tmp_path: Path, now: int) -> None:
    made = SqlewDatabase(tmp_path / "two.db", "3.9")
    made.add("projects", id=2, name="blog")
    made.add("context_keys", key="store")
    made.add("decisions", key_id=1, value="redis", project_id=1, ts=now)
    made.add("decisions", key_id=1, value="files", project_id=2, ts=now)
    file = str(made.close())
    status, _, err = cli("import", "--from", "sqlew", file)
    assert status == 4
    assert "shop, blog" in err
    status, out, _ = cli("import", "--from", "sqlew", file, "--source-project", "blog")
    assert (status, out.splitlines()[0].endswith("(sqlew 3.7 to 3.9, project blog)")) == (0, True)


def test_what_was_left_alone_left_out_changed_and_not_taken_is_listed(cli: Cli, tmp_path: Path, now: int) -> None:
    assert cli("decide", "store", "sqlite")[0] == 0
    made = SqlewDatabase(tmp_path / "s.db", "5")
    for key in ("store", "ttl", "limit"):
        made.add("context_keys", key=key)
    made.add("decisions", key_id=1, value="redis", ts=now)
    made.add("decisions", key_id=2, value="x", status=9, ts=now)
    made.add("decisions", key_id=3, value="y", status=5, layer_id=made.layer("planning"), ts=now)
    made.sql("CREATE TABLE t_decision_policies (id INTEGER)")
    made.sql("INSERT INTO t_decision_policies VALUES (1)")
    status, out, _ = cli("import", "--from", "sqlew", str(made.close()))
    lines = out.splitlines()
    assert status == 15
    assert "  decisions: 2: 1 new, 1 changed on both sides" in lines
    assert "note: new layers: planning" in lines
    assert "conflict: d1 store: changed on both sides: the local state is later and wins" in lines
    assert "left out: t_decisions key_id 2: its status is 9, not one of 1 to 3" in lines
    assert "changed: t_decisions key_id 3: its status is in_review, which is active here" in lines
    assert lines[-1] == "not taken, because nothing here corresponds to it: t_decision_policies (1)"


def test_a_long_list_is_cut_for_people_and_whole_for_machines(cli: Cli, tmp_path: Path, now: int) -> None:
    made = SqlewDatabase(tmp_path / "s.db", "3.6")
    for key in range(1, 26):
        made.add("context_keys", id=key, key=f"key{key}")
        made.add("decisions", key_id=key, value="x", status=9, ts=now)
    file = str(made.close())
    _, out, _ = cli("import", "--from", "sqlew", file, "--dry-run")
    assert sum(line.startswith("left out:") for line in out.splitlines()) == 20
    assert "... and 5 more; --json lists them" in out.splitlines()
    assert len(json.loads(cli("import", "--from", "sqlew", file, "--dry-run", "--json")[1])["troubles"]) == 25


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("nowhere.db", "--from", "sqlew"), 3, "there is no file"),
        (("other.txt", "--from", "sqlew"), 10, "is not a SQLite database"),
        (("other.txt",), 10, "--from"),
        (("other.txt", "--from", "notes"), 2, "'notes' is not"),
        (("--from", "sqlew"), 2, "PATH"),
    ],
)
def test_what_is_wrong_is_said(cli: Cli, folder: Path, arguments: tuple[str, ...], status: int, said: str) -> None:
    (folder / "other.txt").write_text("not a database, but a text of some length")
    found, _, err = cli("import", *arguments)
    assert (found, said in err) == (status, True)


def test_people_are_told_what_was_taken_of_bazinga(cli: Cli, folder: Path, now: int) -> None:
    file = bazinga_databases.sample(folder / "bazinga" / "bazinga.db", "19", now)
    status, out, err = cli("import", "--from", "bazinga", ".")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"imported from {file} (bazinga, schema 19, project shop)",
        "  runs: 1: 1 new",
        "  packages: 1: 1 new",
        "  error patterns: 1: 1 new",
        "  strategies: 1: 1 new",
        "  deliveries: 1: 1 new",
        "note: bazinga drops quoted names: errors without any are recognized again, the others are found "
        "by search alone",
        "changed: strategies strategy_id t1: the topic is stored as 'react-native-offline'",
        "changed: context_packages id 1: bazinga/artifacts/s1/1.md is not there: readers get the summary alone until "
        "it can be read",
        "not taken, because nothing here corresponds to it: orchestration_logs of interactions and events (1)",
    ]
    assert "here already" in cli("import", "--from", "bazinga", str(file))[1]


def test_machines_are_told_everything_of_bazinga(cli: Cli, folder: Path, now: int) -> None:
    file = bazinga_databases.sample(folder / "b.db", "19", now)
    status, out, _ = cli("import", "--from", "bazinga", str(file), "--dry-run", "--json")
    told = json.loads(out)
    assert (status, told["done"], told["source_project"]) == (0, False, "shop")
    assert [(one["kind"], one["added"]) for one in told["kinds"]] == [
        ("run", 1),
        ("package", 1),
        ("error_pattern", 1),
        ("strategy", 1),
        ("delivery", 1),
    ]
    assert not (folder / ".satchel").exists()


def test_the_project_of_several_in_bazinga_is_chosen(cli: Cli, tmp_path: Path, now: int) -> None:
    made = BazingaDatabase(tmp_path / "b.db", "19", now)
    made.strategy("t1")
    made.strategy("t2", project_id="blog")
    file = str(made.close())
    status, _, err = cli("import", "--from", "bazinga", file)
    assert (status, "blog, shop" in err) == (4, True)
    assert "project blog)" in cli("import", "--from", "bazinga", file, "--source-project", "blog")[1]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        (".", 3, "there is no bazinga/bazinga.db"),
        ("nowhere.db", 3, "there is no file"),
        ("other.txt", 10, "is not a SQLite database"),
        ("sqlew.db", 10, "is no bazinga database"),
    ],
)
def test_what_is_wrong_with_a_bazinga_database_is_said(
    cli: Cli, folder: Path, now: int, path: str, status: int, said: str
) -> None:
    (folder / "other.txt").write_text("not a database, but a text of some length")
    sample(folder / "sqlew.db", "3.6", now)
    found, _, err = cli("import", "--from", "bazinga", path)
    assert (found, said in err) == (status, True)
