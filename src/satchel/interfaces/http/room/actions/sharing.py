"""The shared text: giving items into it, and deciding about what others wrote."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import Conflict, Refused
from satchel.interfaces.http.room.asking import Action, Asked, Done, Said, changed
from satchel.keep.shared.service import SharedTexts

NOT_HERE = (
    "this login does not reach the files of the repository",
    "Log in by `satchel open` on the machine with the repository, or run `satchel proposals` there",
)


def texts(asked: Asked) -> SharedTexts:
    """Return the shared text of the project.

    Raises:
        Refused: the server has no files of it, or the login is for a token.
    """
    satchel = asked.projects.beside_files(asked.place, asked.login)
    if satchel is None:
        raise Refused(*NOT_HERE)
    return satchel.shared


def share(asked: Asked) -> Done:
    """Write the file of an item; git carries it once it is committed."""
    done = texts(asked).share([asked.path["ref"]])
    if done.refused:
        raise Conflict(f"{done.refused[0][0]} is not shared: {done.refused[0][1]}", "Nothing was written")
    return Done("shared", asked.path["ref"])


def unshare(asked: Asked) -> Done:
    """Write into the file of an item that it is no longer shared."""
    texts(asked).unshare([asked.path["ref"]])
    return Done("unshared", asked.path["ref"])


def accept(asked: Asked) -> Done:
    """Let a text that waits hold, if it is the one that was read."""
    return _decided(asked, "accept")


def reject(asked: Asked) -> Done:
    """Pass over a text that waits, if it is the one that was read."""
    return _decided(asked, "reject")


def _decided(asked: Asked, what: str) -> Done:
    uid, seen = asked.given.get("uid", ""), asked.given.get("digest", "")
    shared = texts(asked)
    try:
        done = getattr(shared, what)([uid], seen=[seen])
    except Conflict as error:
        now = next((one for one in shared.diff([uid]).items), None)
        if now is None or now.digest == seen:
            raise
        sent = {**asked.given, "digest": now.digest}
        again = Asked(asked.projects, asked.login, asked.project, sent, asked.path)
        theirs = {"It says now": "\n".join(now.lines)}
        raise changed(again, error.problem, theirs, f"/shared/{what}", f"{what.capitalize()} that") from None
    if done.failed:
        raise Conflict(f"{done.failed[0][0]}: {done.failed[0][1]}", "It still waits")
    return Done(f"{what}ed", done.items[0].ref or "", f"{asked.here}/shared")


ACTIONS: Mapping[str, Action] = {
    "/items/{ref}/share": share,
    "/items/{ref}/unshare": unshare,
    "/shared/accept": accept,
    "/shared/reject": reject,
}
SAID: Mapping[str, Said] = {
    "shared": Said("Its file was written; commit it", "/items/{ref}/unshare"),
    "unshared": Said("Its file says that it is no longer shared"),
    "accepted": Said("Accepted: it holds; retract it or set it anew to take that back"),
    "rejected": Said("Passed over, until it changes"),
}
