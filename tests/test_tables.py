"""A test that goes over a table fails for each case that fails, and names it."""

from __future__ import annotations

import pytest

from tables import in_one_test


def test_every_case_that_fails_is_named_and_the_others_are_tried() -> None:
    tried = []

    @in_one_test("number, name", [(1, "one"), pytest.param(2, "deux", id="French"), (3, "drei")])
    def check(number: int, name: str) -> None:
        tried.append(number)
        assert name == "one"

    with pytest.raises(ExceptionGroup, match="2 of 3 cases") as caught:
        check()
    assert tried == [1, 2, 3]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["case: French(2, 'deux')"],
        ["case: (3, 'drei')"],
    ]


def test_a_case_that_does_not_raise_what_it_should_is_named_too() -> None:
    @in_one_test("number", [0, 1])
    def check(number: int) -> None:
        with pytest.raises(ZeroDivisionError):
            1 / number

    with pytest.raises(ExceptionGroup) as caught:
        check()
    assert [error.__notes__ for error in caught.value.exceptions] == [["case: (1,)"]]


@in_one_test("name", ["a.py", "b.py"])
def test_cases_share_the_fixtures_of_their_test(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    assert tmp_path_factory.getbasetemp().is_dir()
    assert name.endswith(".py")
