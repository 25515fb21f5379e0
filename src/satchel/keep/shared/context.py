"""Common parts of all operations on shared texts: place, reading and transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from satchel.base import git_trees
from satchel.base.errors import Refused
from satchel.base.records import dataclass, replace
from satchel.keep import projects
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import is_by_person
from satchel.keep.shared import known as states
from satchel.keep.shared import listing
from satchel.keep.shared.folder import Folder
from satchel.keep.shared.items import mask_of
from satchel.keep.shared.looking import BELOW, Place, Reading, last_reading, place_of
from satchel.keep.shared.records import SharedItem
from satchel.keep.shared.survey import Survey
from satchel.keep.shared.world import World, read_world


@dataclass(frozen=True, slots=True)
class Context:
    """A workplace and its shared texts.

    Attributes:
        root: the folder that contains ``.satchel/shared``.
        branch: the configured default branch, or None.
        accepts: whether texts of the default branch are accepted automatically.
    """

    workplace: Workplace
    root: str
    branch: str | None
    accepts: bool

    @property
    def folder(self) -> Folder:
        return Folder(self.root)

    @property
    def is_person(self) -> bool:
        """Return whether the caller is a person."""
        return is_by_person(self.workplace, self.workplace.agent)

    def refuse_agents(self, doing: str) -> None:
        """Refuse what only a person may do; ``doing`` is its verb, such as "accepts"."""
        if not self.is_person:
            caller = self.workplace.caller
            problem = f"only a person {doing} shared texts by others"
            remedy = "Ask your user to run `satchel proposals` in a terminal"
            raise Refused(problem, remedy) if caller is None else caller.refuse_agent(problem, remedy)

    def look(self) -> tuple[Place, World]:
        """Read the repository."""
        place = place_of(self.root, self.branch)
        return place, read_world(place, self.last_commit())

    def last_commit(self) -> str | None:
        """Return the latest commit of the default branch that was read."""
        work = self.workplace
        if not work.engine.exists():
            return None
        with projects.reading(work) as (transaction, project):
            last = None if project is None else last_reading(transaction, project.id)
        return None if last is None else last.commit

    @contextmanager
    def surveyed(self, place: Place, world: World, *, write: bool) -> Iterator[Survey]:
        """Open a transaction with a survey."""
        work, mask = self.workplace, mask_of(self.workplace.root)
        if write:
            with projects.writing(work) as (transaction, project, _):
                yield Survey(transaction, project.id, work, place, world, mask)
        else:
            with projects.reading(work) as (transaction, existing):
                yield Survey(transaction, -1 if existing is None else existing.id, work, place, world, mask)

    def authors(self, survey: Survey, uids: Sequence[str]) -> dict[str, git_trees.Author]:
        """Return the last authors of the files of existing items, by file name."""
        commit = survey.world.commit
        if commit is None or not any(survey.incoming[uid].why != states.NEW for uid in uids):
            return {}
        return git_trees.authors(survey.place.root, commit, BELOW)

    def accept_committed(
        self, survey: Survey, *, dry_run: bool, whys: Collection[int] = states.WHYS
    ) -> tuple[list[SharedItem], list[str]]:
        """Accept texts of the default branch as configured, if they wait for one of the reasons ``whys``; return them
        and notes.
        """
        if not self.accepts:
            return [], []
        uids = [uid for uid, news in survey.incoming.items() if news.is_committed and news.why in whys]
        authors = self.authors(survey, uids)
        items: list[SharedItem] = []
        notes: list[str] = []
        for uid in sorted(uids, key=lambda one: (survey.incoming[one].found.text.time, one)):
            if survey.reason(uid) not in whys:
                continue
            item = listing.waiting_item(survey, uid, is_person=self.is_person)
            if not dry_run:
                news = survey.incoming[uid]
                done = survey.accept(uid, authors.get(news.found.name))
                if done.failure is not None:
                    notes.append(f"{item.file or uid[:8]}: {done.failure}")
                    continue
                notes += done.notes
                if news.why == states.BOTH:
                    notes.append(f"{survey.ref(done.uid)} was also changed here: theirs wins, the local state is kept")
                item = replace(item, ref=survey.ref(done.uid))
            items.append(replace(item, state="taken", why=None))
        return items, list(dict.fromkeys(notes))


def record(survey: Survey, *, changed: bool, is_whole: bool = True) -> None:
    """Save the survey and the time of the reading.

    ``changed``: files or items changed since they were listed. ``is_whole``: the next sync may skip an unchanged
    repository.
    """
    survey.save()
    world = survey.world
    last = last_reading(survey.transaction, survey.project)
    commit = world.commit
    if last is not None and (world.is_behind or commit is None):
        commit = last.commit
    row = survey.transaction.one("SELECT seq FROM projects WHERE id = :id", {"id": survey.project})
    reading = Reading(
        commit=commit,
        look=b"" if changed else survey.place.look,
        stamp=b"" if changed or survey.problems or not is_whole else world.listing.stamp,
        seq=int(row[0]) if row else 0,
    )
    if reading != last:
        states.record_reading(survey.transaction, survey.project, reading)
