"""Parameters that agents may pass one by one, or as several items in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.interfaces.operations.declaration import Parameter, schema_of


def items_of(
    tool: str,
    fields: Sequence[Parameter],
    values: Mapping[str, object],
    name: str,
    several: Sequence[Mapping[str, object]] | None,
) -> list[dict[str, Any]]:
    """Return the checked items of a call: one from its fields, or several."""
    if several is None and all(one.name in values for one in fields if one.required):
        return [dict(values)]
    # people pass one at a time, and agents' arguments were checked except for those that a batch makes optional
    from satchel.interfaces.mcp.schema import check_arguments

    schema = schema_of(fields)
    if several is None:
        return [check_arguments(schema, values, tool)]
    own = [one.name for one in fields if one.required and not one.choices and one.name in values]
    if own:
        raise InvalidInput(
            f"{name} was given beside {', '.join(own)}",
            f"Put each into {name}; only what all share may stand beside it",
        )
    return [
        check_arguments(schema, {**values, **item}, tool, f"{name}[{place}].") for place, item in enumerate(several)
    ]
