"""Items of any kind by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.interfaces.operations import services, text
from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.parameters import AGENT_UNLISTED

if TYPE_CHECKING:
    from satchel.keep.items import OpenedItems


def _files(opened: OpenedItems) -> list[str | None]:
    # the text on a file has its claims
    records = [getattr(item.record, "package", item.record) for item in opened.items if item.kind != "file"]
    return [getattr(record, "file", getattr(record, "path", None)) for record in records]


OPERATIONS = (
    Operation(
        tool="get_items",
        toolset="context",
        title="Open items",
        about="Show items of any kind in full by id, a decision with its history by decision:KEY, and by file:PATH who "
        "holds or changed a file, what binds it, and notes on it.",
        found_by="open show read full text details by id memory notes remember recall decision history why was this "
        "chosen who is editing locked free conflict may I edit rules of a file",
        command=("show",),
        help="Show items of any kind in full, by their short ids; a decision with its history as decision:KEY, and all "
        "about a file as file:PATH.",
        examples=("show e14 d1 c3", "show decision:session_ttl file:src/auth.py"),
        parameters=(
            Parameter(
                "ids",
                list[str],
                about="Such as e14, m3, decision:session_ttl, file:src/a.py; up to 20",
                required=True,
                option="ID...",
                passed_as="refs",
                facts="opened",
            ),
            Parameter("offset", int, about="Characters to skip, where an answer said so", option=None),
            AGENT_UNLISTED,
        ),
        run=services.items.read,
        cites=True,
        text=text.items.items_text,
        shown=text.items.whole_text,
        fields=text.items.items_fields,
        names_files=_files,
    ),
)
