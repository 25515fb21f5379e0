"""Tables of cases that one test goes over: each case that failed is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def in_one_test(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test once for all cases, which share its fixtures: for those that leave what the others find as it was.

    It takes what ``pytest.mark.parametrize`` takes but ids: a case is named by its values. Pytest takes 5 ms for each
    test, and making a store 8 more, which is more than most cases take.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [ParameterSet.extract_from(case, force_tuple=len(parameters) == 1) for case in cases]
    assert table
    assert not any(marks for _, marks, _ in table), "a case cannot be marked alone"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(*given: Any, **fixtures: Any) -> None:
            failures: list[Exception] = []

            def note(error: Exception, values: Any, name: object) -> None:
                error.add_note(f"case: {name or ''}{values!r:.300}")
                failures.append(error)

            for values, _, name in table:
                try:
                    test(*given, **fixtures, **dict(zip(parameters, values, strict=True)))
                except Exception as error:  # noqa: BLE001 -- raised with the others
                    note(error, values, name)
                except pytest.fail.Exception as error:  # what was to be raised was not, which is no Exception
                    note(AssertionError(error.msg).with_traceback(error.__traceback__), values, name)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} cases", failures)

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in parameters]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate
