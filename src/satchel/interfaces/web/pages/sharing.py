"""Text shared through git: sharing items, and accepting or rejecting the text of others."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import Conflict, Refused
from satchel.interfaces.web.request import Action, ActionResult, Notice, Page, PageRequest, View, edit_conflict
from satchel.keep.shared.records import WAITS
from satchel.keep.shared.service import SharedTexts

_NO_FILES = (
    "this login cannot read the files of the repository",
    "Log in with `satchel open` on the machine with the repository, or run `satchel proposals` there",
)


def shared(request: PageRequest) -> Page:
    """Return the state of the shared text: pending text as a difference, and other differences."""
    satchel = request.projects.beside_files(request.project, request.login)
    title = f"Shared text of {request.project.name}"
    if satchel is None:
        data = {"is_here": False, "problem": _NO_FILES[0], "remedy": _NO_FILES[1]}
        return Page(title, "shared.html", data, data, request.project)
    standing = satchel.shared.standing()
    waiting = satchel.shared.diff().items if standing.waiting else ()
    others = [one for one in standing.items if one.state != WAITS]
    context = {"is_here": True, "standing": standing, "waiting": waiting, "others": others}
    data = {"is_here": True, "standing": standing, "waiting": waiting}
    return Page(title, "shared.html", context, data, request.project)


def share(request: PageRequest) -> ActionResult:
    """Write the file of an item."""
    result = _texts(request).share([request.path["ref"]])
    if result.refused:
        raise Conflict(f"{result.refused[0][0]} cannot be shared: {result.refused[0][1]}", "Nothing was written")
    return ActionResult("shared", request.path["ref"])


def unshare(request: PageRequest) -> ActionResult:
    """Mark the file of an item as no longer shared."""
    _texts(request).unshare([request.path["ref"]])
    return ActionResult("unshared", request.path["ref"])


def accept(request: PageRequest) -> ActionResult:
    """Accept a pending text, if it is the one on the page."""
    return _settle(request, "accept")


def reject(request: PageRequest) -> ActionResult:
    """Reject a pending text, if it is the one on the page."""
    return _settle(request, "reject")


PAGES: Mapping[str, View] = {"/shared": shared}
ACTIONS: Mapping[str, Action] = {
    "/items/{ref}/share": share,
    "/items/{ref}/unshare": unshare,
    "/shared/accept": accept,
    "/shared/reject": reject,
}
NOTICES: Mapping[str, Notice] = {
    "shared": Notice("Its file was written; commit it", "/items/{ref}/unshare"),
    "unshared": Notice("No longer shared; commit its file"),
    "accepted": Notice("Accepted; retract or change it to undo that"),
    "rejected": Notice("Rejected, until it changes"),
}


def _texts(request: PageRequest) -> SharedTexts:
    """Return the shared text of the project.

    Raises:
        Refused: the server has no files of it, or the login is by a token.
    """
    satchel = request.projects.beside_files(request.project, request.login)
    if satchel is None:
        raise Refused(*_NO_FILES)
    return satchel.shared


def _settle(request: PageRequest, verb: str) -> ActionResult:
    uid, digest = request.values.get("uid", ""), request.values.get("digest", "")
    texts = _texts(request)
    try:
        result = getattr(texts, verb)([uid], seen=[digest])
    except Conflict as error:
        now = next((one for one in texts.diff([uid]).items), None)
        if now is None or now.digest == digest:
            raise
        theirs, button = {"Current text": "\n".join(now.lines)}, f"{verb.capitalize()} this"
        raise edit_conflict(request, error.problem, theirs, f"/shared/{verb}", button, digest=now.digest) from None
    if result.failed:
        raise Conflict(f"{result.failed[0][0]}: {result.failed[0][1]}", "It is still pending")
    return ActionResult(f"{verb}ed", result.items[0].ref or "", f"{request.here}/shared")
