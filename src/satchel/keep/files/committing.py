"""Which files of a commit others have claimed: claims are few and files may be many, so the claims are gone through."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from satchel.base.project_paths import ignores_letter_case
from satchel.keep import paths, projects
from satchel.keep.files import claims
from satchel.keep.files.presence import is_anything_claimed
from satchel.keep.files.records import Claim, CommitCheck
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import reading


def check(work: Workplace, names: Sequence[str], *, denies: bool) -> CommitCheck:
    """Say which files others have claimed: see :meth:`satchel.keep.files.service.Files.check_commit`."""
    with work.engine.read() as transaction:
        now = work.clock()
        project = projects.find(transaction, work)
        if project is None or not is_anything_claimed(transaction, project.id, now):
            return CommitCheck((), (), False, now)
        actor = reading(transaction, work, project.id, work.agent)
        others = claims.of_others_in(transaction, project.id, actor, work.worktree, now)
    folds = work.files_root is not None and ignores_letter_case(work.files_root)
    spelled = {_compared(name, folds=folds): name for name in names}
    ordered = sorted(spelled)
    explicit: dict[str, Claim] = {}
    hinted: dict[str, Claim] = {}
    for held in others:
        claim = held.claim
        kept = explicit if claim.exclusive and not claim.automatic else hinted
        for name in _covered(_compared(claim.path, folds=folds), ordered, spelled):
            kept.setdefault(spelled[name], claim)
    return CommitCheck(
        tuple(sorted(explicit.items())),
        tuple(sorted((name, claim) for name, claim in hinted.items() if name not in explicit)),
        denies and bool(explicit) and actor.session is not None,
        now,
    )


def _covered(path: str, ordered: Sequence[str], names: Mapping[str, str]) -> Iterator[str]:
    """Yield those of some sorted names that a claim is on."""
    if not paths.is_folder(path):
        if path in names:
            yield path
        return
    folder = path.removesuffix(paths.EVERYTHING)
    if folder[:-1] in names:
        yield folder[:-1]
    for name in ordered[bisect_left(ordered, folder) :]:
        if not name.startswith(folder):
            return
        yield name


def _compared(name: str, *, folds: bool) -> str:
    """Return a name as it is compared: paths are kept in NFC."""
    name = name if name.isascii() else unicodedata.normalize("NFC", name)
    return name.casefold() if folds else name
