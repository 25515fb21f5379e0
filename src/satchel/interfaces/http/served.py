"""The operations by the names that the JSON API has for them."""

from __future__ import annotations

from functools import cache

from satchel.base.errors import NotFound, nearest
from satchel.interfaces.operations.declaration import Operation


@cache
def operations() -> dict[str, Operation]:
    """Return every operation, and what giving a parameter of it chooses instead, by its name."""
    from satchel.interfaces.operations.all import OPERATIONS

    found: dict[str, Operation] = {}
    for one in OPERATIONS:
        for operation in (one, *one.instead.values()):
            found.setdefault(operation.name, operation)
    return found


def operation_named(name: str) -> Operation:
    """Return an operation.

    Raises:
        NotFound: there is none of that name.
    """
    found = operations().get(name)
    if found is None:
        close = nearest(name, operations())
        raise NotFound(
            f"there is no operation {name[:80]!r}",
            f"Did you mean {close}?" if close else "GET /api/openapi.json lists them all",
        )
    return found
