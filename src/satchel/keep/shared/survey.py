"""Survey of the repository and the local items within one transaction, and the changes to make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from satchel.base.git_commands import Author
from satchel.base.records import replace
from satchel.find.kind import KIND_NAMED
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.lines import lines_of
from satchel.keep.moving.states import SHARED
from satchel.keep.moving.taking import Outcome, Taking
from satchel.keep.projects import Workplace
from satchel.keep.shared.folder import BELOW, Place, Skipped
from satchel.keep.shared.items import cleaned, line_from, mask_of
from satchel.keep.shared.markdown import SharedText
from satchel.keep.shared.repository import Repository
from satchel.keep.shared.states import (
    NEW,
    SAME_KEY,
    Incoming,
    LocalItem,
    TextState,
    add_sightings,
    as_revision,
    find_news,
    find_same_key,
    load_items,
    load_sightings,
    load_states,
    may_write,
    save_states,
    text_at,
)
from satchel.store.transaction import Transaction, update_row


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
        self.ours = load_items(transaction, project_id, self.states, self.uids, self._mask)
        self.problems = [*repository.problems]
        self.incoming = {uid: one for uid in self.uids if (one := self._incoming(uid)) is not None}
        self._changed: dict[str, TextState] = {}
        self._new_sightings: set[tuple[str, bytes]] = set()

    def _incoming(self, uid: str) -> Incoming | None:
        ours = self.ours.get(uid)
        digest = None if ours is None else ours.digest
        is_on_default = self.place.is_on_default
        news = find_news(
            uid, self.repository, self.states.get(uid), digest, self.sightings, is_on_default=is_on_default
        )
        if news is not None and ours is not None and news.file.text.kind != ours.kind:
            problem = f"has the uid of {self.ref(uid)}, which is not a {news.file.text.kind}"
            self.problems.append(Skipped(f"{BELOW}/{news.file.name}", problem))
            return None
        return None if news is None else self._with_reason(news)

    def _with_reason(self, news: Incoming) -> Incoming:
        has_same_key = news.why == NEW and self._same_key(news.file.text) is not None
        return news._replace(why=SAME_KEY) if has_same_key else news

    def _same_key(self, text: SharedText) -> tuple[int, str] | None:
        return find_same_key(self.transaction, self.project, text)

    def text(self, uid: str) -> SharedText:
        return text_at(self.transaction, self.project, self.ours[uid], self._mask)

    def ref(self, uid: str) -> str | None:
        ours = self.ours.get(uid)
        return None if ours is None else KIND_NAMED[ours.kind].ref(ours.number)

    def reason(self, uid: str) -> int:
        """Return the reason why a text waits, which changes when a text of the same key was accepted."""
        news = self.incoming[uid] = self._with_reason(self.incoming[uid])
        if (state := self.states.get(uid)) is not None:
            self.put(replace(state, why=news.why))
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
                one = replace(one, ours=ours.digest, seq=ours.seq)
                is_equal = any(text is not None and text.text.digest == ours.digest for text in (committed, here))
                is_adopted = (
                    committed is not None
                    and committed.text.digest == ours.digest
                    and (uid, ours.digest) not in self.sightings
                )
                if is_equal and (one.is_shared or is_adopted):
                    stood = one.stood if one.in_step == ours.digest else self.text(uid).time
                    one = replace(one.at_rest(), in_step=ours.digest, taken=None, stood=stood)
                    digests.append(ours.digest)
            if news is None:
                one = one.at_rest()
            elif news.why == 0:
                if one.is_shared:
                    ended.append(uid)
                one = replace(one.at_rest(), in_step=None, taken=None, merged=False)
                digests.append(news.file.text.digest)
            else:
                one = replace(one, waiting=news.file.text.digest, why=news.why)
            if committed is not None:
                one = replace(one, tip=committed.text.digest)
                if one.merged and committed.text.is_gone:
                    one = replace(one, merged=False)
            name = here.name if here is not None else committed.name if committed is not None else one.file
            self.put(replace(one, file=name), digests)
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
        taking = Taking(self._workplace, source=SHARED, is_ordered=True, decided=True, is_accepted=True)
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
                self.put(replace(ours.at_rest(), in_step=None, taken=None, ours=None, seq=None, merged=True))
        else:
            duplicate = self.states.get(text.uid) or TextState(text.uid, text.kind)
            duplicate = replace(duplicate.at_rest(), file=news.file.name, in_step=None, merged=True, tip=digest)
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
        one = self.states.get(uid) or TextState(uid, ours.kind)
        one = replace(
            one.at_rest(),
            file=news.file.name,
            in_step=ours.digest,
            taken=None if ours.digest == digest else digest,
            ours=ours.digest,
            seq=ours.seq,
            stood=self.text(uid).time,
        )
        self.put(one, (digest, ours.digest))
        self.incoming.pop(uid, None)

    def reload(self, uid: str) -> None:
        local = load_items(self.transaction, self.project, {}, [uid], self._mask)
        self.ours |= local
        state = self.states.get(uid)
        if state is not None and uid in local:
            self.put(replace(state, ours=local[uid].digest, seq=local[uid].seq))

    def reject(self, uid: str) -> None:
        news = self.incoming.pop(uid)
        state = self.states.get(uid) or TextState(uid, news.file.text.kind)
        self.put(state.at_rest(), (news.file.text.digest,))

    def files_to_write(self) -> list[tuple[str, LocalItem]]:
        """Return the changed items whose files may be written; none without a checked out branch."""
        if self.place.default is not None and self.place.branch is None:
            return []
        return [
            (uid, ours)
            for uid, ours in self.ours.items()
            if uid not in self.incoming
            and (state := self.states.get(uid)) is not None
            and state.is_shared
            and may_write(
                uid, self.repository, state, ours.digest, self.sightings, is_on_default=self.place.is_on_default
            )
        ]

    def files_to_end(self) -> list[str]:
        """Return the texts whose items were merged into others, so that their files become tombstones."""
        if self.place.default is not None and self.place.branch is None:
            return []
        return [
            uid
            for uid, state in self.states.items()
            if state.merged and uid in self.repository.here and not self.repository.here[uid].text.is_gone
        ]

    def record_file(self, uid: str, text: SharedText, name: str) -> None:
        one = self.states.get(uid) or TextState(uid, text.kind)
        digest = text.digest
        ours = self.ours[uid]
        one = replace(one.at_rest(), file=name, in_step=digest, taken=None, ours=digest, seq=ours.seq, stood=text.time)
        self.put(replace(one, merged=False), (digest,))

    def record_tombstone(self, text: SharedText, name: str) -> None:
        one = self.states.get(text.uid) or TextState(text.uid, text.kind)
        self.put(replace(one.at_rest(), file=name, in_step=None, taken=None, merged=False), (text.digest,))
