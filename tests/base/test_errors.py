from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel.base.errors import ERROR_KINDS, InvalidInput, SatchelError, nearest, unknown_name
from tables import in_one_test


def _classes(base: type[SatchelError] = SatchelError) -> Iterator[type[SatchelError]]:
    yield base
    for child in base.__subclasses__():
        yield from _classes(child)


def test_no_two_kinds_of_error_share_a_code() -> None:
    # a class below another of ours may tell apart what has one code for users
    codes = [error.code for error in _classes() if "kind" in vars(error)]
    assert sorted(codes) == sorted(ERROR_KINDS)


def test_exit_statuses_are_unique_and_never_success() -> None:
    statuses = [kind.exit_status for kind in ERROR_KINDS.values()]
    assert len(set(statuses)) == len(statuses)
    assert all(0 < status < 256 for status in statuses)


def test_every_http_status_is_an_error() -> None:
    assert all(400 <= kind.http_status < 600 for kind in ERROR_KINDS.values())


def test_the_text_says_the_problem_then_the_remedy() -> None:
    error = InvalidInput("limit -1 is out of range", "Give 0 to 500")
    assert str(error) == "limit -1 is out of range. Give 0 to 500"
    assert (error.problem, error.remedy) == ("limit -1 is out of range", "Give 0 to 500")
    assert error.kind is ERROR_KINDS["invalid_input"]


def test_without_a_remedy_the_text_is_the_problem() -> None:
    assert str(SatchelError("it broke")) == "it broke"


@in_one_test(("name", "expected"), [("discovry", "discovery"), ("DISCOVERY", "discovery"), ("xyz", None), ("", None)])
def test_the_nearest_name_is_found_without_regard_to_case(name: str, expected: str | None) -> None:
    assert nearest(name, ["discovery", "error"]) == expected


def test_an_unknown_name_is_answered_with_the_nearest_and_the_list() -> None:
    error = unknown_name("entry type", "discovry", iter(["discovery", "error"]))
    assert str(error) == "unknown entry type 'discovry'. Did you mean 'discovery'? Valid: discovery, error"


def test_a_value_that_is_no_text_has_no_nearest_name() -> None:
    assert str(unknown_name("order", ["asc"], ["asc", "desc"])) == "unknown order ['asc']. Valid: asc, desc"


@pytest.mark.parametrize("name", ["x" * 1_000_000, ["x"] * 1_000])
def test_a_huge_unknown_name_is_repeated_only_in_part(name: object) -> None:
    assert len(str(unknown_name("order", name, ["asc"]))) < 120
