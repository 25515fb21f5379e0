"""JSON bodies of requests: checked for depth and size before they are parsed, and large ones off the event loop."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import to_thread

from satchel.base.errors import InvalidInput, TooLarge
from satchel.interfaces.mcp.jsonrpc import MAX_DEPTH

# The most values in a body. A body of the largest size could hold a million, which takes a second to parse and check
# and 100 bytes of memory each, while the interpreter does nothing else.
MAX_VALUES = 50_000

# Bodies up to this size are parsed at once: that takes less time than the way to a thread and back.
_SMALL_BYTES = 16 * 1024

_BRACKET = re.compile(rb"[\[{\]}]")

Result = TypeVar("Result")


async def parse(body: bytes, parser: Callable[[bytes], Result]) -> Result:
    """Check the shape of a JSON body, and return what the parser makes of it."""

    def checked() -> Result:
        check_shape(body)
        return parser(body)

    return checked() if len(body) <= _SMALL_BYTES else await to_thread.run_sync(checked)


def check_shape(body: bytes) -> None:
    """Check how deep a JSON text nests and how many values it holds, without parsing it."""
    if _openings(body) <= MAX_DEPTH and _values(body) <= MAX_VALUES:
        return
    # a string may hold any of these characters
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # a value has at most a name beside it; a regular expression for strings would hold up all threads for half a second
    has_more = unescaped.count(b'"') > 4 * MAX_VALUES
    plain = b"" if has_more else b"".join(unescaped.split(b'"')[::2])
    if has_more or _values(plain) > MAX_VALUES:
        raise TooLarge(f"the body holds more than {MAX_VALUES:,} values", "Send fewer at once")
    depth = 0
    for bracket in _BRACKET.finditer(plain):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MAX_DEPTH:
            raise InvalidInput(f"the body nests deeper than {MAX_DEPTH}", "Send a flatter one")


def members(body: bytes) -> dict[str, Any]:
    """Return the members of a body that is a JSON object, or empty."""
    if not body:
        return {}
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise InvalidInput("the body is no JSON", "Send the arguments as one JSON object") from None
    if not isinstance(value, dict):
        raise InvalidInput("the body is no JSON object", "Send the arguments as one JSON object")
    return value


def _openings(body: bytes) -> int:
    return body.count(b"[") + body.count(b"{")


def _values(body: bytes) -> int:
    return body.count(b",") + _openings(body)
