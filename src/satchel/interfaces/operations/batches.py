"""What agents may give one by one, or several in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.interfaces.operations.declaration import Parameter, schema_of


def items_of(
    tool: str,
    fields: Sequence[Parameter],
    given: Mapping[str, object],
    name: str,
    several: Sequence[Mapping[str, object]] | None,
) -> list[dict[str, Any]]:
    """Return the items that a call gives, each checked: one by its fields, or several.

    Args:
        fields: what an item takes.
        given: the fields of one; beside several those that all share, but for what an item says itself.
        name: the parameter that takes several, and ``several`` what it was given.

    Raises:
        InvalidInput: beside several stands what only one can have, or an item is not acceptable; it is named by its
            place.
    """
    if several is None and all(one.name in given for one in fields if one.required):
        return [dict(given)]
    # people give one at a time, and what agents give was checked but for what a batch would do without
    from satchel.interfaces.mcp.schema import check_arguments

    schema = schema_of(fields)
    if several is None:
        return [check_arguments(schema, given, tool)]
    own = [one.name for one in fields if one.required and not one.choices and one.name in given]
    if own:
        raise InvalidInput(
            f"{name} was given beside {', '.join(own)}",
            f"Put each into {name}; only what all share may stand beside it",
        )
    return [check_arguments(schema, {**given, **item}, tool, f"{name}[{place}].") for place, item in enumerate(several)]
