"""Service for documents: proposals from those that git tracks, and a person's decision on them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.clock import iso
from satchel.base.errors import InvalidInput, NotFound, Refused
from satchel.base.records import dataclass, replace
from satchel.base.vocabulary import MAIN_RUN
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.corrections import log
from satchel.keep.corrections.log import Corrector
from satchel.keep.documents.proposals import KIND_OF, REMOVED, Proposal, Text, compare, texts_of
from satchel.keep.documents.reading import Reading, read_documents
from satchel.keep.documents.splitting import DECISION, NOTE, RULE
from satchel.keep.documents.states import SOURCE, TextState, delete_states, load_states, save_states
from satchel.keep.importing.tables import identity
from satchel.keep.kind import Line
from satchel.keep.kinds import read_ref
from satchel.keep.moving.lines import lines_of
from satchel.keep.moving.taking import Outcome, Taking
from satchel.keep.names import ensure_agent
from satchel.keep.sessions.actors import record_passage, require_person
from satchel.keep.texts import storable
from satchel.store.transaction import Transaction, first_number

if TYPE_CHECKING:
    from satchel.base.config_keys import Config
    from satchel.keep.documents.block import Block
    from satchel.keep.projects import Workplace

_CATEGORY = "conventions"
_URGENT = ("MUST", "NEVER", "ALWAYS", "IMPORTANT", "CRITICAL", "FORBIDDEN")
_ASK = "Ask your user to run `satchel import docs` in a terminal"


@dataclass(frozen=True, slots=True)
class Review:
    """The documents of a project, and what they propose.

    Attributes:
        in_step: how many texts are items already.
        rejected: how many texts a person rejected.
        skipped: what was not read, each with the reason.
    """

    branch: str | None
    documents: tuple[str, ...]
    proposals: tuple[Proposal, ...]
    in_step: int
    rejected: int
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """Result of a person's decision on proposals, each with the short id of its item.

    Attributes:
        left_out: proposals that only a person who names them accepts.
    """

    accepted: bool
    items: tuple[tuple[Proposal, str | None], ...]
    failed: tuple[tuple[str, str], ...] = ()
    left_out: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = ()


class Documents:
    """The documents of a project for agents and people: AGENTS.md, CLAUDE.md, rule files and decision records."""

    def __init__(self, workplace: Workplace, config: Config) -> None:
        self._workplace = workplace
        self._branch = config.share_branch

    def review(self) -> Review:
        """Read the documents of the default branch and return what they propose; nothing is changed.

        Raises:
            Refused: an agent asks, or the store belongs to no folder.
            NotFound: git tracks nothing here.
        """
        self._require_person("read")
        reading, texts, skipped = self._read()
        work = self._workplace
        with projects.reading(work) as (transaction, project):
            compared = compare(transaction, project.id, reading, texts)
        return Review(
            reading.branch,
            tuple(document.path for document in reading.documents),
            tuple(compared.proposals),
            compared.in_step,
            compared.rejected,
            tuple(skipped.items()),
        )

    def accept(
        self,
        refs: Sequence[str] = (),
        *,
        texts: Mapping[str, str] | None = None,
        kinds: Mapping[str, str] | None = None,
    ) -> Decided:
        """Accept proposals: new texts become items, changed ones change theirs, removed ones end theirs.

        Args:
            refs: places such as ``AGENTS.md:12``, items whose text was removed, or documents; none for all documents.
                Of documents those are left out that need a closer look, for hidden characters, comments and secrets.
            texts: edited texts, by place.
            kinds: rule or note, by place, for new texts that are the other.

        Raises:
            Refused: an agent asks.
            NotFound: nothing is proposed there.
        """
        return self._decide(refs, texts or {}, kinds or {}, is_accepted=True)

    def reject(self, refs: Sequence[str]) -> Decided:
        """Reject proposals; they come again only if their text changes. Arguments and errors are those of accept."""
        if not refs:
            raise InvalidInput("no proposal is named", "Give places such as AGENTS.md:12, or a document")
        return self._decide(refs, {}, {}, is_accepted=False)

    def write_block(self, *, remove: bool = False, check: bool = False, dry_run: bool = False) -> Block:
        """Write the block with rules and decisions that a person wrote or confirmed into AGENTS.md, or ``remove`` it.

        It has at most 2,000 tokens and stays the same, byte for byte, while nothing changes. Items from this file are
        left out. After a merge conflict it is written again.

        Raises:
            Refused: an agent asks, or the file is a link or cannot be written.
            InvalidInput, Conflict: the block's lines or git's markers around it are incomplete.
        """
        from satchel.keep.documents.block import write_block

        return write_block(self._workplace, remove=remove, check=check, dry_run=dry_run)

    def _decide(
        self, refs: Sequence[str], texts: Mapping[str, str], kinds: Mapping[str, str], *, is_accepted: bool
    ) -> Decided:
        self._require_person("accept" if is_accepted else "reject")
        work = self._workplace
        reading, documents, _ = self._read()
        with projects.writing(work) as (transaction, project, now):
            compared = compare(transaction, project.id, reading, documents)
            save_states(transaction, project.id, compared.moved)
            delete_states(transaction, project.id, compared.outdated)
            selection, left_out = _select(compared.proposals, refs, is_accepted=is_accepted)
            person = ensure_agent(transaction, project.id, work.person(), now)
            deciding = _Deciding(work, transaction, project.id, now, *person, documents)
            selection = [
                replace(one, text=texts.get(one.ref, one.text), kind=kinds.get(one.ref, one.kind)) for one in selection
            ]
            decided = deciding.accept(selection) if is_accepted else deciding.reject(selection)
            if decided.items:
                places = ", ".join(dict.fromkeys(one.path for one, _ in decided.items))
                verb = "accepted" if is_accepted else "rejected"
                count = len(decided.items)
                what = f"{verb} {count} proposal{'s' * (count != 1)} from {places}"
                record_passage(transaction, work, project.id, what, now)
        return replace(decided, left_out=tuple(left_out))

    def _read(self) -> tuple[Reading, dict[str, Text], dict[str, str]]:
        root = self._workplace.files_root
        if root is None:
            raise Refused("this store belongs to no folder, so there are no documents", "Work in a project")
        reading = read_documents(self._workplace, root, self._branch)
        skipped = dict(reading.skipped)  # a record without a decision in force was read: it removes its item
        return reading, texts_of(reading.documents, skipped), skipped

    def _require_person(self, verb: str) -> None:
        require_person(self._workplace, f"{verb} proposals from documents", _ASK, agent=self._workplace.agent)


def _select(
    proposals: Sequence[Proposal], refs: Sequence[str], *, is_accepted: bool
) -> tuple[list[Proposal], list[Proposal]]:
    # a place names a proposal, a path all of its file; what needs a look is accepted by its place alone
    places = {ref.removeprefix("./") for ref in refs}
    for ref in places:
        if not any(ref in {one.ref, one.path} for one in proposals):
            raise NotFound(f"{ref[:80]!r} proposes nothing", "`satchel import docs` lists the proposals")
    selection = [one for one in proposals if not refs or places & {one.ref, one.path}]
    left_out = [one for one in selection if is_accepted and one.needs_a_look and one.ref not in places]
    return [one for one in selection if one not in left_out], left_out


@dataclass(frozen=True, slots=True)
class _Deciding:
    workplace: Workplace
    transaction: Transaction
    project: int
    now: int
    number: int
    person: str
    texts: Mapping[str, Text]

    def accept(self, proposals: Sequence[Proposal]) -> Decided:
        notes: list[str] = []
        lines = [self._line(proposal, notes) for proposal in proposals]
        taking = Taking(self.workplace, source=SOURCE, now=self.now, decided=True, is_accepted=True)
        verdicts = taking.take(self.transaction, self.project, lines)
        items: list[tuple[Proposal, str | None]] = []
        failed: list[tuple[str, str]] = []
        for one, verdict in zip(proposals, verdicts, strict=True):
            if verdict.outcome is Outcome.LEFT_OUT or verdict.ref is None:
                failed.append((one.ref, verdict.note or "it cannot be stored"))
                continue
            items.append((one, verdict.ref))
            kind, number = read_ref(verdict.ref)
            if one.item is not None:
                self._end_states(kind.number, number)
            if one.why != REMOVED:
                self._save(one, kind, number)
            elif kind is not Kind.DECISION:
                by = Corrector(self.transaction, self.project, self.number, None, lambda _: True, self.now)
                log.record(by, log.RETRACTED, (kind, number), reason=f"removed from {one.path}")
        return Decided(True, tuple(items), tuple(failed), (), tuple(dict.fromkeys(notes)))

    def reject(self, proposals: Sequence[Proposal]) -> Decided:
        for proposal in proposals:
            if proposal.item is not None:
                kind, number = read_ref(proposal.item)
                self._end_states(kind.number, number)
            if proposal.why != REMOVED:
                self._save(proposal)
        return Decided(False, tuple((one, one.item) for one in proposals))

    def _save(self, proposal: Proposal, kind: Kind | None = None, number: int = 0) -> None:
        text = self.texts[proposal.digest]
        item = (0, 0, 0)
        if kind is not None:
            seq = first_number(self.transaction, f"SELECT seq FROM {kind.table} WHERE id = :id", {"id": number})
            item = (kind.number, number, seq)
        clients = proposal.clients if proposal.text == text.piece.text else None
        states = [
            TextState(path, proposal.digest, line, clients, *item, self.number, self.now) for path, line in text.places
        ]
        save_states(self.transaction, self.project, states)

    def _end_states(self, kind: int, number: int) -> None:
        # the item keeps no earlier text of a document
        ended = [one for one in load_states(self.transaction, self.project) if (one.kind, one.item) == (kind, number)]
        delete_states(self.transaction, self.project, ended)

    def _line(self, proposal: Proposal, notes: list[str]) -> Line:
        at = iso(self.now)
        line: Line = {}
        if proposal.item is not None:
            kind, number = read_ref(proposal.item)
            line = lines_of(self.transaction, self.project, kind.name.lower(), [number])[number]
            line.pop("id", None)
        if proposal.why == REMOVED:
            return line | self._ending(proposal, line["uid"])
        cleaned = storable(proposal.text)
        notes += [f"{proposal.ref}: {note}" for note in cleaned.notes]
        text = cleaned.text.strip()
        kind_name = KIND_OF[proposal.kind].name.lower()
        common: Line = {"kind": kind_name, "agent": self.person}
        if not line:
            common |= {"uid": self._new_uid(proposal, kind_name), "created_at": at}
        if proposal.kind == NOTE:
            return line | common | {"type": "discovery", "run": MAIN_RUN, "content": text, "created_at": at}
        common["paths"] = list(proposal.paths)
        if proposal.kind == DECISION:
            reason = storable(proposal.reason).text.strip()
            line.pop("rationale", None)  # it was that of the former value
            common |= {"rationale": reason} if reason else {}
            usual = {"version": "1.0.0", "key": proposal.key}
            return usual | line | common | {"value": text, "status": "active", "updated_at": at}
        priority = "high" if any(word in text for word in _URGENT) else "medium"
        usual = {"category": _CATEGORY, "priority": priority, "status": "active"}
        return usual | line | common | {"text": text, "created_at": at}

    def _ending(self, proposal: Proposal, uid: str) -> Line:
        at = iso(self.now)
        if proposal.kind == RULE:
            reason = f"removed from {proposal.path}"
            return {"status": "inactive", "reason": reason, "deactivated_by": self.person, "deactivated_at": at}
        return {"status": "deprecated", "updated_at": at} if proposal.kind == DECISION else {"superseded_by": uid}

    def _new_uid(self, proposal: Proposal, kind: str) -> str:
        # the same in every clone, unless an item that began as this text says something else by now
        uid = identity(SOURCE, kind, proposal.digest)
        table = KIND_OF[proposal.kind].table
        values = {"project": self.project, "uid": uid}
        if self.transaction.one(f"SELECT 1 FROM {table} WHERE project_id = :project AND uid = :uid", values):
            uid = os.urandom(16)
        return uid.hex()
