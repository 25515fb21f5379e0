"""The shared text of a project: share items, bring store and files in step, accept what others wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from satchel.base import git_trees
from satchel.base.errors import Conflict, InvalidInput, NotFound, Refused, unknown_name
from satchel.base.records import replace
from satchel.keep import projects
from satchel.keep.kinds import read_ref
from satchel.keep.moving.lines import lines_of
from satchel.keep.sessions.actors import is_by_person, reader_name
from satchel.keep.shared import known as states
from satchel.keep.shared import listing, merging
from satchel.keep.shared.folder import Folder, Skipped
from satchel.keep.shared.items import Mask, mask_of, secrets_in, text_of, why_not
from satchel.keep.shared.looking import BELOW, Place, Reading, last_reading, may_be_news, place_of
from satchel.keep.shared.markdown import SHAPES, SharedText, file_name, render
from satchel.keep.shared.records import (
    Accepted,
    Checked,
    Differences,
    Problem,
    SharedItem,
    SharedList,
    Sharing,
    Synced,
)
from satchel.keep.shared.rules import CHOSEN, RULES
from satchel.keep.shared.survey import KINDS, Survey
from satchel.keep.shared.world import World, read_world

if TYPE_CHECKING:
    from satchel.base.config import Config
    from satchel.keep.projects import Workplace

_LEAST_OF_UID = 4


class SharedTexts:
    """The shared text of a project: ``.satchel/shared`` in its repository.

    Args:
        config: whose ``share.accept`` and ``share.branch`` count.
    """

    def __init__(self, workplace: Workplace, config: Config) -> None:
        self._workplace = workplace
        self._accepts = config.share_accept
        self._branch = config.share_branch

    # -- what anybody may do

    def share(self, refs: Sequence[str] = (), *, rule: Sequence[str] = (), dry_run: bool = False) -> Sharing:
        """Write files for items, which are kept in step from then on; nothing is committed.

        Args:
            refs: short ids of decisions, rules, errors, strategies and notes.
            rule: names of :data:`RULES`: all that there is of each.
            dry_run: write nothing.

        Returns:
            What was written, and what was not and why: it holds a secret, belongs to one task, or a text waits.

        Raises:
            InvalidInput: nothing is named, or no such rule.
            NotFound: the project has no such item.
            Refused: the files cannot be written.
        """
        unknown = next((one for one in rule if one not in RULES), None)
        if unknown is not None:
            raise unknown_name("rule", unknown, RULES)
        if not refs and not rule:
            raise InvalidInput("nothing is named to be shared", "Give ids such as d12, or --rule decisions")
        place, world, folder = self._look()
        written: list[SharedItem] = []
        refused: list[tuple[str, str]] = []
        notes: list[str] = []
        with self._surveyed(place, world, write=not dry_run) as survey:
            for kind, numbers in self._chosen(survey, refs, rule).items():
                lines = lines_of(survey.transaction, survey.project, kind, numbers)
                for number in numbers:
                    ref = KINDS[kind].ref(number)
                    reason = why_not(lines[number])
                    text = None if reason is not None else text_of(lines[number], self._mask)
                    if text is not None:
                        reason = self._hindrance(survey, text)
                    if text is None or reason is not None:
                        refused.append((ref, reason or ""))
                        continue
                    name = self._file_of(survey, text)
                    if not dry_run:
                        folder.write(name, render(text))
                        survey.look_again(text.uid)
                        survey.wrote(text.uid, text, name)
                    written.append(listing.item_of(text, ref, name, "in step"))
            if not dry_run:
                survey.save()
        if written and not dry_run:
            notes += filter(None, (folder.let_git_see(),))
        return Sharing(tuple(written), tuple(refused), tuple(notes), not dry_run)

    def unshare(self, refs: Sequence[str], *, dry_run: bool = False) -> Sharing:
        """Write into items' files that they are no longer shared; what others have accepted stays with them.

        Args:
            refs: short ids, names of files, or beginnings of uids.
            dry_run: write nothing.

        Raises:
            InvalidInput, NotFound: no such item is shared.
            Refused: the files cannot be written.
        """
        if not refs:
            raise InvalidInput("nothing is named", "Give ids such as d12; satchel shared --all lists what is shared")
        place, world, folder = self._look()
        author = reader_name(self._workplace, None)
        written = []
        with self._surveyed(place, world, write=not dry_run) as survey:
            for uid in self._named(survey, refs):
                known = survey.known.get(uid)
                found = world.here.get(uid) or world.committed.get(uid)
                if (known is None or not known.is_shared) and (found is None or found.text.is_gone):
                    raise NotFound(f"{survey.ref(uid) or uid[:8]} is not shared", "satchel shared --all lists what is")
                kind = known.kind if known is not None else found.text.kind if found is not None else ""
                before = survey.text(uid) if uid in survey.ours else None if found is None else found.text
                name = found.name if found is not None else known.file if known is not None else None
                stone = SharedText(kind, uid, author, self._workplace.clock(), is_gone=True)
                name = name or file_name(stone)
                written.append(listing.item_of(before or stone, survey.ref(uid), name, "no longer shared"))
                if not dry_run:
                    folder.write(name, render(stone))
                    survey.wrote_tombstone(stone, name)
            if not dry_run:
                survey.save()
        return Sharing(tuple(written), (), (), not dry_run)

    def sync(self, *, dry_run: bool = False, resolve: str | None = None) -> Synced:
        """Bring store and files in step, both ways; nothing is committed, and what others wrote waits.

        Args:
            dry_run: only say what would be done.
            resolve: which text stands in files in which git left two: ``ours``, ``theirs``, or ``both``.

        Raises:
            InvalidInput: ``resolve`` is something else.
            Refused: the files cannot be written.
        """
        if resolve is not None and resolve not in merging.WAYS:
            raise unknown_name("way to resolve", resolve, merging.WAYS)
        place = self._place()
        folder = Folder(place.root)
        files = folder.list()
        quick = None if resolve is not None else self._nothing_new(place, files.stamp)
        if quick is not None:
            return quick
        last = self._last_commit()
        world = read_world(place, last, files)
        resolved: tuple[str, ...] = ()
        if resolve is not None and world.conflicts:
            resolved = merging.resolve(folder, world.conflicts, resolve, dry_run=dry_run)
            world = world if dry_run else read_world(place, last)
        with self._surveyed(place, world, write=not dry_run) as survey:
            ended = survey.settle()
            taken, notes = self._accept_committed(survey, dry_run=dry_run)
            waiting = listing.waiting_items(survey, self._is_person)
            written = []
            for uid, ours in survey.to_write():
                text = survey.text(uid)
                name = world.here[uid].name
                secret = secrets_in(text)
                if secret:
                    notes.append(f"{survey.ref(uid)} holds a secret ({secret[0]}); its file was left as it is")
                    continue
                written.append(listing.item_of(text, KINDS[ours.kind].ref(ours.number), name, "in step"))
                if not dry_run:
                    folder.write(name, render(text))
                    survey.wrote(uid, text, name)
            for uid in survey.to_end():
                found = world.here[uid]
                stone = SharedText(found.text.kind, uid, None, found.text.time, is_gone=True)
                written.append(listing.item_of(found.text, None, found.name, "no longer shared"))
                if not dry_run:
                    folder.write(found.name, render(stone))
                    survey.wrote_tombstone(stone, found.name)
            in_step = sum(known.is_shared for known in survey.known.values()) - len(written) * dry_run
            if not dry_run:
                self._record(survey, place, world, written=bool(written))
        if written and not dry_run:
            notes += filter(None, (folder.let_git_see(),))
        return Synced(
            written=tuple(written),
            taken=tuple(taken),
            waiting=waiting,
            ended=tuple(ended),
            in_step=in_step,
            problems=_problems(world.problems),
            resolved=resolved,
            notes=tuple(notes),
            done=not dry_run,
        )

    def read_news(self) -> None:
        """Read what the repository says, where the look at folder and branches tells that it may be news.

        What waits is counted from then on, and what ``share.accept`` lets in is taken; no file is written.
        """
        if not may_be_news(self._workplace, self._branch):
            return
        place, last = self._place(), self._last_reading()
        world = read_world(place, None if last is None else last.commit)
        if last is None and not world.committed and not world.here:
            return
        with self._surveyed(place, world, write=True) as survey:
            survey.settle()
            self._accept_committed(survey, dry_run=False)
            self._record(survey, place, world, written=False, is_whole=False)

    def standing(self, refs: Sequence[str] = (), *, all: bool = False) -> SharedList:  # noqa: A002 -- the option's name
        """Return how the shared text stands: what waits, what differs, and with ``all`` the rest.

        Args:
            refs: short ids, names of files, or beginnings of uids; none for everything.
        """
        place, world, _ = self._look()
        with self._surveyed(place, world, write=False) as survey:
            named = set(self._named(survey, refs)) if refs else None
            items = listing.listed(survey, self._is_person, is_all=all or named is not None)
            kept = tuple(one for one in items if named is None or one.uid in named)
            in_step = sum(one.is_shared for one in survey.known.values())
        return SharedList(kept, in_step, place.default, _problems(world.problems))

    # -- what a person decides

    def accept(self, refs: Sequence[str] = (), *, all: bool = False) -> Accepted:  # noqa: A002 -- the option's name
        """Let texts that wait hold; what they replace is kept.

        Args:
            refs: short ids, names of files, or beginnings of uids.
            all: everything that waits.

        Raises:
            Refused: an agent asks.
            InvalidInput, NotFound: nothing is named, or what is does not wait.
        """
        self._refuse_agents("accepts")
        place, world, _ = self._look()
        items: list[SharedItem] = []
        failed: list[tuple[str, str]] = []
        notes: list[str] = []
        with self._surveyed(place, world, write=True) as survey:
            survey.settle()
            chosen = self._waiting(survey, refs, all=all)
            authors = self._authors(survey, chosen)
            for uid in chosen:
                item = listing.waiting_item(survey, uid, is_person=True)
                done = survey.accept(uid, authors.get(survey.incoming[uid].found.name))
                if done.failure is not None:
                    failed.append((item.file or uid, done.failure))
                    continue
                notes += done.notes
                items.append(replace(item, ref=survey.ref(done.uid), state="accepted", why=None))
            self._record(survey, place, world, written=True)
        return Accepted(True, tuple(items), tuple(failed), tuple(dict.fromkeys(notes)))

    def reject(self, refs: Sequence[str] = (), *, all: bool = False) -> Accepted:  # noqa: A002 -- the option's name
        """Pass over texts that wait, until they change; arguments and errors are those of :meth:`accept`."""
        self._refuse_agents("rejects")
        place, world, _ = self._look()
        items = []
        with self._surveyed(place, world, write=True) as survey:
            survey.settle()
            for uid in self._waiting(survey, refs, all=all):
                items.append(replace(listing.waiting_item(survey, uid, is_person=True), state="rejected", why=None))
                survey.reject(uid)
            self._record(survey, place, world, written=True)
        return Accepted(False, tuple(items), (), ())

    def diff(self, refs: Sequence[str] = (), *, all: bool = False) -> Differences:  # noqa: A002 -- the option's name
        """Return the texts that wait, beside ours; arguments and errors are those of :meth:`accept`."""
        self._refuse_agents("reads")
        place, world, _ = self._look()
        with self._surveyed(place, world, write=False) as survey:
            chosen = self._waiting(survey, refs, all=all or not refs)
            return Differences(tuple(listing.difference(survey, uid) for uid in chosen))

    def check(self) -> Checked:
        """Say whether the files of this worktree are what the program would write, as for a build that is to fail.

        No store is needed.
        """
        folder = Folder(self._root())
        files = folder.list()
        problems = [*files.skipped]
        uids: dict[str, str] = {}
        keys: dict[tuple[str, str], str] = {}
        for name in files.names:
            problems += [
                Skipped(folder.shown(name), problem, line)
                for line, problem in listing.faults(name, folder.read(name), uids, keys)
            ]
        return Checked(len(files.names), _problems(problems))

    # -- parts

    @property
    def _mask(self) -> Mask:
        return mask_of(self._workplace.root)

    @property
    def _is_person(self) -> bool:
        return is_by_person(self._workplace, self._workplace.agent)

    def _root(self) -> str:
        root = self._workplace.files_root
        if root is None:
            raise Refused(
                "this store belongs to no folder, so there is no place for a shared text", "Work in a project"
            )
        return root

    def _place(self) -> Place:
        return place_of(self._root(), self._branch)

    def _look(self) -> tuple[Place, World, Folder]:
        place = self._place()
        return place, read_world(place, self._last_commit()), Folder(place.root)

    def _last_reading(self) -> Reading | None:
        work = self._workplace
        if not work.engine.file.exists():
            return None
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            return None if project is None else last_reading(transaction, project.id)

    def _last_commit(self) -> str | None:
        last = self._last_reading()
        return None if last is None else last.commit

    @contextmanager
    def _surveyed(self, place: Place, world: World, *, write: bool) -> Iterator[Survey]:
        work = self._workplace
        if write:
            with work.engine.write() as transaction:
                project = projects.ensure(transaction, work, work.clock())
                yield Survey(transaction, project.id, work, place, world, self._mask)
            return
        with work.engine.read() as transaction:
            found = projects.find(transaction, work)
            yield Survey(transaction, -1 if found is None else found.id, work, place, world, self._mask)

    def _nothing_new(self, place: Place, stamp: bytes) -> Synced | None:
        """Return what a sync says where nothing has changed since the last one; None where something may have."""
        work = self._workplace
        if not work.engine.file.exists():
            return None
        with work.engine.read() as transaction:
            project = projects.find(transaction, work)
            last = None if project is None else last_reading(transaction, project.id)
            if project is None or last is None or (last.look, last.stamp, last.seq) != (place.look, stamp, project.seq):
                return None
            row = transaction.one(
                "SELECT count(*), count(waiting) FROM shared_texts "
                "WHERE project_id = :project AND (in_step IS NOT NULL OR waiting IS NOT NULL)",
                {"project": project.id},
            )
            if row is None or row[1]:
                return None
        return Synced((), (), (), (), int(row[0]), (), (), (), done=True)

    def _record(self, survey: Survey, place: Place, world: World, *, written: bool, is_whole: bool = True) -> None:
        """Save what is known, and that the repository was read.

        Args:
            written: whether files were written or items changed, so that nothing is said of what was listed before.
            is_whole: whether the next sync may pass over all where nothing changed.
        """
        survey.save()
        last = last_reading(survey.transaction, survey.project)
        commit = world.commit
        if last is not None and (world.is_behind or commit is None):
            commit = last.commit
        stamp = b"" if written or world.problems or not is_whole else world.listing.stamp
        row = survey.transaction.one("SELECT seq FROM projects WHERE id = :id", {"id": survey.project})
        look = b"" if written else place.look
        reading = Reading(commit, look, stamp, int(row[0]) if row else 0)
        if reading != last:
            states.record_reading(survey.transaction, survey.project, reading)

    def _accept_committed(self, survey: Survey, *, dry_run: bool) -> tuple[list[SharedItem], list[str]]:
        """Take what the default branch says, where the user's configuration lets it in."""
        if not self._accepts:
            return [], []
        chosen = [uid for uid, news in survey.incoming.items() if news.is_committed and news.why]
        authors = self._authors(survey, chosen)
        items, notes = [], []
        for uid in sorted(chosen, key=lambda one: (survey.incoming[one].found.text.time, one)):
            item = listing.waiting_item(survey, uid, is_person=self._is_person)
            if not dry_run:
                news = survey.incoming[uid]
                done = survey.accept(uid, authors.get(news.found.name))
                if done.failure is not None:
                    notes.append(f"{item.file}: {done.failure}")
                    continue
                notes += done.notes
                if news.why == states.BOTH:
                    notes.append(f"{survey.ref(done.uid)} was changed here too: theirs holds, ours is kept")
                item = replace(item, ref=survey.ref(done.uid))
            items.append(replace(item, state="taken", why=None))
        return items, list(dict.fromkeys(notes))

    def _authors(self, survey: Survey, uids: Sequence[str]) -> dict[str, git_trees.Author]:
        """Return who changed files last, by their names, where that matters: where an item is here already."""
        commit = survey.world.commit
        if commit is None or not any(survey.incoming[uid].why != states.NEW for uid in uids):
            return {}
        return git_trees.authors(survey.place.root, commit, BELOW)

    def _refuse_agents(self, doing: str) -> None:
        if not self._is_person:
            raise Refused(
                f"only a person {doing} what others wrote into the shared text",
                "Ask your user to run satchel shared in a terminal",
            )

    def _waiting(self, survey: Survey, refs: Sequence[str], *, all: bool) -> list[str]:  # noqa: A002
        """Return the uids of the texts that wait and are meant, in the order in which they were written."""
        waiting = [uid for uid, news in survey.incoming.items() if news.why]
        if refs and not all:
            named = self._named(survey, refs)
            idle = next((uid for uid in named if uid not in waiting), None)
            if idle is not None:
                raise NotFound(f"nothing waits of {survey.ref(idle) or idle[:8]}", "satchel shared lists what does")
            waiting = named
        elif not all:
            raise InvalidInput("nothing is named", "Give ids from satchel shared, or --all")
        return sorted(waiting, key=lambda uid: (survey.incoming[uid].found.text.time, uid))

    def _named(self, survey: Survey, refs: Sequence[str]) -> list[str]:
        """Return the uids that short ids, names of files or beginnings of uids mean.

        Raises:
            NotFound, Conflict: one means nothing of the shared text, or several.
        """
        by_ref = {survey.ref(uid): uid for uid in survey.ours}
        by_file = {
            found.name: uid for texts in (survey.world.committed, survey.world.here) for uid, found in texts.items()
        }
        found = []
        for ref in refs:
            given = ref.strip()
            uid = by_ref.get(given.lower()) or by_file.get(given.rpartition("/")[2])
            if uid is None:
                begin = [one for one in survey.uids if one.startswith(given.lower()) and len(given) >= _LEAST_OF_UID]
                if len(begin) > 1:
                    raise Conflict(f"{len(begin)} shared texts begin with {given}", "Give more of the uid")
                uid = begin[0] if begin else None
            if uid is None:
                raise NotFound(f"{given[:80]!r} names nothing of the shared text", "satchel shared --all lists it")
            found.append(uid)
        return list(dict.fromkeys(found))

    @staticmethod
    def _chosen(survey: Survey, refs: Sequence[str], rules: Sequence[str]) -> dict[str, list[int]]:
        """Return the numbers of the items that are to be shared, by kind."""
        chosen: dict[str, dict[int, None]] = {}
        for ref in refs:
            kind, number = read_ref(ref)
            name = kind.name.lower()
            if name not in SHAPES:
                raise InvalidInput(
                    f"{ref} is no item that is shared", "Decisions, rules, errors, strategies and notes are"
                )
            row = survey.transaction.one(
                f"SELECT 1 FROM {kind.table} WHERE project_id = :project AND id = :id",
                {"project": survey.project, "id": number},
            )
            if row is None:
                raise NotFound(f"the project has no {ref}", "Lists and searches show the ids")
            chosen.setdefault(name, {})[number] = None
        for rule in rules:
            name, sql = CHOSEN[rule]
            rows = survey.transaction.all(sql, {"project": survey.project})
            chosen.setdefault(name, {}).update(dict.fromkeys(number for (number,) in rows))
        return {name: list(numbers) for name, numbers in chosen.items() if numbers}

    @staticmethod
    def _hindrance(survey: Survey, text: SharedText) -> str | None:
        """Return why an item's file may not be written, or None."""
        secrets = secrets_in(text)
        if secrets:
            return f"it holds a secret ({secrets[0]}): forget it, and change the secret"
        if text.uid in survey.incoming:
            return "a text of it waits: satchel shared --accept or --reject it first"
        return None

    @staticmethod
    def _file_of(survey: Survey, text: SharedText) -> str:
        """Return the name of an item's file: the one that it has, else one that no other item has."""
        found = survey.world.here.get(text.uid) or survey.world.committed.get(text.uid)
        if found is not None:
            return found.name
        name = file_name(text)
        taken = {one.name for one in (*survey.world.here.values(), *survey.world.committed.values())}
        return name if name not in taken else f"{name[:-3]}-{text.uid[8:]}.md"


def _problems(skipped: Sequence[Skipped]) -> tuple[Problem, ...]:
    return tuple(Problem(one.path, one.line, one.problem) for one in skipped)
