"""What everything that is done with the shared text has in common: where it stands, one reading, one transaction."""

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
    """A workplace and its shared text.

    Attributes:
        root: the folder that ``.satchel/shared`` lies below.
        branch: the default branch as it was configured, or None.
        accepts: whether what the default branch says is taken without asking.
    """

    workplace: Workplace
    root: str
    branch: str | None
    accepts: bool

    @property
    def folder(self) -> Folder:
        """The folder itself."""
        return Folder(self.root)

    @property
    def is_person(self) -> bool:
        """Whether a person asks."""
        return is_by_person(self.workplace, self.workplace.agent)

    def refuse_agents(self, doing: str) -> None:
        """Refuse what is for a person to do.

        Args:
            doing: what that is, as in "accepts".

        Raises:
            Refused: somebody else asks.
        """
        if not self.is_person:
            caller = self.workplace.caller
            problem = f"only a person {doing} what others wrote into the shared text"
            remedy = "Ask your user to run `satchel proposals` in a terminal"
            raise Refused(problem, remedy) if caller is None else caller.refuse_agent(problem, remedy)

    def look(self) -> tuple[Place, World]:
        """Read what the repository says."""
        place = place_of(self.root, self.branch)
        return place, read_world(place, self.last_commit())

    def last_commit(self) -> str | None:
        """Return the furthest commit of the default branch that was read."""
        work = self.workplace
        if not work.engine.exists():
            return None
        with projects.reading(work) as (transaction, project):
            last = None if project is None else last_reading(transaction, project.id)
        return None if last is None else last.commit

    @contextmanager
    def surveyed(self, place: Place, world: World, *, write: bool) -> Iterator[Survey]:
        """Open a transaction in which things stand as a survey says."""
        work, mask = self.workplace, mask_of(self.workplace.root)
        if write:
            with projects.writing(work) as (transaction, project, _):
                yield Survey(transaction, project.id, work, place, world, mask)
        else:
            with projects.reading(work) as (transaction, found):
                yield Survey(transaction, -1 if found is None else found.id, work, place, world, mask)

    def authors(self, survey: Survey, uids: Sequence[str]) -> dict[str, git_trees.Author]:
        """Return who changed files last, by their names, where that matters: where an item is here already."""
        commit = survey.world.commit
        if commit is None or not any(survey.incoming[uid].why != states.NEW for uid in uids):
            return {}
        return git_trees.authors(survey.place.root, commit, BELOW)

    def accept_committed(
        self, survey: Survey, *, dry_run: bool, whys: Collection[int] = states.WHYS
    ) -> tuple[list[SharedItem], list[str]]:
        """Take what the default branch says, where the user's configuration lets it in; return that, and notes.

        Args:
            whys: why it may wait.
        """
        if not self.accepts:
            return [], []
        chosen = [uid for uid, news in survey.incoming.items() if news.is_committed and news.why in whys]
        authors = self.authors(survey, chosen)
        items: list[SharedItem] = []
        notes: list[str] = []
        for uid in sorted(chosen, key=lambda one: (survey.incoming[one].found.text.time, one)):
            item = listing.waiting_item(survey, uid, is_person=self.is_person)
            if not dry_run:
                news = survey.incoming[uid]
                done = survey.accept(uid, authors.get(news.found.name))
                if done.failure is not None:
                    notes.append(f"{item.file or uid[:8]}: {done.failure}")
                    continue
                notes += done.notes
                if news.why == states.BOTH:
                    notes.append(f"{survey.ref(done.uid)} was changed here too: theirs holds, ours is kept")
                item = replace(item, ref=survey.ref(done.uid))
            items.append(replace(item, state="taken", why=None))
        return items, list(dict.fromkeys(notes))


def record(survey: Survey, *, changed: bool, is_whole: bool = True) -> None:
    """Save what is known, and that the repository was read.

    Args:
        changed: whether files or items were changed meanwhile, so that what was listed before says nothing.
        is_whole: whether the next sync may pass over all where nothing changed.
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
