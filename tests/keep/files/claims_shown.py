"""Claims and changes as an agent sees them, and a secret that it may never see."""

from __future__ import annotations

from typing import Any

from satchel import Claim, FileChange, Satchel
from satchel.base.paging import KeptPage
from satchel.keep import expiry, projects
from satchel.keep.files import claims
from satchel.keep.files.places import check_place
from satchel.keep.sessions.actors import acting

MINUTE = 60_000
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def numbers(page: KeptPage[FileChange]) -> list[int]:
    """Return the numbers of changes, in the order of their page."""
    return [change.id for change in page.items]


def held(satchel: Satchel, **filters: Any) -> list[tuple[str, str]]:
    """Who holds what, in the order it was claimed."""
    return [(claim.agent, claim.path) for claim in satchel.files.claims(**filters).items[::-1]]


def claim_automatically(satchel: Satchel, *paths: str, minutes: int = 5, agent: str | None = None) -> tuple[Claim, ...]:
    """Claim paths as a hook does."""
    work = satchel.workplace
    with projects.writing(work) as (transaction, project, now):
        by = claims.Claimant(transaction, project.id, acting(transaction, work, project.id, agent, now), now)
        expiry.end_expired(transaction, project.id, now)
        wanted = {check_place(work, path, "path"): None for path in paths}
        overlaps = claims.find_overlaps(by, list(wanted))
        return claims.grant(by, wanted, overlaps, claims.Terms(minutes, automatic=True)).claims
