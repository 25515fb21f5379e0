"""Text of a file view: who holds and changed the file, what binds it, and the newest notes on it."""

from __future__ import annotations

from satchel.base.paging import Page
from satchel.interfaces.text.entries import entry_line, readable
from satchel.interfaces.text.files import checked_text
from satchel.interfaces.text.lists import When, single_lines
from satchel.interfaces.text.parts import counted, json_line
from satchel.interfaces.text.rules import binding_text
from satchel.keep.binding import FileBinding
from satchel.keep.file_views import FileView


def view_lines(view: FileView, when: When) -> list[str]:
    lines = checked_text(view.checked, when).splitlines()
    if view.bound:
        lines += binding_text(
            FileBinding(view.file, Page(view.bindings, view.bound, 0, len(view.bindings)))
        ).splitlines()
    count, total = len(view.entries), view.noted
    rest = f", the newest {count}; search(file={json_line(view.file)}) lists all" if count < total else ""
    missing = [] if view.bound else ["no rule or decision binds it"]
    lines.append("; ".join([*missing, f"{counted(total, 'note') if total else 'no notes'} on it{rest}"]))
    for entry in view.entries:
        lines += single_lines(entry_line(entry, content=readable(entry)), when)
    return lines
