"""Results of setup as text and JSON."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from satchel.interfaces.setup.checking import ClientCheck, Standing
from satchel.interfaces.setup.clients import CLIENTS, Place, Wish
from satchel.interfaces.setup.editing import Append, Change, Put, edited
from satchel.interfaces.setup.entries import TOKEN_INPUT
from satchel.interfaces.setup.guide import Verdict
from satchel.interfaces.setup.parts import NAME, Keys
from satchel.interfaces.setup.planning import Edit, Plan, Way
from satchel.redaction import redact
from satchel.remote.where import TOKEN

_FORMS: Mapping[str, Mapping[str, object]] = {
    "claude": {"type": "http", "url": "", "headers": f"${{{TOKEN}}}"},
    "codex": {"url": "", "bearer_token_env_var": TOKEN},
    "gemini": {"httpUrl": "", "headers": f"${{{TOKEN}}}"},
    "qwen": {"httpUrl": "", "headers": f"${{{TOKEN}}}"},
    "copilot": {"type": "http", "url": "", "headers": f"${{{TOKEN}}}", "tools": ["*"]},
    "opencode": {"type": "remote", "url": "", "headers": f"{{env:{TOKEN}}}", "oauth": False},
    "cursor": {"url": "", "headers": f"${{env:{TOKEN}}}"},
    "vscode": {"type": "http", "url": "", "headers": f"${{input:{TOKEN_INPUT}}}"},
}

_QUESTION = {"type": "promptString", "id": TOKEN_INPUT, "description": "Token for the Satchel server", "password": True}


def http_entry(client: str, url: str) -> dict[str, object]:
    """Return the entry of a client; an unknown one gets that of Claude Code, which most others read."""
    entry = dict(_FORMS.get(client, _FORMS["claude"]))
    for key in ("url", "httpUrl"):
        if key in entry:
            entry[key] = f"{url}/mcp"
    if "headers" in entry:
        entry["headers"] = {"Authorization": f"Bearer {entry['headers']}"}
    return entry


def http_changes(client: str, place: Keys, url: str) -> list[Change]:
    """Return what to write into a client's file: the entry, and in VS Code the question for the token."""
    question: list[Change] = [Append(("inputs",), _QUESTION)] if client == "vscode" else []
    return [Put((*place, NAME), http_entry(client, url)), *question]


def token_step(client: str, title: str) -> str:
    """Return what the user does so that a client has the token."""
    if client == "vscode":
        return f"{title} asks for the token when it first asks the server, and keeps it"
    return f"{title} reads the token from {TOKEN}: set it where you start {title}"


_WIDTH = max(map(len, CLIENTS)) + 2
_INDENT = " " * _WIDTH


def outcome_lines(plan: Plan, place: Place, *, is_done: bool) -> Iterator[str]:
    """Yield a line for each client, with the change, or planned change, of each file."""
    edits = {edit.file.path: edit for edit in plan.edits}
    visible = [outcome for outcome in plan.outcomes if outcome.is_there]
    if not visible:
        yield "nothing of setup is there"
    width = max([_WIDTH, *(len(outcome.name) + 2 for outcome in visible)])
    for outcome in visible:
        done = ", ".join(
            f"{_CHANGES[_kind(edits[path])][0 if is_done else 1]} {short(path, place)} ({roles})"
            for path, roles in outcome.files
        )
        first, *rest = [*filter(None, [done]), *map(_plain, outcome.notes)] or ["set up already"]
        yield f"{outcome.name:<{width}}{first}"
        yield from (f"{'':<{width}}{line}" for line in rest)


def left_lines(plan: Plan, *, is_done: bool) -> Iterator[str]:
    remaining = [text for outcome in plan.outcomes for text in outcome.left]
    if is_done and any(outcome.files for outcome in plan.outcomes if outcome.name in {*CLIENTS, "server"}):
        remaining.append("Restart the clients that run now")
    if remaining:
        yield "Left for you:"
        yield from (f"- {text}" for text in remaining)


def diff_text(edit: Edit) -> str:
    """Return an edit as a unified diff; secrets next to it are redacted."""
    before, after = _lines(edit.file.text), _lines(edit.after or "")
    if edit.shown:
        before, after = [edit.shown] if edit.after is None else [], [] if edit.after is None else [edit.shown]
    old = str(edit.file.path) if edit.file.existed else "/dev/null"
    new = "/dev/null" if edit.after is None else str(edit.file.path)
    diff = "\n".join(difflib.unified_diff(before, after, old, new, lineterm=""))
    return "\n".join(map(_plain, redact(diff).text.split("\n")))


def plan_fields(plan: Plan, *, is_done: bool, notes: Sequence[str]) -> dict[str, object]:
    """Return a plan as JSON fields; one that was not carried out has the diffs of its files."""
    edits = {edit.file.path: edit for edit in plan.edits}
    return {
        "done": is_done,
        "clients": [
            {
                "name": outcome.name,
                "files": [
                    {
                        "path": path,
                        "parts": roles.split(", "),
                        "change": _CHANGES[_kind(edits[path])][0],
                        **({} if is_done else {"diff": diff_text(edits[path])}),
                    }
                    for path, roles in outcome.files
                ],
                "notes": outcome.notes,
                "left": outcome.left,
            }
            for outcome in plan.outcomes
            if outcome.is_there
        ],
        "notes": notes,
    }


def check_lines(
    checks: Sequence[ClientCheck], place: Place, *, clients_were_named: bool, note: str | None
) -> Iterator[str]:
    """Yield for each client whether it works, or the one thing left to do."""
    for one in checks:
        name, step = f"{one.name:<{_WIDTH}}", _shortened(one.step, place)
        if one.standing is Standing.NOT_SET_UP:
            place_of_it = "" if clients_were_named else "on this machine, "
            yield f"{name}{click.style(f'{place_of_it}{one.standing}', fg='yellow')}"
            continue
        colour = {Standing.WORKS: "green", Standing.NEEDS_YOU: "red"}.get(one.standing, "yellow")
        yield f"{name}{click.style(one.standing, fg=colour)}{': ' if step else ''}{step}"
        for finding in one.findings:
            if finding.verdict is Verdict.NOTE:
                yield f"{_INDENT}{_shortened(finding.detail, place)}"
        if one.standing in {Standing.WORKS, Standing.SET_UP}:
            yield from (f"{_INDENT}{text}" for text in one.left)
    if note is not None:
        yield note
    if not checks:
        yield "no client is set up or found; `satchel setup --print` shows what to write by hand"
    elif not any(one.is_set_up for one in checks):
        yield "`satchel setup` connects them"


def check_fields(checks: Sequence[ClientCheck], *, is_fine: bool, note: str | None) -> dict[str, object]:
    return {
        "ok": is_fine,
        "clients": [
            {
                "name": one.name,
                "set_up": one.is_set_up,
                "ok": one.is_set_up and one.is_fine,
                "standing": one.standing,
                "step": one.step or None,
                "findings": one.findings,
                "left": one.left,
            }
            for one in checks
        ],
        "notes": [] if note is None else [note],
    }


def by_hand_text(names: Sequence[str], place: Place, wish: Wish, url: str | None) -> str:
    """Return what to write by hand: for a known client each of its files, for another the usual entry.

    With a URL the clients ask the server there themselves.
    """
    texts = []
    for name in names:
        if name not in CLIENTS:
            local = {"command": wish.launcher, "args": ["mcp"]}
            entry = {"mcpServers": {NAME: local if url is None else http_entry(name, url)}}
            texts.append(f"# {name}: in its MCP settings\n{json.dumps(entry, indent=2)}\n")
            continue
        client = CLIENTS[name]
        if url is not None:
            target = client.targets(place, wish)[0]
            text = "" if target.syntax is None else edited("", target.syntax, http_changes(name, client.place, url))
            texts.append(f"# {token_step(name, client.title)}\n# {name}: in {target.path}\n{text}")
            continue
        merged: dict[Path, str] = {}
        for target in client.targets(place, wish):
            text = merged.get(target.path, "")
            for part in target.parts:
                text = target.put(text, part)
            merged[target.path] = text
        texts += [f"# {name}: in {path}\n{text}" for path, text in merged.items()]
    return "\n".join(text.rstrip("\n") + "\n" for text in texts).rstrip("\n")


def short(path: Path, place: Place) -> str:
    """Return a path as people write it."""
    return f"~/{path.relative_to(place.home)}" if path.is_relative_to(place.home) else str(path)


def _shortened(text: str, place: Place) -> str:
    return _plain(text.replace(f"{place.home}/", "~/"))


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _plain(line: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in line)


_CHANGES = {
    "made": ("made", "would make"),
    "changed": ("changed", "would change"),
    "deleted": ("deleted", "would delete"),
    "restored": ("restored", "would restore"),
}


def _kind(edit: Edit) -> str:
    if edit.after is None:
        return "deleted"
    if edit.way is Way.RESTORE:
        return "restored"
    return "changed" if edit.file.existed else "made"
