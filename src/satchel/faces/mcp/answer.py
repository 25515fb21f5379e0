"""How a tool answers: as text or JSON, with the notice that its receiver should see."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from satchel.client import Satchel
from satchel.faces.mcp.call import Call


def answer(
    call: Call[Satchel],
    form: str,
    text: Callable[[], str],
    fields: Callable[[], Mapping[str, object]],
    *,
    agent: str | None = None,
    files: Sequence[str | None] = (),
) -> str:
    """Render an answer.

    Args:
        form: text or json.
        text: makes the text.
        fields: makes the JSON object.
        agent: who gets it; None is the default agent.
        files: the files it names; what others have claimed of them is said in its last line.
    """
    with call.on_cancel(call.service.interrupter()):
        notice = call.service.notices.line(agent=agent, files=[file for file in files if file is not None])
    if form == "json":
        value = dict(fields())
        if notice is not None:
            value["notice"] = notice
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text() if notice is None else f"{text()}\n{notice}"
