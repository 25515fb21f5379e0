"""A project with something of every kind, in which every field that a person or agent may fill holds a text."""

from __future__ import annotations

from collections.abc import Mapping

from consult.answered_turns import known, take_turn
from satchel import Satchel
from satchel.consult.records import ConversationKey


def stock(satchel: Satchel, text: str = "a plain text", *, number: int = 0) -> Mapping[str, str]:
    """Keep something of every kind.

    Args:
        text: stands wherever a text of any form is taken.
        number: makes names differ from those of another stock.

    Returns:
        The pages of what was kept, each with a text that it must show the beginning of.
    """
    agent, other, text = f"builder{number}", f"reviewer{number}", f"{number} {text}"
    name = f"name{number}"
    satchel.runs.start(name, title=text[:250].replace("\n", " "))
    first = satchel.decisions.set(f"key{number}", text, tags=[name], layer="data", rationale=text, agent=agent)
    satchel.decisions.set(f"key{number}", f"{text}\nand more", version="2.0.0", rationale=text, agent=other)
    rule = satchel.constraints.add(text, category="security", priority="high", tags=[name], agent=agent)
    note = satchel.entries.write("discovery", text, run_id=name, loop_id=name, task_id=name, agent=agent)
    satchel.entries.write("review_verdict", {"passed": False, "summary": text[:40_000]}, task_id=name, agent=other)
    satchel.entries.write(
        "scratchpad", {"attempted": [text[:20_000]], "next_step": text[:20_000]}, task_id=name, agent=agent
    )
    error = satchel.patterns.report("TypeError", text, stack=text, solution=text, loop_id=name, agent=agent)
    assert error.recorded is not None
    satchel.patterns.outcome(error.recorded.ref, True, agent=other)
    satchel.patterns.outcome(error.recorded.ref, False, agent=f"tester{number}")
    asked = satchel.messages.send(text, to=other, priority="high", payload={"data": text}, agent=agent)
    satchel.messages.send(text, reply_to=asked.ref, agent=other)
    satchel.packages.save(text[:150].replace("\n", " "), content=text, consumers=[name], task_id=name, agent=agent)
    strategy = satchel.strategies.save(name, text[:400], lang="python", agent=agent)
    key = ConversationKey("compatible:tiny", name)
    conversations = satchel.consulting.conversations
    take_turn(conversations, known("src/a.py"), key=key, question=text, prompt=text, answer=text)
    return {
        f"items/{error.recorded.ref}": error.recorded.text,
        f"items/{first.ref}": str(first.value),
        f"items/{rule.ref}": rule.text,
        f"items/{note.ref}": note.content,
        f"items/{error.pattern.ref}": error.pattern.error_type,
        f"items/{asked.ref}": asked.message,
        f"items/{strategy.ref}": strategy.insight,
    }
