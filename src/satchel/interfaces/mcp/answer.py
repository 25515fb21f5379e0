"""The answer of a tool, as text or JSON, with the notice for its reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from satchel.client import Satchel
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.faults import reason_of


def answer(
    call: Call[Satchel],
    form: str,
    text: Callable[[], str],
    fields: Callable[[], Mapping[str, object]],
    *,
    agent: str | None = None,
    files: Sequence[str | None] = (),
    taken: Sequence[str] = (),
) -> str:
    """Render the answer to a completed call."""
    call.is_done = True
    # rendered before the notice, which reads the store too and may be requested only once
    work = call.service.workplace
    parts = [notice_for(call, agent, files, taken)]
    if work.caller is not None:
        parts.append(work.caller.pop_warning())
    notice = "\n".join(part for part in parts if part is not None) or None
    return json_answer(fields(), notice) if form == "json" else text_answer(text(), notice)


def notice_for(
    call: Call[Satchel], agent: str | None, files: Sequence[str | None] = (), taken: Sequence[str] = ()
) -> str | None:
    """Return the notice for an answer, or None; if the look-up fails, a notice that reports this."""
    try:
        with call.on_cancel(call.service.interrupter()):
            return call.service.notices.line(
                agent=agent, files=[file for file in files if file is not None], shown_by="get_messages", taken=taken
            )
    except Exception as error:  # noqa: BLE001 - the answer stands without it, and what was written is written
        reason = call.hide(reason_of(error, "a notice"), getattr(error, "code", ""))
        return f"notice: claims and messages of others could not be looked up ({reason})"


def notice_beside_error(call: Call[Satchel], arguments: Mapping[str, object]) -> str | None:
    """Return the notice for an error, or None if it cannot be looked up."""
    agent = arguments.get("agent")
    with suppress(Exception), call.on_cancel(call.service.interrupter()):
        return call.service.notices.line(agent=agent if isinstance(agent, str) else None, shown_by="get_messages")
    return None


def json_answer(fields: Mapping[str, object], notice: str | None) -> str:
    value = fields if notice is None else {**fields, "notice": notice}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_answer(text: str, notice: str | None) -> str:
    return text if notice is None else f"{text}\n{notice}"
