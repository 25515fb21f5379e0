"""What a client's files hold of setup, and what is left for its user."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from satchel.base.errors import SatchelError
from satchel.base.records import replace
from satchel.interfaces.setup.clients import CLIENTS, Client, Place, Target, Wish
from satchel.interfaces.setup.editing import parse
from satchel.interfaces.setup.parts import NAME, Found, Hooks, State
from satchel.interfaces.setup.texts import TextPart
from satchel.interfaces.setup.trust import trust_step


def found_in(text: str, target: Target) -> list[tuple[str, Found]]:
    """Return what each part of a file looks like in its text, by the part's role."""
    content = {} if target.syntax is None else parse(text, target.syntax)
    return [
        (part.role, part.found(text) if isinstance(part, TextPart) else part.found(content)) for part in target.parts
    ]


def left_for_user(
    client: Client, place: Place, wish: Wish, text_of: Callable[[Target], str], *, is_changed: bool
) -> Iterator[str]:
    """Yield what only the user can do, or what setup does only when it is asked to."""
    name, title = client.name, client.title
    if wish.in_project:
        if name == "claude":
            yield 'Claude Code asks once whether it may start this project\'s server: choose "Use this MCP server"'
        elif name == "codex":
            yield f'{title} reads a project\'s files once its folder is trusted: start it, choose "Trust and continue"'
    elif _is_asked(client, place, wish, text_of):
        if name == "claude":
            yield f"{title} asks before each tool of Satchel; `satchel setup claude --allow` allows them all"
        else:
            without = " and leaves them out of `gemini -p`" if name == "gemini" else ""
            yield f"{title} asks before each tool of Satchel{without}; `satchel setup {name} --trust` trusts them all"
    if name in {"gemini", "qwen"} and is_changed:
        step = trust_step(client, place, in_project=wish.in_project)
        if step is not None:
            yield f"{title} starts neither server nor hooks in a folder that it does not trust: {step}"
    if name == "codex" and wish.hooks and is_changed:
        yield (
            'Codex asks at its next start whether it may run the hooks: choose "Trust all and continue"; '
            "until then it skips them, `codex exec` without a word"
        )
    if name == "vscode" and wish.hooks and not wish.in_project and not reads_hooks_of_claude(place, wish, text_of):
        yield "VS Code has no file for your own hooks; it reads Claude Code's: `satchel setup claude` writes them"
    if name == "copilot" and is_changed:
        yield f"`copilot -p` lets tools write only with --allow-tool={NAME}"


def reads_hooks_of_claude(place: Place, wish: Wish, text_of: Callable[[Target], str]) -> bool:
    """Whether VS Code finds hooks in the settings of Claude Code, which it reads too."""
    claude = CLIENTS["claude"]
    for target in claude.targets(place, wish):
        try:
            content = parse(text_of(target), claude.syntax)
        except SatchelError:
            continue
        if any(isinstance(part, Hooks) and part.take(content) for part in target.parts):
            return True
    return False


def _is_asked(client: Client, place: Place, wish: Wish, text_of: Callable[[Target], str]) -> bool:
    for target in client.targets(place, replace(wish, allowed=frozenset(CLIENTS))):
        try:
            found = found_in(text_of(target), target)
        except SatchelError:
            continue
        if any(role == "permission" and one.state is State.MISSING for role, one in found):
            return True
    return False
