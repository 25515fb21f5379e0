"""Requests by agents for corrections that only persons, or the one who set a decision, may make."""

from __future__ import annotations

from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.text import shortened
from satchel.base.vocabulary import HUMAN
from satchel.find.kind import Kind
from satchel.keep.corrections.log import Corrector, Retracted
from satchel.keep.decisions.records import Decision
from satchel.keep.messages import updates as messages
from satchel.keep.names import ensure_agent, find_agent, is_persons
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import is_by_person
from satchel.keep.texts import Storable


def ask_person(work: Workplace, by: Corrector, record: Any, short: str, reason: str | None) -> str:
    """Ask a person to retract an item, and return the message's short id."""
    person, _ = ensure_agent(by.transaction, by.project_id, HUMAN, by.now)
    text = f'{by.name or "an agent"} asks you to retract {record.ref} "{short}"{_because(reason)}. '
    return _ask(work, by, person, f"{text}`satchel retract {record.ref}` does it")


def dispute(work: Workplace, by: Corrector, decision: Decision, reason: Storable | None) -> Retracted:
    """Ask the one who set a decision to change it, or a person if that is unknown; its author changes it directly."""
    ref, setter_name = decision.ref, decision.agent
    setter = find_agent(by.transaction, by.project_id, setter_name)
    is_person = is_by_person(work, by.name)
    if is_person or (setter is not None and setter == by.agent):
        whose = "a decision" if is_person else "your own decision"
        key = f'"{decision.key}"' if " " in decision.key else decision.key
        raise InvalidInput(
            f"{ref} is {whose}; decisions are changed, not retracted",
            f"End it with set_decision key={key} status=deprecated, or set another value",
        )
    if setter is None or is_persons(setter_name):
        setter_name = setter_name or HUMAN
        setter, _ = ensure_agent(by.transaction, by.project_id, setter_name, by.now)
    short = shortened(f"{decision.key}: {decision.value}")
    text = f'{by.name or "an agent"} disputes {ref} "{short}"{_because(None if reason is None else reason.text)}. '
    text += "It stays in force until it is changed; please answer"
    message = _ask(work, by, setter, text)
    notes = () if reason is None else reason.notes
    kind = Kind.DECISION.noun
    return Retracted(ref, kind, decision, short, done=False, asked=message, notes=notes, asked_of=str(setter_name))


def _ask(work: Workplace, by: Corrector, to: int, text: str) -> str:
    number = messages.post(
        by.transaction,
        by.project_id,
        text,
        by.now,
        work.retention,
        sender=by.agent,
        to=to,
        type="request",
        priority="high",
    )
    return Kind.MESSAGE.ref(number)


def _because(reason: str | None) -> str:
    return "" if reason is None else f" because: {shortened(reason)}"
