"""A short report is the error of an output that holds all its telling words."""

from __future__ import annotations

import pytest

from satchel import Satchel

TORCH = (
    "Looking in indexes: https://example.org/simple\n"
    "ERROR: Could not find a version that satisfies the requirement torch==2.1.0 (from versions: 2.6.0, 2.7.0)\n"
    "ERROR: No matching distribution found for torch==2.1.0\n"
)
FIXTURE = (
    "=== test session starts ===\nfile /repo/test_shop.py, line 40\n  def test_pay({name}):\n"
    "E       fixture '{name}' not found\n>       available fixtures: cache, capfd\n\n/repo/test_shop.py:40\n"
)


@pytest.mark.parametrize(
    ("kind", "report", "output"),
    [
        ("pip", "pip can't find torch 2.1 for python 3.13", TORCH),
        ("pytest", "no fixture client", FIXTURE.format(name="client")),
        # a program names itself before an error that says its type
        ("hatch", "ValueError: no version in the VCS", "hatchling: ValueError: no version in the VCS\nbuild failed\n"),
        (
            "ProgrammingError",
            "users.nickname is missing",
            'Traceback (most recent call last):\n  File "/srv/seed.py", line 3, in main\n    load()\n'
            "sqlalchemy.exc.ProgrammingError: (psycopg2.errors.UndefinedColumn) column users.nickname does not exist\n"
            "[SQL: SELECT 1]\n",
        ),
    ],
)
class TestSame:
    def test_an_output_has_the_fix_of_the_report_before(
        self, satchel: Satchel, kind: str, report: str, output: str
    ) -> None:
        satchel.patterns.report(kind, report, solution="do it")
        told = satchel.patterns.report(kind, output)
        assert (told.is_new, [one.text for one in told.solutions]) == (False, ["do it"])
        assert "recognized by its words" in told.notes[0]

    def test_a_report_has_the_fix_of_the_output_before(
        self, satchel: Satchel, kind: str, report: str, output: str
    ) -> None:
        satchel.patterns.report(kind, output, solution="do it")
        told = satchel.patterns.report(kind, report)
        assert (told.is_new, [one.text for one in told.solutions]) == (False, ["do it"])


@pytest.mark.parametrize(
    ("report", "output"),
    [
        # the name stands in the output, but is not what it reports
        ("fixture 'session' not found", FIXTURE.format(name="client")),
        ("pip can't find tensorflow 2.1", TORCH),
        ("torch 3.4 was not found", TORCH),
        # one word may be of any error
        ("torch", TORCH),
        ("the requirement failed", TORCH),
        ("ValueError: no version in the VCS", "hatchling: ValueError: no version in the VCS upstream\nbuild failed\n"),
    ],
)
def test_a_report_with_other_words_is_another_error(satchel: Satchel, report: str, output: str) -> None:
    satchel.patterns.report("pip", report, solution="do it")
    told = satchel.patterns.report("pip", output)
    assert (told.is_new, told.solutions) == (True, ())


def test_a_report_that_is_two_errors_alike_is_neither(satchel: Satchel) -> None:
    for name in ("client", "server"):
        satchel.patterns.report("pytest", FIXTURE.format(name=name) + "the whole shop wants\n", solution=name)
    told = satchel.patterns.report("pytest", "a fixture of the shop is unavailable")
    assert told.is_new


def test_what_names_its_type_is_left_to_its_signature(satchel: Satchel) -> None:
    satchel.patterns.report("ValueError", "ValueError: no plan gold", solution="do it")
    output = "Traceback (most recent call last):\n  File \"a.py\", line 1, in b\nKeyError: 'no plan gold'\nValueError\n"
    assert satchel.patterns.report("KeyError", output).is_new


@pytest.mark.parametrize("other", ["request", "requestz"])
def test_a_quoted_name_is_no_beginning_of_another(satchel: Satchel, other: str) -> None:
    satchel.patterns.report("ModuleNotFoundError", "No module named 'requests'", solution="pip install requests")
    output = f"""Exit code 1\nTraceback (most recent call last):\n  File "b.py", line 1, in <module>\n    import {other}
ModuleNotFoundError: No module named '{other}'"""
    assert satchel.patterns.report("ModuleNotFoundError", output).is_new


def test_the_place_of_an_error_is_no_word_of_it(satchel: Satchel) -> None:
    satchel.patterns.report("protoc", 'shop.proto:32:26: Expected ";".', solution="do it")
    output = (
        './check\ntypes.proto: File not found.\nshop.proto:32:1: Import "types.proto" was not found or had errors.\n'
        "error: recipe `check` failed on line 2 with exit code 1\n"
    )
    assert satchel.patterns.report("protoc", output).is_new
