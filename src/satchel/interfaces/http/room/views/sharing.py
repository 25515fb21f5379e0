"""The page of the shared text: what waits, beside what is here."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.http.room.actions.sharing import NOT_HERE
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.keep.shared.records import WAITS


def shared(asked: Asked) -> Page:
    """Return how the shared text stands: what waits as a difference, and what else differs."""
    satchel = asked.projects.beside_files(asked.place, asked.login)
    title = f"Shared text of {asked.place.name}"
    if satchel is None:
        data = {"is_here": False, "problem": NOT_HERE[0], "remedy": NOT_HERE[1]}
        return Page(title, "shared.html", data, data, asked.place)
    stands = satchel.shared.standing()
    waiting = satchel.shared.diff().items if stands.waiting else ()
    others = [one for one in stands.items if one.state != WAITS]
    context = {"is_here": True, "stands": stands, "waiting": waiting, "others": others}
    return Page(title, "shared.html", context, {"is_here": True, "standing": stands, "waiting": waiting}, asked.place)


PAGES: Mapping[str, View] = {"/shared": shared}
