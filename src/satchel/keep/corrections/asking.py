"""Requests by agents for corrections that only persons, or the one who set a decision, may make."""

from __future__ import annotations

from typing import Any

from satchel.base.text import shortened
from satchel.base.vocabulary import HUMAN
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.corrections.log import Corrector
from satchel.keep.messages import updates as messages
from satchel.keep.names import ensure_agent
from satchel.store.transaction import Transaction


def ask_person(
    transaction: Transaction,
    work: projects.Workplace,
    project_id: int,
    by: Corrector,
    record: Any,
    short: str,
    reason: str | None,
) -> str:
    # returns the short id of the message
    person, _ = ensure_agent(transaction, project_id, HUMAN, by.now)
    text = f'{by.name or "an agent"} asks you to retract {record.ref} "{short}"{because(reason)}. '
    return ask(transaction, work, project_id, by, person, f"{text}`satchel retract {record.ref}` does it")


def ask(transaction: Transaction, work: projects.Workplace, project_id: int, by: Corrector, to: int, text: str) -> str:
    number = messages.post(
        transaction,
        project_id,
        sender_id=by.agent,
        to_id=to,
        type="request",
        priority="high",
        text=text,
        now=by.now,
        retention=work.retention,
    )
    return Kind.MESSAGE.ref(number)


def because(reason: str | None) -> str:
    return "" if reason is None else f" because: {shortened(reason)}"
