"""Arguments of a local program's call: what a service requires is declared, and so refused where it is missing."""

from __future__ import annotations

from inspect import Parameter, signature
from pathlib import Path

import pytest

from satchel.base.errors import InvalidInput
from satchel.client import open_satchel
from satchel.interfaces.http.ask import named_arguments
from satchel.interfaces.http.public import operations
from satchel.interfaces.operations import Method

_NAMED = {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}
SERVED = {name: one for name, one in operations().items() if not one.only_here and not one.of_program}


def test_a_call_without_a_required_argument_is_refused_by_its_name(tmp_path: Path) -> None:
    with open_satchel(tmp_path / "satchel.db", environ={}) as satchel:
        for name, one in SERVED.items():
            function = one.run.of(satchel) if isinstance(one.run, Method) else one.run
            taken = list(signature(function).parameters.values())[not isinstance(one.run, Method) :]
            required = [each.name for each in taken if each.default is Parameter.empty and each.kind in _NAMED]
            if required:
                with pytest.raises(InvalidInput, match=f"{required[0]}.* is missing"):
                    named_arguments(one, [], {})
            else:
                assert named_arguments(one, [], {}) == {}, name
