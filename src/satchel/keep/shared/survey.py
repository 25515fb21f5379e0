"""Survey of the repository and the local items within one transaction, and the changes to make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from satchel.base.git_commands import Author
from satchel.find.kind import KIND_NAMED
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.lines import lines_of
from satchel.keep.moving.states import SHARED
from satchel.keep.moving.taking import Outcome, Taking
from satchel.keep.projects import Workplace
from satchel.keep.shared.folder import BELOW, Place, Problem
from satchel.keep.shared.items import cleaned, line_from, mask_of, text_of
from satchel.keep.shared.markdown import SHAPES, SharedText
from satchel.keep.shared.repository import Repository, RepositoryText
from satchel.keep.shared.states import (
    BOTH,
    CHANGED,
    NEW,
    SAME_KEY,
    TextState,
    add_sightings,
    as_revision,
    load_sightings,
    load_states,
    save_states,
)
from satchel.store.transaction import Transaction, set_of, update_row

_LINES_AT_ONCE = 500


class LocalItem(NamedTuple):
    """A local item: its number, change number, and the digest and text it would share."""

    kind: str
    number: int
    seq: int
    digest: bytes
    text: SharedText | None


class Incoming(NamedTuple):
    """A text that is news here.

    Attributes:
        is_committed: whether the default branch has it; otherwise it is an edit in this worktree.
        why: its reason to wait, as numbered by :mod:`satchel.keep.shared.states`; 0 for a tombstone.
    """

    file: RepositoryText
    is_committed: bool
    why: int


class Acceptance(NamedTuple):
    """Result of accepting a text: its item's uid, and the failure or None."""

    uid: str
    failure: str | None
    notes: tuple[str, ...]


class Survey:
    """State of all texts, within a transaction.

    Attributes:
        is_person: whether the caller is a person; an agent gets no words of a stranger.
    """

    def __init__(
        self,
        transaction: Transaction,
        project_id: int,
        workplace: Workplace,
        place: Place,
        repository: Repository,
        *,
        is_person: bool,
    ) -> None:
        self.transaction = transaction
        self.project = project_id
        self.place = place
        self.repository = repository
        self.is_person = is_person
        self._workplace = workplace
        self._mask = mask_of(workplace.root)
        self.states = load_states(transaction, project_id)
        self.sightings = load_sightings(transaction, project_id)
        self.uids = sorted({*self.states, *repository.committed, *repository.here})
        self.ours = self._load_items(self.uids, self.states)
        self.problems = [*repository.problems]
        self.incoming = {uid: one for uid in self.uids if (one := self._incoming(uid)) is not None}
        self._changed: dict[str, TextState] = {}
        self._new_sightings: set[tuple[str, bytes]] = set()

    def _load_items(self, uids: Iterable[str], states: Mapping[str, TextState]) -> dict[str, LocalItem]:
        # those unchanged since their last reading are not read again
        by_uid: dict[str, LocalItem] = {}
        these = set_of(map(bytes.fromhex, uids))
        for kind in SHAPES:
            rows = self.transaction.all(
                f"SELECT id, uid, seq FROM {LINE_KINDS[kind].table} WHERE project_id = :project AND uid IN {these}",
                {"project": self.project},
            )
            stale: dict[int, int] = {}
            for number, raw, seq in rows:
                before = states.get(raw.hex())
                if before is not None and before.ours is not None and before.seq == seq:
                    by_uid[raw.hex()] = LocalItem(kind, number, seq, before.ours, None)
                else:
                    stale[number] = seq
            for number, text in self._texts_of(kind, [*stale]).items():
                by_uid[text.uid] = LocalItem(kind, number, stale[number], text.digest, text)
        return by_uid

    def _texts_of(self, kind: str, numbers: Sequence[int]) -> dict[int, SharedText]:
        texts: dict[int, SharedText] = {}
        for first in range(0, len(numbers), _LINES_AT_ONCE):
            lines = lines_of(self.transaction, self.project, kind, numbers[first : first + _LINES_AT_ONCE])
            texts |= {number: text_of(line, self._mask) for number, line in lines.items()}
        return texts

    def _incoming(self, uid: str) -> Incoming | None:
        """Return an item's text if it is news here, else None.

        A text of the default branch is news if it was never seen, or changed there since the last reading, even back to
        an earlier state: git's history distinguishes an old copy from a revert. A text only in the worktree is news if
        it was never seen and belongs to the default branch.
        """
        state, ours = self.states.get(uid), self.ours.get(uid)
        committed, here = self.repository.committed.get(uid), self.repository.here.get(uid)
        known = {None if ours is None else ours.digest, None if state is None else state.in_step}
        file, is_committed = None, True
        if committed is not None and (digest := committed.text.digest) not in known:
            is_moved = uid in (self.repository.changed or ()) and (state is None or digest != state.tip)
            waits = state is not None and state.waiting == digest
            if is_moved or waits or (uid, digest) not in self.sightings:
                file = committed
        if file is None and here is not None and self.place.is_on_default:
            digest = here.text.digest
            is_same = committed is not None and committed.text.digest == digest
            if not is_same and digest not in known and (uid, digest) not in self.sightings:
                file, is_committed = here, False
        if file is None:
            return None
        if ours is not None and file.text.kind != ours.kind:
            problem = f"has the uid of {self.ref(uid)}, which is not a {file.text.kind}"
            self.problems.append(Problem(f"{BELOW}/{file.name}", problem))
            return None
        if file.text.is_gone:
            return Incoming(file, is_committed, 0)
        if ours is None:
            return self._with_reason(Incoming(file, is_committed, NEW))
        return Incoming(file, is_committed, CHANGED if state is not None and state.in_step == ours.digest else BOTH)

    def _with_reason(self, news: Incoming) -> Incoming:
        has_same_key = news.why == NEW and self._same_key(news.file.text) is not None
        return news._replace(why=SAME_KEY) if has_same_key else news

    def _same_key(self, text: SharedText) -> tuple[int, str] | None:
        key = LINE_KINDS[text.kind].key
        if key is None or text.is_gone:
            return None
        row = self.transaction.one(
            f"SELECT id, uid FROM {LINE_KINDS[text.kind].table} WHERE project_id = :project AND {key[0]} = :key",
            {"project": self.project, "key": text.fields[key[1]]},
        )
        return None if row is None or row[1].hex() == text.uid else (int(row[0]), row[1].hex())

    def _state_of(self, uid: str, kind: str) -> TextState:
        return self.states.get(uid) or TextState(uid, kind)

    def text(self, uid: str) -> SharedText:
        ours = self.ours[uid]
        return ours.text or self._texts_of(ours.kind, [ours.number])[ours.number]

    def ref(self, uid: str) -> str | None:
        ours = self.ours.get(uid)
        return None if ours is None else KIND_NAMED[ours.kind].ref(ours.number)

    def reason(self, uid: str) -> int:
        """Return the reason why a text waits, which changes when a text of the same key was accepted."""
        news = self.incoming[uid] = self._with_reason(self.incoming[uid])
        if (state := self.states.get(uid)) is not None:
            self.put(state._replace(why=news.why))
        return news.why

    def put(self, state: TextState, digests: Iterable[bytes] = ()) -> None:
        """Record a text's state and sightings for the next :meth:`save`."""
        if state != self.states.get(state.uid):
            self._changed[state.uid] = state
            self.states[state.uid] = state
        for digest in digests:
            if (state.uid, digest) not in self.sightings:
                self.sightings.add((state.uid, digest))
                self._new_sightings.add((state.uid, digest))

    def save(self) -> None:
        save_states(self.transaction, self.project, self._changed.values())
        add_sightings(self.transaction, self.project, self._new_sightings)
        self._changed.clear()
        self._new_sightings.clear()

    def update_states(self) -> list[str]:
        ended = []
        for uid in self.uids:
            committed, here = self.repository.committed.get(uid), self.repository.here.get(uid)
            ours, state, news = self.ours.get(uid), self.states.get(uid), self.incoming.get(uid)
            if state is None and ours is None and news is None:
                continue
            file = committed or here
            kind = file.text.kind if file is not None else (state or ours).kind  # type: ignore[union-attr]
            one = state or TextState(uid, kind)
            digests: list[bytes] = []
            if ours is not None:
                one = one._replace(ours=ours.digest, seq=ours.seq)
                is_equal = any(text is not None and text.text.digest == ours.digest for text in (committed, here))
                is_adopted = (
                    committed is not None
                    and committed.text.digest == ours.digest
                    and (uid, ours.digest) not in self.sightings
                )
                if is_equal and (one.is_shared or is_adopted):
                    stood = one.stood if one.in_step == ours.digest else self.text(uid).time
                    one = one.at_rest()._replace(in_step=ours.digest, taken=None, stood=stood)
                    digests.append(ours.digest)
            if news is None:
                one = one.at_rest()
            elif news.why == 0:
                if one.is_shared:
                    ended.append(uid)
                one = one.at_rest()._replace(in_step=None, taken=None, merged=False)
                digests.append(news.file.text.digest)
            else:
                one = one._replace(waiting=news.file.text.digest, why=news.why)
            if committed is not None:
                one = one._replace(tip=committed.text.digest)
                if one.merged and committed.text.is_gone:
                    one = one._replace(merged=False)
            name = here.name if here is not None else committed.name if committed is not None else one.file
            self.put(one._replace(file=name), digests)
        return ended

    def accept(self, uid: str, author: Author | None) -> Acceptance:
        """Store a text that is news. ``author`` is the last committer of its file."""
        news = self.incoming[uid]
        state = self.states.get(uid)
        stood = None if state is None else state.stood
        now = self._workplace.clock()
        text = as_revision(news.file.text, stood, author, now, is_committed=news.is_committed)
        text, notes = cleaned(text)
        ours = self.ours.get(uid)
        other = self._same_key(text)
        if other is not None and ours is not None:
            return Acceptance(uid, f"its key is that of {KIND_NAMED[text.kind].ref(other[0])}: change the key", ())
        if other is not None:
            return self._accept_same_key(news, text, *other)
        line = None
        if ours is not None:
            line = lines_of(self.transaction, self.project, ours.kind, [ours.number]).get(ours.number)
        taking = Taking(self._workplace, source=SHARED, decided=True, is_accepted=True)
        verdict = taking.take(self.transaction, self.project, [line_from(text, line)])[0]
        if verdict.outcome is Outcome.LEFT_OUT:
            return Acceptance(uid, verdict.note or "it cannot be stored", ())
        self._record_accepted(uid, news)
        return Acceptance(uid, None, (*notes, *([verdict.note] if verdict.note else [])))

    def _accept_same_key(self, news: Incoming, text: SharedText, number: int, other: str) -> Acceptance:
        # the two items are merged: the later text wins, and all clones choose the same uid
        ours = self.states.get(other)
        is_shared = ours is not None and ours.is_shared
        keep = min(text.uid, other) if is_shared else text.uid
        taking = Taking(self._workplace, source=SHARED, is_accepted=True)
        verdict = taking.take(self.transaction, self.project, [line_from(text, None)])[0]
        if verdict.outcome is Outcome.LEFT_OUT:
            return Acceptance(text.uid, verdict.note or "it cannot be stored", ())
        table = LINE_KINDS[text.kind].table
        update_row(self.transaction, table, number, uid=bytes.fromhex(keep))
        digest = news.file.text.digest
        if keep == text.uid:
            self._record_accepted(keep, news)
            if is_shared and ours is not None:
                self.put(ours.at_rest()._replace(in_step=None, taken=None, ours=None, seq=None, merged=True))
        else:
            duplicate = self._state_of(text.uid, text.kind).at_rest()
            duplicate = duplicate._replace(file=news.file.name, in_step=None, merged=True, tip=digest)
            self.put(duplicate, (digest,))
            self.reload(other)
        self.ours.pop(other if keep == text.uid else text.uid, None)
        self.incoming.pop(text.uid, None)
        return Acceptance(
            keep, None, (f"two items had the key {text.title!r}: they were merged, and the later text wins",)
        )

    def _record_accepted(self, uid: str, news: Incoming) -> None:
        self.reload(uid)
        ours, digest = self.ours[uid], news.file.text.digest
        one = (
            self._state_of(uid, ours.kind)
            .at_rest()
            ._replace(
                file=news.file.name,
                in_step=ours.digest,
                taken=None if ours.digest == digest else digest,
                ours=ours.digest,
                seq=ours.seq,
                stood=self.text(uid).time,
            )
        )
        self.put(one, (digest, ours.digest))
        self.incoming.pop(uid, None)

    def reload(self, uid: str) -> None:
        local = self._load_items([uid], {})
        self.ours |= local
        state = self.states.get(uid)
        if state is not None and uid in local:
            self.put(state._replace(ours=local[uid].digest, seq=local[uid].seq))

    def reject(self, uid: str) -> None:
        news = self.incoming.pop(uid)
        self.put(self._state_of(uid, news.file.text.kind).at_rest(), (news.file.text.digest,))

    @property
    def _has_branch(self) -> bool:
        return self.place.default is None or self.place.branch is not None

    def files_to_write(self) -> list[tuple[str, LocalItem]]:
        """Return the changed items whose files may be written; none without a checked out branch."""
        return [
            (uid, ours) for uid, ours in self.ours.items() if self._has_branch and self._may_write(uid, ours.digest)
        ]

    def _may_write(self, uid: str, ours: bytes) -> bool:
        """Return whether a shared item's local text may overwrite its file in this worktree.

        It may if the item changed since both were in step, or if the accepted text was normalized; never over unseen
        changes, if the default branch already has it, without a file, or on another branch over anything not in step.
        """
        state, here = self.states.get(uid), self.repository.here.get(uid)
        if uid in self.incoming or state is None or not state.is_shared or here is None or here.text.is_gone:
            return False
        digest, committed = here.text.digest, self.repository.committed.get(uid)
        if digest == ours or (committed is not None and committed.text.digest == ours):
            return False
        if ours == state.in_step:
            return digest == state.taken
        is_seen = (uid, digest) in self.sightings or digest == state.in_step
        return is_seen and (self.place.is_on_default or digest in {state.in_step, state.taken})

    def files_to_end(self) -> list[str]:
        """Return the texts whose items were merged into others, so that their files become tombstones."""
        here = self.repository.here
        return [
            uid
            for uid, state in self.states.items()
            if self._has_branch and state.merged and uid in here and not here[uid].text.is_gone
        ]

    def record(self, text: SharedText, name: str) -> None:
        """Record a text, or a tombstone, that was written to a file."""
        digest = text.digest
        one = self._state_of(text.uid, text.kind).at_rest()._replace(file=name, in_step=None, taken=None, merged=False)
        if not text.is_gone:
            one = one._replace(in_step=digest, ours=digest, seq=self.ours[text.uid].seq, stood=text.time)
        self.put(one, (digest,))
