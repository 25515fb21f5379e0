"""Operations for the control room and other programs, without tool or command."""

from __future__ import annotations

from collections.abc import Callable

from satchel.interfaces.operations import parameters, services
from satchel.interfaces.operations.declaration import Operation, Parameter

_PERSON = Parameter("person", about="human:NAME, or human; default who calls")
_REF = Parameter("ref", about="The item's short id", required=True)


def _for_programs(run: Callable[..., object], *parameters: Parameter, writes: bool = False) -> Operation:
    return Operation(run=run, parameters=parameters, writes=writes, names_files=False)


OPERATIONS = (
    _for_programs(services.room.needs, _PERSON),
    _for_programs(services.room.since, _PERSON),
    _for_programs(services.room.where),
    _for_programs(services.room.status, _PERSON),
    _for_programs(services.room.conflicts),
    _for_programs(services.room.reached),
    _for_programs(services.room.thread, _REF),
    _for_programs(services.room.history, _REF),
    _for_programs(services.room.error, _REF),
    _for_programs(services.room.spending, Parameter("days", int, about="Number of days, 1 to 90; default 14")),
    _for_programs(
        services.room.sent,
        Parameter("limit", int, about="1 to 100; default 20"),
        _PERSON,
    ),
    _for_programs(services.room.facets, Parameter("kind", about="The only kind whose states and authors are counted")),
    _for_programs(
        services.room.flags,
        Parameter("refs", list[str], required=True, about="1 to 100 short ids"),
    ),
    _for_programs(
        services.room.briefings,
        Parameter("session", about="uid of a session; default all"),
        Parameter("limit", int, about="1 to 100; default 20"),
    ),
    _for_programs(services.room.worktrees),
    _for_programs(
        services.room.see,
        Parameter(
            "refs",
            list[str],
            about="What answers call id, or action, decision, rule, fix, files or correction for all of that; "
            "default every change",
        ),
        Parameter("up_to", int, about="The seq of the answer that was seen; default now"),
        _PERSON,
        writes=True,
    ),
    _for_programs(
        services.room.answer,
        Parameter("ref", required=True, about="The message"),
        Parameter("message", required=True),
        Parameter("answered_by", about="The last answer to it, as seen; default none was there"),
        _PERSON,
        writes=True,
    ),
    _for_programs(
        services.room.release,
        Parameter("session", required=True, about="uid of the session that holds the claim"),
        Parameter("path", required=True),
        Parameter("expires_at", int, required=True, about="Until when it held as it was seen, milliseconds UTC"),
        _PERSON,
        writes=True,
    ),
    _for_programs(
        services.room.restore_claim,
        Parameter("ending", int, required=True, about="The number from the answer that ended the claim"),
        _PERSON,
        writes=True,
    ),
    _for_programs(
        services.room.unsee, Parameter("ref", required=True, about="What answers call id"), _PERSON, writes=True
    ),
    _for_programs(
        services.messages.mark_unread,
        Parameter("refs", list[str], required=True, about="Messages"),
        parameters.AGENT,
        writes=True,
    ),
    _for_programs(
        services.decisions.take_back,
        Parameter("id", about="Its id or key", required=True, passed_as="key"),
        Parameter("revision", int, about="That the change to take back made", required=True),
        parameters.AGENT,
        writes=True,
    ),
)
