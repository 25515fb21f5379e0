"""How things stand in one transaction: what the repository says, what is here, and what is to be done."""

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
from satchel.keep.shared.known import SAME_KEY, Known, Local
from satchel.keep.shared.looking import BELOW, Place
from satchel.keep.shared.markdown import SharedText
from satchel.keep.shared.reconciling import Incoming
from satchel.keep.shared.world import World
from satchel.store.transaction import Transaction

KINDS = {kind.name.lower(): kind for kind in Kind}
"""The kinds by the names that lines have for them."""


class TakenText(NamedTuple):
    """What became of a text that was accepted: the uid of its item, and why it could not be kept, or None."""

    uid: str
    failure: str | None
    notes: tuple[str, ...]


class Survey:
    """How things stand.

    Args:
        transaction: one that may write, unless nothing of it is applied.

    Attributes:
        known: what is known of each text, by its uid.
        seen: the uids and digests that were seen.
        ours: the items that are here, by uid.
        incoming: what is news, by uid.
        problems: the files that were skipped.
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
        self.seen = states.seen(transaction, project_id)
        self.uids = sorted({*self.known, *world.committed, *world.here})
        self.ours = states.locals_of(transaction, project_id, self.known, self.uids, mask)
        self.problems = [*world.problems]
        self.incoming = {uid: one for uid in self.uids if (one := self._incoming(uid)) is not None}
        self._changed: dict[str, Known] = {}
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
            told = f"has the uid of {self.ref(uid)}, which is no {news.found.text.kind}"
            self.problems.append(Skipped(f"{BELOW}/{news.found.name}", told))
            return None
        return news

    def text(self, uid: str) -> SharedText:
        """Return our text of an item that is here."""
        return states.text_at(self.transaction, self.project, self.ours[uid], self._mask)

    def ref(self, uid: str) -> str | None:
        """Return the short id of an item; None where it is not here."""
        ours = self.ours.get(uid)
        return None if ours is None else KINDS[ours.kind].ref(ours.number)

    def put(self, known: Known, seen: Iterable[bytes] = ()) -> None:
        """Record what is known of a text, and digests that were seen of it, when :meth:`save` is called."""
        if known != self.known.get(known.uid):
            self._changed[known.uid] = known
            self.known[known.uid] = known
        for digest in seen:
            if (known.uid, digest) not in self.seen:
                self.seen.add((known.uid, digest))
                self._newly_seen.add((known.uid, digest))

    def save(self) -> None:
        """Write what was recorded."""
        states.save(self.transaction, self.project, self._changed.values())
        states.see(self.transaction, self.project, self._newly_seen)
        self._changed.clear()
        self._newly_seen.clear()

    def settle(self) -> list[str]:
        """Record what the reading tells: what is in step, what waits, what is no longer shared; return those."""
        ended = []
        for uid in self.uids:
            committed, here, ours = self.world.committed.get(uid), self.world.here.get(uid), self.ours.get(uid)
            known, news = self.known.get(uid), self.incoming.get(uid)
            if known is None and ours is None and news is None:
                continue
            found = committed or here
            kind = found.text.kind if found is not None else (known or ours).kind  # type: ignore[union-attr]
            one = known or Known(uid, kind)
            seen: list[bytes] = []
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
                    seen.append(ours.digest)
            if news is None:
                one = one.at_rest()
            elif news.why == 0:
                if one.is_shared:
                    ended.append(uid)
                one = replace(one.at_rest(), in_step=None, taken=None, merged=False)
                seen.append(news.found.text.digest)
            else:
                one = replace(one, waiting=news.found.text.digest, why=news.why)
            if committed is not None:
                one = replace(one, tip=committed.text.digest)
                if one.merged and committed.text.is_gone:
                    one = replace(one, merged=False)
            name = here.name if here is not None else committed.name if committed is not None else one.file
            self.put(replace(one, file=name), seen)
        return ended

    def accept(self, uid: str, author: Author | None) -> TakenText:
        """Take a text that is news.

        Args:
            author: who changed its file last, as git has it.
        """
        news = self.incoming[uid]
        known = self.known.get(uid)
        stood = None if known is None else known.stood
        now = self._workplace.clock()
        text = reconciling.as_revision(news.found.text, stood, author, now, is_committed=news.is_committed)
        text, notes = cleaned(text)
        if news.why == SAME_KEY:
            other = states.same_key(self.transaction, self.project, text)
            if other is not None:
                return self._accept_same_key(news, text, *other)
        ours = self.ours.get(uid)
        line = None
        if ours is not None:
            line = lines_of(self.transaction, self.project, ours.kind, [ours.number]).get(ours.number)
        taking = Taking(self._workplace, source=SHARED, is_ordered=True, decided=True)
        verdict = taking.take(self.transaction, self.project, [line_from(text, line)])[0]
        if verdict.outcome is Outcome.LEFT_OUT:
            return TakenText(uid, verdict.note or "it cannot be kept", ())
        self._taken(uid, news)
        return TakenText(uid, None, (*notes, *([verdict.note] if verdict.note else [])))

    def _accept_same_key(self, news: Incoming, text: SharedText, number: int, other: str) -> TakenText:
        """Make two items of one key one: the later text holds, the other is kept, and all clones choose one uid."""
        ours = self.known.get(other)
        is_shared = ours is not None and ours.is_shared
        keep = min(text.uid, other) if is_shared else text.uid
        taking = Taking(self._workplace, source=SHARED)
        verdict = taking.take(self.transaction, self.project, [line_from(text, None)])[0]
        if verdict.outcome is Outcome.LEFT_OUT:
            return TakenText(text.uid, verdict.note or "it cannot be kept", ())
        table = LINE_KINDS[text.kind].table
        self.transaction.run(
            f"UPDATE {table} SET uid = :uid WHERE id = :id", {"uid": bytes.fromhex(keep), "id": number}
        )
        digest = news.found.text.digest
        if keep == text.uid:
            self._taken(keep, news)
            if is_shared and ours is not None:
                self.put(replace(ours.at_rest(), in_step=None, taken=None, ours=None, seq=None, merged=True))
        else:
            gone = self.known.get(text.uid) or Known(text.uid, text.kind)
            gone = replace(gone.at_rest(), file=news.found.name, in_step=None, merged=True, tip=digest)
            self.put(gone, (digest,))
            self.look_again(other)
        self.ours.pop(other if keep == text.uid else text.uid, None)
        self.incoming.pop(text.uid, None)
        return TakenText(keep, None, (f"two items had the key {text.title!r}: they are one now, the later text holds",))

    def _taken(self, uid: str, news: Incoming) -> None:
        """Record that an item is what a text made of it."""
        self.look_again(uid)
        ours, digest = self.ours[uid], news.found.text.digest
        one = self.known.get(uid) or Known(uid, ours.kind)
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
        """Read an item anew that was changed, or that was not looked at yet."""
        local = states.locals_of(self.transaction, self.project, {}, [uid], self._mask)
        self.ours |= local
        known = self.known.get(uid)
        if known is not None and uid in local:
            self.put(replace(known, ours=local[uid].digest, seq=local[uid].seq))

    def reject(self, uid: str) -> None:
        """Pass over a text that is news, for good."""
        news = self.incoming.pop(uid)
        known = self.known.get(uid) or Known(uid, news.found.text.kind)
        self.put(known.at_rest(), (news.found.text.digest,))

    def to_write(self) -> list[tuple[str, Local]]:
        """Return the items whose files are to be written here, by the rules; none where no branch is checked out."""
        if self.place.default is not None and self.place.branch is None:
            return []
        return [
            (uid, ours)
            for uid, ours in self.ours.items()
            if uid not in self.incoming
            and (known := self.known.get(uid)) is not None
            and known.is_shared
            and reconciling.may_write(
                uid, self.world, known, ours.digest, self.seen, is_on_default=self.place.is_on_default
            )
        ]

    def to_end(self) -> list[str]:
        """Return the texts whose files are to become tombstones, since their items are one with others."""
        if self.place.default is not None and self.place.branch is None:
            return []
        return [
            uid
            for uid, known in self.known.items()
            if known.merged and uid in self.world.here and not self.world.here[uid].text.is_gone
        ]

    def wrote(self, uid: str, text: SharedText, name: str) -> None:
        """Record that our text of an item went into its file."""
        one = self.known.get(uid) or Known(uid, text.kind)
        digest = text.digest
        ours = self.ours[uid]
        one = replace(one.at_rest(), file=name, in_step=digest, taken=None, ours=digest, seq=ours.seq, stood=text.time)
        self.put(replace(one, merged=False), (digest,))

    def wrote_tombstone(self, text: SharedText, name: str) -> None:
        """Record that a file says that its item is no longer shared."""
        one = self.known.get(text.uid) or Known(text.uid, text.kind)
        self.put(replace(one.at_rest(), file=name, in_step=None, taken=None, merged=False), (text.digest,))
