"""The decision whether a caller is a person, and the refusal of what only persons may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from satchel.base.errors import Refused, Unconfirmed
from satchel.base.records import NamedTuple
from satchel.keep.sessions.clients import VARIABLE, editor_named

if TYPE_CHECKING:
    from satchel.keep.sessions.caller import Caller

# The environment variable by which a script that a person runs acts as that person.
PERSON_VARIABLE = "SATCHEL_PERSON"


class Standing(NamedTuple):
    """Whether a caller is a person; if not, ``why`` and ``hint`` tell the reason and a remedy.

    Attributes:
        may_pass: whether it may do what only persons may; False too for a person who has yet to confirm it.
    """

    is_person: bool
    may_pass: bool
    why: str = ""
    hint: str = ""


def standing_of(caller: Caller | None) -> Standing:
    if caller is None:
        return _agent("a program that uses the library counts as an agent", _NAME_IT)
    if caller.is_remote and caller.is_of_person:
        return _PERSON
    if caller.is_remote or caller.is_server or caller.is_hook or caller.is_of_person is False:
        return _agent()
    what = "program" if caller.is_library else "command"
    if caller.environ.get(VARIABLE):
        return _agent(f"this {what} counts as an agent's: {VARIABLE} is set", f"run `unset {VARIABLE}` first")
    is_named = bool(caller.is_of_person or caller.environ.get(PERSON_VARIABLE))
    if caller.is_library and not is_named:
        return _agent("this program counts as an agent's", _NAME_IT)
    if caller.hosts:
        host = caller.hosts[0]
        return _agent(
            f"this {what} counts as an agent's: it runs in {host.client.name} ({host.evidence})",
            "run it in a terminal that was not started by a client",
        )
    if is_named:
        return _PERSON
    from satchel.base import processes

    editor = editor_named(caller.environ)
    if editor is not None:
        return Standing(True, False, f"this command runs in {editor}, where agents work too", _CONFIRM_IT)
    if not processes.has_terminal():
        return Standing(True, False, "this command runs without a terminal, as those of agents do", _RUN_IT)
    return _PERSON


def require_person(caller: Caller | None, action: str, remedy: str, person: Callable[[], str]) -> None:
    """Refuse an action, as in "pin items", to all but persons; services call it through ``actors``.

    ``remedy`` is what an agent does instead. Raises Unconfirmed if a person may call, who has to confirm it.
    """
    standing = standing_of(caller)
    if standing.may_pass:
        return
    problem = f"only a person can {action}"
    problem += f", and {standing.why}" if standing.why else ""
    if standing.is_person:
        raise Unconfirmed(problem, standing.hint, person=person())
    raise Refused(problem, f"{remedy}. If you are a person, {standing.hint}" if standing.hint else remedy)


def _agent(why: str = "", hint: str = "") -> Standing:
    return Standing(False, False, why, hint)


_PERSON = Standing(True, True)
_NAME_IT = f"set {PERSON_VARIABLE} to your name"
_RUN_IT = f"Run it in a terminal, or set {PERSON_VARIABLE} to your name in your script"
_CONFIRM_IT = f"Confirm it at a terminal, or set {PERSON_VARIABLE} to your name in your script"
