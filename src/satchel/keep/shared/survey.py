"""Survey within one transaction: the repository, the local items, and the actions due."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from satchel.base.git_trees import Author
from satchel.base.records import replace
from satchel.find.kind import Kind
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.lines import lines_of
from satchel.keep.moving.states import SHARED
from satchel.keep.moving.taking import Outcome, Taking
from satchel.keep.projects import Workplace
from satchel.keep.shared import known as states
from satchel.keep.shared import reconciling
from satchel.keep.shared.folder import Skipped
from satchel.keep.shared.items import Mask, cleaned, line_from
from satchel.keep.shared.known import NEW, SAME_KEY, Local, TextState
from satchel.keep.shared.looking import BELOW, Place
from satchel.keep.shared.markdown import SharedText
from satchel.keep.shared.reconciling import Incoming
from satchel.keep.shared.world import World
from satchel.store.transaction import Transaction

KINDS = {kind.name.lower(): kind for kind in Kind}
"""The kinds by their names in export lines."""


class AcceptedText(NamedTuple):
    """Result of accepting a text: its item's uid, and the failure or None."""

    uid: str
    failure: str | None
    notes: tuple[str, ...]


class Survey:
    """State of all texts, within a transaction.

    Attributes:
        known: the state of each text, by uid.
        seen: uids and digests of the texts seen.
        ours: local items by uid.
        incoming: news by uid.
        problems: skipped files.
    """

    def __init__(
        self, transaction: Transaction, project_id: int, workplace: Workplace, place: Place, world: World, mask: Mask
    ) -> None:
        self.transaction = transaction
        self.project = project_id
        self.place = place
        self.world = world
        self._workplace = workplace
        self._mask = mask
        self.known = states.load(transaction, project_id)
        self.seen = states.seen_texts(transaction, project_id)
        self.uids = sorted({*self.known, *world.committed, *world.here})
        self.ours = states.locals_of(transaction, project_id, self.known, self.uids, mask)
        self.problems = [*world.problems]
        self.incoming = {uid: one for uid in self.uids if (one := self._incoming(uid)) is not None}
        self._changed: dict[str, TextState] = {}
        self._newly_seen: set[tuple[str, bytes]] = set()

    def _incoming(self, uid: str) -> Incoming | None:
        ours = self.ours.get(uid)
        texts = [one.text for one in (self.world.committed.get(uid), self.world.here.get(uid)) if one is not None]
        news = reconciling.incoming(
            uid,
            self.world,
            self.known.get(uid),
            None if ours is None else ours.digest,
            self.seen,
            is_on_default=self.place.is_on_default,
            has_same_key=ours is None
            and any(states.same_key(self.transaction, self.project, text) is not None for text in texts),
        )
        if news is not None and ours is not None and news.found.text.kind != ours.kind:
            problem = f"has the uid of {self.ref(uid)}, which is not a {news.found.text.kind}"
            self.problems.append(Skipped(f"{BELOW}/{news.found.name}", problem))
            return None
        return news

    def text(self, uid: str) -> SharedText:
        """Return the text of a local item."""
        return states.text_at(self.transaction, self.project, self.ours[uid], self._mask)

    def ref(self, uid: str) -> str | None:
        """Return a local item's short id, or None."""
        ours = self.ours.get(uid)
        return None if ours is None else KINDS[ours.kind].ref(ours.number)

    def reason(self, uid: str) -> int:
        """Return the reason why a text waits, which an accepted text of the same key changes."""
        news = self.incoming[uid]
        if news.why == NEW and states.same_key(self.transaction, self.project, news.found.text) is not None:
            self.incoming[uid] = news = news._replace(why=SAME_KEY)
            if (state := self.known.get(uid)) is not None:
                self.put(replace(state, why=SAME_KEY))
        return news.why

    def put(self, state: TextState, seen: Iterable[bytes] = ()) -> None:
        """Record a text's state and seen digests for the next :meth:`save`."""
        if state != self.known.get(state.uid):
            self._changed[state.uid] = state
            self.known[state.uid] = state
        for digest in seen:
            if (state.uid, digest) not in self.seen:
                self.seen.add((state.uid, digest))
                self._newly_seen.add((state.uid, digest))

    def save(self) -> None:
        states.save(self.transaction, self.project, self._changed.values())
        states.add_seen(self.transaction, self.project, self._newly_seen)
        self._changed.clear()
        self._newly_seen.clear()

    def settle(self) -> list[str]:
        """Update the states from the reading: in step, waiting or no longer shared; return the uids of the last."""
        ended = []
        for uid in self.uids:
            committed, here, ours = self.world.committed.get(uid), self.world.here.get(uid), self.ours.get(uid)
            state, news = self.known.get(uid), self.incoming.get(uid)
            if state is None and ours is None and news is None:
                continue
            file = committed or here
            kind = file.text.kind if file is not None else (state or ours).kind  # type: ignore[union-attr]
            one = state or TextState(uid, kind)
            digests: list[bytes] = []
            if ours is not None:
                one = replace(one, ours=ours.digest, seq=ours.seq)
                says_the_same = any(text is not None and text.text.digest == ours.digest for text in (committed, here))
                is_adopted = (
                    committed is not None
                    and committed.text.digest == ours.digest
                    and (uid, ours.digest) not in self.seen
                )
                if says_the_same and (one.is_shared or is_adopted):
                    stood = one.stood if one.in_step == ours.digest else self.text(uid).time
                    one = replace(one.at_rest(), in_step=ours.digest, taken=None, stood=stood)
                    digests.append(ours.digest)
            if news is None:
                one = one.at_rest()
            elif news.why == 0:
                if one.is_shared:
                    ended.append(uid)
                one = replace(one.at_rest(), in_step=None, taken=None, merged=False)
                digests.append(news.found.text.digest)
            else:
                one = replace(one, waiting=news.found.text.digest, why=news.why)
            if committed is not None:
                one = replace(one, tip=committed.text.digest)
                if one.merged and committed.text.is_gone:
                    one = replace(one, merged=False)
            name = here.name if here is not None else committed.name if committed is not None else one.file
            self.put(replace(one, file=name), digests)
        return ended

    def accept(self, uid: str, author: Author | None) -> AcceptedText:
        """Store a text that is news. ``author`` is the last committer of its file."""
        news = self.incoming[uid]
        state = self.known.get(uid)
        stood = None if state is None else state.stood
        now = self._workplace.clock()
        text = reconciling.as_revision(news.found.text, stood, author, now, is_committed=news.is_committed)
        text, notes = cleaned(text)
        ours = self.ours.get(uid)
        other = states.same_key(self.transaction, self.project, text)
        if other is not None and ours is not None:
            return AcceptedText(uid, f"its key is that of {KINDS[text.kind].ref(other[0])}: change the key", ())
        if other is not None:
            return self._accept_same_key(news, text, *other)
        line = None
        if ours is not None:
            line = lines_of(self.transaction, self.project, ours.kind, [ours.number]).get(ours.number)
        taking = Taking(self._workplace, source=SHARED, is_ordered=True, decided=True)
        verdict = taking.take(self.transaction, self.project, [line_from(text, line)])[0]
        if verdict.outcome is Outcome.LEFT_OUT:
            return AcceptedText(uid, verdict.note or "it cannot be kept", ())
        self._record_accepted(uid, news)
        return AcceptedText(uid, None, (*notes, *([verdict.note] if verdict.note else [])))

    def _accept_same_key(self, news: Incoming, text: SharedText, number: int, other: str) -> AcceptedText:
        # the two items are merged: the later text wins, and all clones choose the same uid
        ours = self.known.get(other)
        is_shared = ours is not None and ours.is_shared
        keep = min(text.uid, other) if is_shared else text.uid
        taking = Taking(self._workplace, source=SHARED)
        verdict = taking.take(self.transaction, self.project, [line_from(text, None)])[0]
        if verdict.outcome is Outcome.LEFT_OUT:
            return AcceptedText(text.uid, verdict.note or "it cannot be kept", ())
        table = LINE_KINDS[text.kind].table
        self.transaction.run(
            f"UPDATE {table} SET uid = :uid WHERE id = :id", {"uid": bytes.fromhex(keep), "id": number}
        )
        digest = news.found.text.digest
        if keep == text.uid:
            self._record_accepted(keep, news)
            if is_shared and ours is not None:
                self.put(replace(ours.at_rest(), in_step=None, taken=None, ours=None, seq=None, merged=True))
        else:
            duplicate = self.known.get(text.uid) or TextState(text.uid, text.kind)
            duplicate = replace(duplicate.at_rest(), file=news.found.name, in_step=None, merged=True, tip=digest)
            self.put(duplicate, (digest,))
            self.look_again(other)
        self.ours.pop(other if keep == text.uid else text.uid, None)
        self.incoming.pop(text.uid, None)
        return AcceptedText(
            keep, None, (f"two items had the key {text.title!r}: they were merged, and the later text wins",)
        )

    def _record_accepted(self, uid: str, news: Incoming) -> None:
        self.look_again(uid)
        ours, digest = self.ours[uid], news.found.text.digest
        one = self.known.get(uid) or TextState(uid, ours.kind)
        one = replace(
            one.at_rest(),
            file=news.found.name,
            in_step=ours.digest,
            taken=None if ours.digest == digest else digest,
            ours=ours.digest,
            seq=ours.seq,
            stood=self.text(uid).time,
        )
        self.put(one, (digest, ours.digest))
        self.incoming.pop(uid, None)

    def look_again(self, uid: str) -> None:
        """Read an item again, or for the first time."""
        local = states.locals_of(self.transaction, self.project, {}, [uid], self._mask)
        self.ours |= local
        state = self.known.get(uid)
        if state is not None and uid in local:
            self.put(replace(state, ours=local[uid].digest, seq=local[uid].seq))

    def reject(self, uid: str) -> None:
        """Discard a text that is news."""
        news = self.incoming.pop(uid)
        state = self.known.get(uid) or TextState(uid, news.found.text.kind)
        self.put(state.at_rest(), (news.found.text.digest,))

    def to_write(self) -> list[tuple[str, Local]]:
        """Return the items whose files are due to be written; none without a checked out branch."""
        if self.place.default is not None and self.place.branch is None:
            return []
        return [
            (uid, ours)
            for uid, ours in self.ours.items()
            if uid not in self.incoming
            and (state := self.known.get(uid)) is not None
            and state.is_shared
            and reconciling.may_write(
                uid, self.world, state, ours.digest, self.seen, is_on_default=self.place.is_on_default
            )
        ]

    def to_end(self) -> list[str]:
        """Return the texts whose files are due to become tombstones, since their items were merged."""
        if self.place.default is not None and self.place.branch is None:
            return []
        return [
            uid
            for uid, state in self.known.items()
            if state.merged and uid in self.world.here and not self.world.here[uid].text.is_gone
        ]

    def wrote(self, uid: str, text: SharedText, name: str) -> None:
        """Record that an item's text was written into its file."""
        one = self.known.get(uid) or TextState(uid, text.kind)
        digest = text.digest
        ours = self.ours[uid]
        one = replace(one.at_rest(), file=name, in_step=digest, taken=None, ours=digest, seq=ours.seq, stood=text.time)
        self.put(replace(one, merged=False), (digest,))

    def wrote_tombstone(self, text: SharedText, name: str) -> None:
        """Record that a tombstone was written."""
        one = self.known.get(text.uid) or TextState(text.uid, text.kind)
        self.put(replace(one.at_rest(), file=name, in_step=None, taken=None, merged=False), (text.digest,))
