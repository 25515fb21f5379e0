"""Settling: a person accepts or rejects what waits for them, whichever kind it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.errors import Conflict, InvalidInput, NotFound, Refused, SatchelError
from satchel.base.machine import caller_elsewhere
from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.brief.announcements import announcer
from satchel.brief.room.service import Room
from satchel.keep.corrections.service import Corrections
from satchel.keep.decisions.records import KEEP, Decision
from satchel.keep.decisions.service import Decisions
from satchel.keep.documents.service import Documents
from satchel.keep.items import Items
from satchel.keep.sessions.actors import require_person
from satchel.keep.shared.service import SharedTexts

if TYPE_CHECKING:
    from satchel.base.config_keys import Config
    from satchel.keep.projects import Workplace

_ASK = "Ask your user to run `satchel status`, which lists what waits, in a terminal"


@dataclass(frozen=True, slots=True)
class SettledProposal:
    """A proposal that a person accepted or rejected.

    Attributes:
        ref: what names it.
        item: the short id of what it became or was, or None.
        is_left_out: whether nothing was decided, since only a person who names it accepts it.
    """

    ref: str
    item: str | None
    text: str
    notes: tuple[str, ...] = ()
    is_left_out: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """The proposals that a person accepted or rejected, and those that failed, each with the reason."""

    accepted: bool
    items: tuple[SettledProposal, ...]
    failed: tuple[tuple[str, str], ...] = ()


class Settling:
    """Accepts and rejects drafts of decisions, unconfirmed rules, shared texts and texts of documents."""

    def __init__(self, workplace: Workplace, config: Config) -> None:
        self._workplace = workplace
        self._config = config

    def accept(self, refs: Sequence[str] = (), *, all: bool = False) -> Settled:  # noqa: A002 -- the option's name
        """Accept proposals; their authors get a message.

        Args:
            refs: a draft or an unconfirmed rule by its id, a draft from its second revision on with the one that was
                shown, as ``d4@2``; a shared text by its id, file or beginning of its uid; a place in a document, or a
                document.
            all: all that others shared, instead.

        Raises:
            Conflict: a draft has changed since it was shown.
            InvalidInput: nothing is named, or a name is empty.
            NotFound: there is no such proposal.
            Refused: the caller is not a person, or it works on files that the server does not have.
        """
        return self._settle(refs, is_all=all, is_accepted=True)

    def reject(
        self,
        refs: Sequence[str] = (),
        *,
        all: bool = False,  # noqa: A002 -- as above
        reason: str | None = None,
    ) -> Settled:
        """Reject proposals; their authors get a message.

        Args:
            refs, all: as for :meth:`accept`.
            reason: why, for the author of a decision or rule.

        Raises:
            Conflict, InvalidInput, NotFound, Refused: as for :meth:`accept`.
        """
        return self._settle(refs, is_all=all, is_accepted=False, reason=reason)

    def _settle(self, refs: Sequence[str], *, is_all: bool, is_accepted: bool, reason: str | None = None) -> Settled:
        refs = [ref.strip() for ref in refs]
        if bool(refs) == is_all or "" in refs:
            raise InvalidInput("name what to decide on, or give --all", "`satchel status` lists what waits")
        work = self._workplace
        require_person(work, f"{'accept' if is_accepted else 'reject'} proposals", _ASK, agent=work.agent)
        done: list[SettledProposal] = []
        failed: list[tuple[str, str]] = []
        for ref in refs or ("",):
            try:
                done += self._settled(ref, reason, is_accepted=is_accepted)
            except SatchelError as error:
                if len(refs) < 2:
                    raise
                failed.append((ref, error.problem))
        return Settled(is_accepted, tuple(done), tuple(failed))

    def _settled(self, ref: str, reason: str | None, *, is_accepted: bool) -> Iterator[SettledProposal]:
        work = self._workplace
        item, _, revision = ref.partition("@")
        is_item = re.fullmatch(r"c\d+|d\d+(@\d{1,9})?", ref, re.ASCII)
        record: Any = Items(work).read([item]).items[0].record if is_item else None
        if getattr(record, "status", "") == "draft":
            if record.revision != int(revision or (1 if is_accepted else record.revision)):
                raise self._changed(record, "accept" if is_accepted else "reject")
            now = Decisions(work, announcer(work)).set(
                record.key,
                status="active" if is_accepted else "deprecated",
                rationale=KEEP if reason is None else reason,
                expected_revision=record.revision,
            )
            yield SettledProposal(item, now.ref, f"{now.key}: {now.value}", now.notes)
        elif getattr(record, "unconfirmed", False):
            rules = Corrections(work)
            result = rules.confirm(ref) if is_accepted else rules.retract(ref, reason or "rejected")
            yield SettledProposal(ref, ref, result.text, result.notes)
        elif reason is not None:
            raise InvalidInput(f"{ref[:80]} is no draft and no rule: its rejection has no reason", "Leave --why out")
        else:
            if (work.caller is not None and work.caller.is_remote) or caller_elsewhere() is not None:
                raise Refused(
                    f"{ref[:80] or 'all'}: over a server only a draft or an unconfirmed rule is accepted or rejected",
                    "It needs the repository's files and the store: run it on a machine that has both",
                )
            try:
                yield from self._of_shared(ref, is_accepted=is_accepted)
            except NotFound:
                yield from self._of_documents(ref, is_accepted=is_accepted)

    def _changed(self, draft: Decision, verb: str) -> Conflict:
        # as on the page: what is proposed now is shown before it is accepted
        needs = Room(self._workplace).needs().items
        text = next((one.text for one in needs if one.ref == draft.ref), f"{draft.key}: {draft.value}")
        return Conflict(
            f"{draft.ref} has revision {draft.revision} now: {shortened(text)}",
            f"`satchel show {draft.ref}` shows it whole, `satchel {verb} {draft.ref}@{draft.revision}` {verb}s it",
        )

    def _of_shared(self, ref: str, *, is_accepted: bool) -> Iterator[SettledProposal]:
        texts = SharedTexts(self._workplace, self._config)
        decide = texts.accept if is_accepted else texts.reject
        result = decide([ref]) if ref else decide(all=True)
        for one in result.items:
            title = f"{one.kind} {one.title or ''}".strip()
            yield SettledProposal(one.ref or one.uid[:8], one.ref, title, result.notes)
        if result.failed:
            raise Refused(": ".join(result.failed[0]), "It still waits")

    def _of_documents(self, ref: str, *, is_accepted: bool) -> Iterator[SettledProposal]:
        documents = Documents(self._workplace, self._config)
        try:
            decided = documents.accept([ref]) if is_accepted else documents.reject([ref])
        except NotFound as error:
            raise NotFound(f"nothing that waits is called {ref[:80]!r}", "`satchel status` lists what waits") from error
        for one, item in decided.items:
            yield SettledProposal(one.ref, item, f"{one.kind} {one.text}", decided.notes)
        for one in decided.left_out:
            marks = f"it has {', '.join(one.marks)}; name it if it is right"
            yield SettledProposal(one.ref, None, marks, is_left_out=True)
        if decided.failed:
            raise Refused(": ".join(decided.failed[0]), "It still waits")
