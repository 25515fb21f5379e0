"""Proposals for the memory: shared text, documents, rules that an agent recorded for a person."""

from __future__ import annotations

from functools import partial

from satchel.base.errors import Conflict, Refused, SatchelError
from satchel.client import Satchel
from satchel.interfaces.web.request import Done, Page, PageRequest, action, edit_conflict, page

_NO_FILES = (
    "this login cannot read the files of the repository",
    "Log in with `satchel open` on the machine with the repository, or run `satchel share --list` there",
)
_MOST_RULES = 200


@page("/proposals")
def proposals(request: PageRequest) -> Page:
    """Return everything that waits for a person to accept or reject it, with its full text."""
    satchel = request.projects.beside_files(request.project, request.login)
    rules = [one for one in request.reader.constraints.find(limit=_MOST_RULES) if one.unconfirmed]
    standing = None if satchel is None else satchel.shared.standing()
    shared = () if satchel is None or standing is None or not standing.waiting else satchel.shared.diff().items
    review, problem = None, ""
    if satchel is not None:
        try:
            review = satchel.documents.review()
        except SatchelError as error:  # no documents, or none that git tracks
            problem = f"{error.problem}. {error.remedy or ''}".strip()
    data = {"standing": standing, "shared": shared, "documents": review, "rules": rules}
    context = data | {"texts": review.proposals if review else (), "has_files": satchel is not None, "problem": problem}
    return Page("Proposals", "proposals.html", context, data, "/memory")


@action("/items/{ref}/share", "Its file was written; commit it", "/items/{ref}/unshare")
def share(request: PageRequest) -> Done:
    result = _beside_files(request).shared.share([request.path["ref"]])
    if result.refused:
        raise Conflict(f"{result.refused[0][0]} cannot be shared: {result.refused[0][1]}", "Nothing was written")
    return Done(request.path["ref"])


@action("/items/{ref}/unshare", "No longer shared; commit its file")
def unshare(request: PageRequest) -> Done:
    _beside_files(request).shared.unshare([request.path["ref"]])
    return Done(request.path["ref"])


def _settle_shared(verb: str, request: PageRequest) -> Done:
    """Accept or reject a pending text, if it is the one on the page."""
    uid, digest, texts = request.values.get("uid", ""), request.values.get("digest", ""), _beside_files(request).shared
    try:
        result = getattr(texts, verb)([uid], seen=[digest])
    except Conflict as error:
        current = next((one for one in texts.diff([uid]).items), None)
        if current is None or current.digest == digest:
            raise
        theirs, button = {"Current text": "\n".join(current.lines)}, f"{verb.capitalize()} this"
        raise edit_conflict(request, error.problem, theirs, f"/shared/{verb}", button, digest=current.digest) from None
    if result.failed:
        raise Conflict(f"{result.failed[0][0]}: {result.failed[0][1]}", "It is still pending")
    return Done(result.items[0].ref or "", f"{request.here}/proposals")


def _settle_documents(verb: str, request: PageRequest) -> Done:
    """Accept or reject texts of documents, if they are those on the page."""
    documents, refs = _beside_files(request).documents, request.values.get("refs", "").splitlines()
    # what stands in the document now has to be what the page showed
    digests = {one.ref: one.digest for one in documents.review().proposals}
    seen = dict(one.rsplit(" ", 1) for one in refs if " " in one)
    if not seen or any(digests.get(ref) != digest for ref, digest in seen.items()):
        raise Conflict("the document has changed since the page was made", "Reload the page and read it again")
    getattr(documents, verb)(list(seen))
    return Done("", f"{request.here}/proposals")


for _verb, _notice in (
    ("accept", "Accepted; retract or change it to undo that"),
    ("reject", "Rejected, until it changes"),
):
    action(f"/shared/{_verb}", _notice)(partial(_settle_shared, _verb))
    action(f"/documents/{_verb}", _notice)(partial(_settle_documents, _verb))


def _beside_files(request: PageRequest) -> Satchel:
    """Return the project with its files.

    Raises:
        Refused: the server has no files of it, or the login is by a token.
    """
    satchel = request.projects.beside_files(request.project, request.login)
    if satchel is None:
        raise Refused(*_NO_FILES)
    return satchel
