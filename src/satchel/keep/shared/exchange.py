"""Exchange of items between a store and its repository's shared texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from satchel.base import git_commands
from satchel.base.errors import Conflict, NotFound
from satchel.base.records import replace
from satchel.find.kind import KIND_NAMED
from satchel.keep import events, projects
from satchel.keep.kinds import read_ref
from satchel.keep.moving.lines import lines_of
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import acting, is_by_person, reader_name, record_passage, require_person
from satchel.keep.shared import views
from satchel.keep.shared.folder import BELOW, Folder, Listing, Place, Reading, last_reading, place_of, record_reading
from satchel.keep.shared.items import mask_of, secrets_in, text_of, why_not
from satchel.keep.shared.markdown import SharedText, file_name, render
from satchel.keep.shared.records import (
    IN_STEP,
    UNSHARED,
    Accepted,
    Differences,
    SharedItem,
    SharedList,
    Sharing,
    Synced,
)
from satchel.keep.shared.repository import Repository, read_repository
from satchel.keep.shared.states import BOTH, CHANGED, NEW, WHYS, resolve
from satchel.keep.shared.survey import Survey
from satchel.store.transaction import first_number

if TYPE_CHECKING:
    from satchel.keep.common_filters import CheckedFilters


class Exchange:
    """The operations of :class:`satchel.keep.shared.service.SharedTexts`.

    Args:
        accepts: whether texts of the default branch are accepted automatically.
        dry_run: whether nothing is written.
    """

    def __init__(self, workplace: Workplace, root: str, branch: str | None, *, accepts: bool, dry_run: bool) -> None:
        self._workplace = workplace
        self._root = root
        self._branch = branch
        self._accepts = accepts
        self._is_dry = dry_run
        self._folder = Folder(root)
        self._is_person = is_by_person(workplace, workplace.agent)

    def share(self, refs: Sequence[str], rules: Sequence[str]) -> Sharing:
        mask = mask_of(self._workplace.root)
        written: list[SharedItem] = []
        refused: list[tuple[str, str]] = []
        with self._survey() as survey:
            for kind, numbers in views.select_items(survey, refs, rules).items():
                lines = lines_of(survey.transaction, survey.project, kind, numbers)
                for number in numbers:
                    ref = KIND_NAMED[kind].ref(number)
                    reason = why_not(lines[number])
                    text = None if reason is not None else text_of(lines[number], mask)
                    name = "" if text is None else _file_of(survey, text)
                    reason = reason if text is None else _hindrance(survey, text, name)
                    if text is None or reason is not None:
                        refused.append((ref, reason or ""))
                        continue
                    survey.reload(text.uid)
                    self._put(survey, text, name)
                    written.append(views.item_of(text, ref, name, IN_STEP))
        return Sharing(tuple(written), tuple(refused), not self._is_dry)

    def unshare(self, refs: Sequence[str]) -> Sharing:
        author = reader_name(self._workplace, None)
        written = []
        with self._survey() as survey:
            repository = survey.repository
            for uid in views.select(survey, refs):
                state = survey.states.get(uid)
                file = repository.here.get(uid) or repository.committed.get(uid)
                if (state is None or not state.is_shared) and (file is None or file.text.is_gone):
                    raise NotFound(
                        f"{survey.ref(uid) or uid[:8]} is not shared", "satchel share --list --all lists what is"
                    )
                kind = state.kind if state is not None else file.text.kind if file is not None else ""
                before = survey.text(uid) if uid in survey.ours else None if file is None else file.text
                stone = SharedText(kind, uid, author, self._workplace.clock(), is_gone=True)
                name = file.name if file is not None else state.file if state is not None else None
                name = name or file_name(stone)
                if file is None and name in repository.listing.names:
                    raise Conflict(
                        f"{self._folder.display_path(name)} cannot be read",
                        "Repair or remove it first; satchel sync shows the reason",
                    )
                written.append(views.item_of(before or stone, survey.ref(uid), name, UNSHARED))
                self._put(survey, stone, name)
        return Sharing(tuple(written), (), not self._is_dry)

    def sync(self, place: Place, files: Listing, resolution: str | None) -> Synced:
        last = self._last_commit()
        repository = read_repository(place, last, files)
        resolved: tuple[str, ...] = ()
        if resolution is not None and repository.conflicts:
            resolved = resolve(self._folder, repository.conflicts, resolution, dry_run=self._is_dry)
            repository = repository if self._is_dry else read_repository(place, last)
        with self._survey((place, repository)) as survey:
            ended = [survey.ref(uid) or uid[:8] for uid in survey.update_states()]
            accepted, notes = self._accept_committed(survey)
            waiting = views.waiting_items(survey)
            written = self._write(survey, notes)
            in_step = sum(state.is_shared for state in survey.states.values()) - len(written) * self._is_dry
            if not self._is_dry:
                _record_reading(survey, changed=bool(written))
        return Synced(
            written=tuple(written),
            taken=tuple(accepted),
            waiting=waiting,
            ended=tuple(ended),
            in_step=in_step,
            problems=views.problems_of(survey),
            resolved=resolved,
            notes=tuple(notes),
            done=not self._is_dry,
        )

    def read_news(self) -> None:
        place, repository = self._read()
        if self._last_commit() is None and not repository.committed and not repository.here:
            return
        with self._survey((place, repository)) as survey:
            survey.update_states()
            # nobody would notice that both sides changed
            self._accept_committed(survey, (NEW, CHANGED))
            _record_reading(survey, changed=False, is_whole=False)

    def standing(self, refs: Sequence[str], common: CheckedFilters, *, is_all: bool) -> SharedList:
        with self._survey(reads=True) as survey:
            uids = set(views.select(survey, refs)) if refs else None
            items = views.list_items(survey, is_all=is_all or uids is not None)
            visible = tuple(one for one in items if (uids is None or one.uid in uids) and common.keeps(one.changed_at))
            shared = sum(state.is_shared for state in survey.states.values())
        return SharedList(visible, shared, survey.place.default, views.problems_of(survey))

    def decide(self, refs: Sequence[str], digests: Sequence[str], *, is_all: bool, is_accepted: bool) -> Accepted:
        """Accept or reject waiting texts."""
        self._require_person("accept" if is_accepted else "reject")
        decision = "accepted" if is_accepted else "rejected"
        items: list[SharedItem] = []
        failed: list[tuple[str, str]] = []
        notes: list[str] = []
        with self._survey() as survey:
            survey.update_states()
            uids = views.select_waiting(survey, refs, is_all=is_all)
            _check_unchanged(survey, uids, digests)
            authors = _authors(survey, uids) if is_accepted else {}
            for uid in uids:
                item = replace(views.waiting_item(survey, uid), state=decision, why=None)
                if not is_accepted:
                    survey.reject(uid)
                    items.append(item)
                    continue
                done = survey.accept(uid, authors.get(survey.incoming[uid].file.name))
                if done.failure is not None:
                    failed.append((item.file or uid, done.failure))
                    continue
                notes += done.notes
                items.append(replace(item, ref=survey.ref(done.uid)))
            if is_accepted:
                self._record_events(survey, items)
            self._record_passage(survey, decision, items)
            _record_reading(survey, changed=True)
        return Accepted(is_accepted, tuple(items), tuple(failed), tuple(dict.fromkeys(notes)))

    def diff(self, refs: Sequence[str], *, is_all: bool) -> Differences:
        self._require_person("read")
        with self._survey(reads=True) as survey:
            uids = views.select_waiting(survey, refs, is_all=is_all)
            return Differences(tuple(views.difference(survey, uid) for uid in uids))

    def _require_person(self, verb: str) -> None:
        work, remedy = self._workplace, "Ask your user to run `satchel share --list` in a terminal"
        require_person(work, f"{verb} shared texts by others", remedy, agent=work.agent)

    def _read(self) -> tuple[Place, Repository]:
        place = place_of(self._root, self._branch)
        return place, read_repository(place, self._last_commit())

    def _last_commit(self) -> str | None:
        work = self._workplace
        if not work.engine.exists():
            return None
        with projects.reading(work) as (transaction, project):
            last = last_reading(transaction, project.id)
        return None if last is None else last.commit_id

    @contextmanager
    def _survey(self, read: tuple[Place, Repository] | None = None, *, reads: bool = False) -> Iterator[Survey]:
        place, repository = read or self._read()
        work = self._workplace
        write = not (reads or self._is_dry)
        with projects.writing(work) if write else projects.reading(work) as (transaction, project, *_):
            survey = Survey(transaction, project.id, work, place, repository, is_person=self._is_person)
            yield survey
            if write:
                survey.save()

    def _accept_committed(self, survey: Survey, whys: Collection[int] = WHYS) -> tuple[list[SharedItem], list[str]]:
        # texts of the default branch that wait for one of these reasons, if so configured
        items: list[SharedItem] = []
        notes: list[str] = []
        if not self._accepts:
            return items, notes
        uids = [uid for uid, news in survey.incoming.items() if news.is_committed and news.why in whys]
        authors = _authors(survey, uids)
        for uid in sorted(uids, key=lambda one: (survey.incoming[one].file.text.time, one)):
            if survey.reason(uid) not in whys:
                continue
            item = views.waiting_item(survey, uid)
            if not self._is_dry:
                news = survey.incoming[uid]
                done = survey.accept(uid, authors.get(news.file.name))
                if done.failure is not None:
                    notes.append(f"{item.file or uid[:8]}: {done.failure}")
                    continue
                notes += done.notes
                if news.why == BOTH:
                    notes.append(f"{survey.ref(done.uid)} was also changed here: theirs wins, the local state is kept")
                item = replace(item, ref=survey.ref(done.uid))
            items.append(replace(item, state="taken", why=None))
        return items, list(dict.fromkeys(notes))

    def _write(self, survey: Survey, notes: list[str]) -> list[SharedItem]:
        # changed items, and tombstones for those merged into others
        written = []
        for uid, ours in survey.files_to_write():
            text, name, ref = survey.text(uid), survey.repository.here[uid].name, KIND_NAMED[ours.kind].ref(ours.number)
            secrets = secrets_in(text)
            if secrets:
                notes.append(f"{ref} holds a secret ({secrets[0]}); its file was not changed")
                continue
            written.append(views.item_of(text, ref, name, IN_STEP))
            self._put(survey, text, name)
        for uid in survey.files_to_end():
            file = survey.repository.here[uid]
            stone = SharedText(file.text.kind, uid, None, file.text.time, is_gone=True)
            written.append(views.item_of(file.text, None, file.name, UNSHARED))
            self._put(survey, stone, file.name)
        return written

    def _put(self, survey: Survey, text: SharedText, name: str) -> None:
        if not self._is_dry:
            self._folder.write(name, render(text))
            survey.record(text, name)

    def _record_events(self, survey: Survey, items: Sequence[SharedItem]) -> None:
        work, project = self._workplace, survey.project
        now = work.clock()
        actor = acting(survey.transaction, work, project, work.agent, now)
        for one in items:
            item = None if one.ref is None else read_ref(one.ref)
            events.record(survey.transaction, project, events.ACCEPTANCE, now, by=actor, item=item)

    def _record_passage(self, survey: Survey, action: str, items: Sequence[SharedItem]) -> None:
        if items:
            what = f"{action} {', '.join(one.ref or one.file or one.uid[:8] for one in items)}, shared by others"
            record_passage(survey.transaction, self._workplace, survey.project, what, self._workplace.clock())


def _authors(survey: Survey, uids: Sequence[str]) -> dict[str, git_commands.Author]:
    # the last authors of the files of existing items, by file name
    commit = survey.repository.commit
    if commit is None or not any(survey.incoming[uid].why != NEW for uid in uids):
        return {}
    return git_commands.authors(survey.place.root, commit, BELOW)


def _check_unchanged(survey: Survey, uids: Sequence[str], digests: Sequence[str]) -> None:
    # nobody decides on a text other than the one they read
    for uid in uids if digests else ():
        file = survey.incoming[uid].file
        if file.text.digest.hex() not in digests:
            raise Conflict(f"{file.name} has changed since", "Nothing was changed; read it again")


def _hindrance(survey: Survey, text: SharedText, name: str) -> str | None:
    secrets = secrets_in(text)
    if secrets:
        return f"it holds a secret ({secrets[0]}): forget it, and change the secret"
    if text.uid in survey.incoming:
        return "a text of it waits: satchel accept or satchel reject it first"
    here, state = survey.repository.here.get(text.uid), survey.states.get(text.uid)
    if here is None and name in survey.repository.listing.names:
        return f"its file {name} cannot be read: repair or remove it first; satchel sync shows the reason"
    if here is not None and not here.text.is_gone:
        digest = here.text.digest
        is_known = (text.uid, digest) in survey.sightings or digest == text.digest
        if not is_known and (state is None or digest != state.in_step):
            return "its file on this branch has unseen changes: merge or remove it first"
    return None


def _file_of(survey: Survey, text: SharedText) -> str:
    here, committed = survey.repository.here, survey.repository.committed
    file = here.get(text.uid) or committed.get(text.uid)
    if file is not None:
        return file.name
    name = file_name(text)
    is_used = any(one.name == name for one in (*here.values(), *committed.values()))
    return f"{name[:-3]}-{text.uid[8:]}.md" if is_used else name


def _record_reading(survey: Survey, *, changed: bool, is_whole: bool = True) -> None:
    # changed: files or items changed since they were listed; is_whole: the next sync may skip an unchanged repository
    repository = survey.repository
    last = last_reading(survey.transaction, survey.project)
    commit = repository.commit
    if last is not None and (repository.is_behind or commit is None):
        commit = last.commit_id
    reading = Reading(
        commit_id=commit,
        look=b"" if changed else survey.place.look,
        stamp=b"" if changed or survey.problems or not is_whole else repository.listing.stamp,
        seq=first_number(survey.transaction, "SELECT seq FROM projects WHERE id = :id", {"id": survey.project}),
    )
    if reading != last:
        record_reading(survey.transaction, survey.project, reading)
