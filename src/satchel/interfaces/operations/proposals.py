"""Proposals: accept and reject drafts, unconfirmed rules, shared texts, texts of documents and strategies of runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from satchel.base.errors import ERROR_KINDS, Conflict, InvalidInput, NotFound, Refused, SatchelError
from satchel.base.machine import caller_elsewhere
from satchel.base.text import shortened
from satchel.interfaces.operations import text
from satchel.interfaces.operations.declaration import Operation, Parameter
from satchel.interfaces.operations.sharing import ONLY_HERE

if TYPE_CHECKING:
    from satchel.brief.room.records import Settled
    from satchel.client import Satchel
    from satchel.keep.decisions.records import Decision

_ASK = "Ask your user to run `satchel status`, which lists what waits, in a terminal"

# The fields of a SettledProposal, whose module is imported when something is decided.
_Fields = tuple[str, str | None, str, tuple[str, ...], bool]


def _accept(satchel: Satchel, *, refs: Sequence[str] = (), all: bool = False) -> Settled:  # noqa: A002 -- the option's name
    return _settle(satchel, refs, is_all=all, is_accepted=True)


def _reject(
    satchel: Satchel,
    *,
    refs: Sequence[str] = (),
    all: bool = False,  # noqa: A002 -- as above
    reason: str | None = None,
) -> Settled:
    return _settle(satchel, refs, is_all=all, is_accepted=False, reason=reason)


def _settle(
    satchel: Satchel, refs: Sequence[str], *, is_all: bool, is_accepted: bool, reason: str | None = None
) -> Settled:
    from satchel.brief.room.records import Settled, SettledProposal
    from satchel.keep.sessions.actors import require_person

    refs = [ref.strip() for ref in refs]
    if bool(refs) == is_all or "" in refs:
        raise InvalidInput("name what to decide on, or give --all", "`satchel status` lists what waits")
    work = satchel.workplace
    require_person(work, f"{'accept' if is_accepted else 'reject'} proposals", _ASK, agent=work.agent)
    done: list[SettledProposal] = []
    failed: list[tuple[str, str]] = []
    for ref in refs or ("",):
        try:
            fields = _settled(satchel, ref, reason, is_accepted=is_accepted)
            done += [SettledProposal(*one) for one in fields]
        except SatchelError as error:
            if len(refs) < 2:
                raise
            failed.append((ref, error.problem))
    return Settled(is_accepted, tuple(done), tuple(failed))


def _settled(satchel: Satchel, ref: str, reason: str | None, *, is_accepted: bool) -> Iterator[_Fields]:
    item, _, revision = ref.partition("@")
    is_item = re.fullmatch(r"c\d+|d\d+(@\d{1,9})?", ref, re.ASCII)
    record: Any = satchel.items.read([item]).items[0].record if is_item else None
    if getattr(record, "status", "") == "draft":
        from satchel.keep.decisions.records import KEEP

        if record.revision != int(revision or (1 if is_accepted else record.revision)):
            raise _changed(satchel, record, "accept" if is_accepted else "reject")
        status = "active" if is_accepted else "deprecated"
        why = KEEP if reason is None else reason
        now = satchel.decisions.set(record.key, status=status, rationale=why, expected_revision=record.revision)
        yield item, now.ref, f"{now.key}: {now.value}", now.notes, False
    elif getattr(record, "unconfirmed", False):
        correct = satchel.corrections
        result = correct.confirm(ref) if is_accepted else correct.retract(ref, reason or "rejected")
        yield ref, ref, result.text, result.notes, False
    elif reason is not None:
        raise InvalidInput(f"{ref[:80]} is no draft and no rule: its rejection has no reason", "Leave --why out")
    elif ref.startswith("proposal:") and is_accepted:
        saved = satchel.room.accept_proposal(ref)
        yield ref, saved.ref, f"{saved.topic}: {saved.insight}", (), False
    elif ref.startswith("proposal:"):
        satchel.room.reject_proposal(ref)
        yield ref, None, "strategy", (), False
    else:
        caller = satchel.workplace.caller
        if (caller is not None and caller.is_remote) or caller_elsewhere() is not None:
            what = "over a server only a draft, an unconfirmed rule or a strategy is accepted or rejected"
            raise Refused(f"{ref[:80] or '--all'}: {what}", ONLY_HERE)
        try:
            yield from _shared(satchel, ref, is_accepted=is_accepted)
        except NotFound:
            yield from _of_documents(satchel, ref, is_accepted=is_accepted)


def _changed(satchel: Satchel, draft: Decision, verb: str) -> Conflict:
    # as on the page: what is proposed now is shown before it is accepted
    text = next((one.text for one in satchel.room.needs().items if one.ref == draft.ref), f"{draft.key}: {draft.value}")
    return Conflict(
        f"{draft.ref} has revision {draft.revision} now: {shortened(text)}",
        f"`satchel show {draft.ref}` shows it whole, `satchel {verb} {draft.ref}@{draft.revision}` {verb}s it",
    )


def _shared(satchel: Satchel, ref: str, *, is_accepted: bool) -> Iterator[_Fields]:
    decide = satchel.shared.accept if is_accepted else satchel.shared.reject
    result = decide([ref]) if ref else decide(all=True)
    for one in result.items:
        yield one.ref or one.uid[:8], one.ref, f"{one.kind} {one.title or ''}".strip(), result.notes, False
    if result.failed:
        raise Refused(": ".join(result.failed[0]), "It still waits")


def _of_documents(satchel: Satchel, ref: str, *, is_accepted: bool) -> Iterator[_Fields]:
    try:
        decided = satchel.documents.accept([ref]) if is_accepted else satchel.documents.reject([ref])
    except NotFound as error:
        raise NotFound(f"nothing that waits is called {ref[:80]!r}", "`satchel status` lists what waits") from error
    for one, item in decided.items:
        yield one.ref, item, f"{one.kind} {one.text}", decided.notes, False
    for one in decided.left_out:
        yield one.ref, None, f"it has {', '.join(one.marks)}; name it if it is right", (), True
    if decided.failed:
        raise Refused(": ".join(decided.failed[0]), "It still waits")


_PARAMETERS = (
    Parameter("refs", list[str], option="REF...", metavar="REF"),
    Parameter("all", bool, help="All that others shared."),
)

_operation = partial(
    Operation,
    writes=True,
    names_files=False,
    text=text.sharing.settled_text,
    shows_notes=True,
    status=lambda settled: ERROR_KINDS["incomplete"].exit_status if settled.failed else None,
)

_REFS = (
    "\n\nREF is the id of a decision or a rule, as `satchel status` prints it (d4@2: d4 while it has revision 2); the "
    "id, file or beginning of the uid of a shared text (`satchel share --list`); a place such as AGENTS.md:12, or a "
    "document (`satchel import docs`); or a proposed strategy (proposal:5). Only a person decides."
)

OPERATIONS = (
    _operation(
        run=_accept,
        parameters=_PARAMETERS,
        command=("accept",),
        help="Let what is proposed hold; its author gets a message. What it replaces is kept in its history. Of a "
        f"whole document what hides characters, comments or secrets is left out.{_REFS}",
        examples=("accept d2", "accept c4 AGENTS.md:12", "accept --all"),
    ),
    _operation(
        run=_reject,
        parameters=(
            *_PARAMETERS,
            Parameter("reason", help="Why; the author of a decision or rule is told.", option="--why"),
        ),
        command=("reject",),
        help="Reject what is proposed; its author gets a message. Shared texts and documents propose it again once it "
        f"changes there.{_REFS}",
        examples=('reject d2 --why "the gateway closes at 300"', "reject CONTRIBUTING.md"),
    ),
)
