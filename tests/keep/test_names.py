"""Names that are registered on first use: written once, found in any case, listed when one is unknown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents_here import agents, register
from satchel import InvalidInput, Satchel
from satchel.base.vocabulary import LAYERS
from satchel.keep import names
from satchel.keep.names import check_file, check_names
from satchel.store.transaction import Transaction
from tables import in_one_test

TABLES = ("tags", "scopes", "categories", "layers")
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def made(satchel: Satchel) -> Satchel:
    """A Satchel whose project, number 1, was made and holds nothing else."""
    satchel.housekeeping.initialise()
    return satchel


def ensure(satchel: Satchel, table: str, name: str, project: int = 1) -> tuple[int, str]:
    with satchel.workplace.engine.write() as transaction:
        return names.ensure_name(transaction, table, project, name, satchel.workplace.clock())


def kept(satchel: Satchel, table: str, project: int = 1) -> list[str]:
    with satchel.workplace.engine.read() as transaction:
        rows = transaction.all(f"SELECT name FROM {table} WHERE project_id = {project} ORDER BY id")
    return [row[0] for row in rows]


def seq(satchel: Satchel) -> int:
    return satchel.housekeeping.statistics().seq


@in_one_test(
    ("given", "expected"),
    [
        ([], ()),
        (["api"], ("api",)),
        ([" api ", "\tauth\n"], ("api", "auth")),
        (["API", "auth", "api", " Api "], ("API", "auth")),
        (["straße", "STRASSE"], ("straße",)),
        (["ａｐｉ", "api"], ("ａｐｉ",)),
        (["b", "a", "B"], ("b", "a")),
        (("a", "b"), ("a", "b")),
        ({"a"}, ("a",)),
        (frozenset({"a"}), ("a",)),
    ],
)
def test_names_are_trimmed_and_kept_once_as_first_written_in_the_order_given(
    given: Any, expected: tuple[str, ...]
) -> None:
    assert check_names(given, "tags") == expected


@in_one_test("given", ["api", "", None, 3, {"api": 1}, iter(["api"])])
def test_what_is_no_list_of_names_is_refused_by_field(given: Any) -> None:
    with pytest.raises(InvalidInput, match=r'^tags is no list of names\. Give tags as \["\.\.\.", "\.\.\."\]'):
        check_names(given, "tags")


@in_one_test(
    ("bad", "problem"),
    [
        ("", "is empty"),
        (" \t", "is empty"),
        ("x" * 10_000, "has 10000 characters"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        ("\ud800", "lone surrogate"),
        ("{{tag}}", "unresolved placeholder"),
        (TOKEN, "looks like a secret"),
        (3, "must be text, not int"),
        (None, "must be text, not NoneType"),
        (["a"], "must be text, not list"),
    ],
)
def test_what_is_no_name_is_refused_with_its_place_in_the_list(bad: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^tags\[1\] .*{problem}"):
        check_names(["api", bad], "tags")


def test_a_list_has_50_names_unless_another_number_is_allowed() -> None:
    many = [f"n{number}" for number in range(51)]
    assert len(check_names(many[:50], "tags")) == 50
    with pytest.raises(InvalidInput, match=r"^tags has 51 names\. At most 50 are allowed"):
        check_names(many, "tags")
    assert len(check_names(many, "tags", most=51)) == 51
    with pytest.raises(InvalidInput, match=r"At most 2 are allowed"):
        check_names(many[:3], "tags", most=2)


@pytest.mark.parametrize("table", TABLES)
def test_a_name_is_registered_once_as_first_written(made: Satchel, table: str) -> None:
    before = kept(made, table)
    first = ensure(made, table, "My-Own")
    for again in ("My-Own", "my-own", "MY-OWN"):
        assert ensure(made, table, again) == first
    assert first[1] == "My-Own"
    assert kept(made, table) == [*before, "My-Own"]


@pytest.mark.parametrize("table", TABLES)
def test_another_process_knows_the_name_too(
    made: Satchel, open_in: Callable[..., Satchel], project: Path, table: str
) -> None:
    first = ensure(made, table, "My-Own")
    assert ensure(open_in(project), table, "MY-OWN") == first


@pytest.mark.parametrize("table", TABLES)
def test_registering_takes_one_number_of_the_change_counter_and_only_the_first_time(made: Satchel, table: str) -> None:
    before = seq(made)
    number, _ = ensure(made, table, "My-Own")
    ensure(made, table, "my-own")
    assert seq(made) == before + 1
    with made.workplace.engine.read() as transaction:
        row = transaction.one(f"SELECT seq, created_at, length(uid) FROM {table} WHERE id = {number}")
    assert row == (before + 1, made.workplace.clock(), 16)


@pytest.mark.parametrize(
    ("table", "name", "seeded"),
    [("tags", "SECURITY", "security"), ("categories", "Performance", "performance"), ("layers", "DATA", "data")],
)
def test_a_name_that_every_project_has_is_not_registered_again(
    made: Satchel, table: str, name: str, seeded: str
) -> None:
    before = kept(made, table)
    assert ensure(made, table, name)[1] == seeded
    assert kept(made, table) == before


@pytest.mark.parametrize("table", TABLES)
def test_each_project_has_names_of_its_own(made: Satchel, open_in: Callable[..., Satchel], table: str) -> None:
    other = open_in(made.place.file.parent.parent, project="other")
    other.housekeeping.initialise()
    mine, theirs = ensure(made, table, "Mine"), ensure(other, table, "MINE", project=2)
    assert mine[0] != theirs[0]
    assert (mine[1], theirs[1]) == ("Mine", "MINE")
    assert (kept(made, table)[-1], kept(made, table, project=2)[-1]) == ("Mine", "MINE")


@pytest.mark.parametrize("table", TABLES)
def test_a_name_of_a_transaction_that_failed_is_not_remembered(made: Satchel, table: str) -> None:
    def fail() -> None:
        with made.workplace.engine.write() as transaction:
            names.ensure_name(transaction, table, 1, "lost", 0)
            raise KeyError("on purpose")

    with pytest.raises(KeyError):
        fail()
    assert "lost" not in kept(made, table)
    assert ensure(made, table, "LOST")[1] == "LOST"


@pytest.mark.parametrize("table", TABLES)
def test_looking_for_a_name_registers_nothing(made: Satchel, table: str) -> None:
    number, _ = ensure(made, table, "My-Own")
    before = kept(made, table)
    with made.workplace.engine.read() as transaction:
        assert names.find_name(transaction, table, 1, " MY-own ") == number
        assert names.find_name(transaction, table, 1, "nobody's") is None
        assert names.find_name(transaction, table, 2, "my-own") is None
        assert names.find_name(transaction, table, 0, "my-own") is None
    assert kept(made, table) == before


def ensure_layer(satchel: Satchel, name: str) -> tuple[int, str]:
    with satchel.workplace.engine.write() as transaction:
        return names.ensure_layer(transaction, satchel.workplace, 1, name, 0)


def find_layer(satchel: Satchel, name: str | None, project: int = 1) -> int | None:
    with satchel.workplace.engine.read() as transaction:
        return names.find_layer(transaction, project, name)


@pytest.mark.parametrize("layer", LAYERS)
def test_the_layers_of_every_project_are_found_in_any_case(made: Satchel, layer: str) -> None:
    number, name = ensure_layer(made, layer.upper())
    assert name == layer
    assert find_layer(made, layer.title()) == number


def test_an_unknown_layer_is_refused_with_the_nearest_and_the_list(made: Satchel) -> None:
    problem = r"^unknown layer 'buisness'\. Did you mean 'business'\? Valid: presentation, .*, cross-cutting$"
    for ask in (ensure_layer, find_layer):
        with pytest.raises(InvalidInput, match=problem):
            ask(made, "buisness")
    assert kept(made, "layers") == list(LAYERS)


def test_a_layer_like_no_other_is_refused_with_the_list_alone(made: Satchel) -> None:
    with pytest.raises(InvalidInput, match=r"^unknown layer 'zzz'\. Valid: presentation, "):
        find_layer(made, "zzz")


def test_where_layers_are_open_a_new_one_is_registered_and_known_from_then_on(
    made: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    free = open_in(project, settings={"layers.open": True})
    layer = ensure_layer(free, "Edge")
    assert layer[1] == "Edge"
    assert ensure_layer(made, "edge") == layer
    with pytest.raises(InvalidInput, match=r"Did you mean 'Edge'\? .*, cross-cutting, Edge$"):
        find_layer(made, "edgy")


def test_without_a_layer_there_is_none_to_find(made: Satchel) -> None:
    assert find_layer(made, None) is None


def test_before_the_first_write_the_layers_of_every_project_are_known(satchel: Satchel) -> None:
    assert find_layer(satchel, "Data", 0) == -1
    with pytest.raises(InvalidInput, match=r"^unknown layer 'dada'\. Did you mean 'data'\? Valid: presentation, "):
        find_layer(satchel, "dada", 0)


def acted(satchel: Satchel) -> list[tuple[str, bool]]:
    return [(agent.name, agent.has_acted) for agent in agents(satchel)]


def address(satchel: Satchel, name: str) -> tuple[int, str]:
    with satchel.workplace.engine.write() as transaction:
        return names.ensure_agent(transaction, 1, name, 0, acts=False)


def test_an_agent_that_was_only_addressed_has_not_acted(
    made: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    for satchel in (made, open_in(project)):
        address(satchel, "Reviewer")
    assert acted(made) == [("Reviewer", False)]


@pytest.mark.parametrize(
    "act",
    [
        lambda satchel: register(satchel, "REVIEWER"),
        lambda satchel: satchel.entries.write("discovery", "x", agent="reviewer"),
    ],
    ids=["registers", "writes"],
)
def test_it_has_acted_once_it_does_something(made: Satchel, act: Callable[[Satchel], object]) -> None:
    address(made, "Reviewer")
    before = seq(made)
    act(made)
    assert acted(made) == [("Reviewer", True)]
    with made.workplace.engine.read() as transaction:
        row = transaction.one("SELECT seq FROM agents")
    assert row is not None
    assert row[0] > before


def test_an_agent_that_acted_has_acted_however_often_it_is_addressed(made: Satchel) -> None:
    register(made, "Reviewer")
    before = seq(made)
    address(made, "reviewer")
    assert acted(made) == [("Reviewer", True)]
    assert seq(made) == before


def test_an_agent_that_is_addressed_and_acts_in_one_transaction_has_acted(made: Satchel) -> None:
    def twice(transaction: Transaction, *acts: bool) -> None:
        for one in acts:
            names.ensure_agent(transaction, 1, "Reviewer", 0, acts=one)

    with made.workplace.engine.write() as transaction:
        twice(transaction, False, True, False)
    assert acted(made) == [("Reviewer", True)]


def test_an_agent_is_the_same_whether_addressed_or_acting(made: Satchel) -> None:
    number, name = address(made, "Reviewer")
    registered = register(made, "REVIEWER")
    assert (registered.id, registered.name) == (number, name)
    assert address(made, "reviewer") == (number, name)


def test_looking_for_an_agent_registers_nothing(made: Satchel) -> None:
    number, _ = address(made, "Reviewer")
    with made.workplace.engine.read() as transaction:
        assert names.find_agent(transaction, 1, "REVIEWER") == number
        assert names.find_agent(transaction, 1, "nobody") == -1
        assert names.find_agent(transaction, 1, None) is None
    assert acted(made) == [("Reviewer", False)]


def ensure_file(satchel: Satchel, path: str, project: int = 1) -> int:
    with satchel.workplace.engine.write() as transaction:
        return names.ensure_file(transaction, project, path, 0)


def test_a_file_has_one_number_and_paths_differ_by_case(made: Satchel) -> None:
    before = seq(made)
    number = ensure_file(made, "src/a.py")
    assert ensure_file(made, "src/a.py") == number
    assert ensure_file(made, "src/A.py") != number
    assert seq(made) == before + 2


def test_each_project_has_files_of_its_own(made: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    open_in(project, project="other").housekeeping.initialise()
    assert ensure_file(made, "src/a.py") != ensure_file(made, "src/a.py", project=2)


@in_one_test("path", ["src/a.py", "./src/a.py", "src//b/../a.py", " src/a.py ", "/srv/project/src/a.py"])
def test_a_path_is_canonical(path: str) -> None:
    assert check_file(path, "/srv/project") == "src/a.py"


@in_one_test(
    "path",
    ["", " ", "../a.py", "/etc/passwd", ".", "a\0b", "\ud800", "{{file}}", "x" * 201, f"src/{TOKEN}", 3, None],
)
def test_what_is_no_path_of_the_project_is_refused_by_field(path: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^paths\[0\] "):
        check_file(path, "/srv/project", "paths[0]")
