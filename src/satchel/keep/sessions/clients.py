"""The clients that are known: how they name themselves, which variables their sessions leave, and the sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.records import NamedTuple

if TYPE_CHECKING:
    from satchel.store.transaction import Transaction

VARIABLE = "SATCHEL_SESSION"
"""The variable with the uid of a session, in hexadecimal."""

OF_TOKENS = "@token"
"""Stands for the client with the ids that requests give their sessions; no client can be named so."""


class Client(NamedTuple):
    """A program in which agents work.

    Attributes:
        name: ours for it, which the names of its agents begin with.
        prefixes: what ``clientInfo.name`` of MCP begins with, and the name of its program.
        id_variable: the variable with the id of its session, in its servers or in the commands it runs.
        markers: variables that the commands it runs see.
        id_in_calls: the key in ``_meta`` of its calls with the id of its session, where its servers lack the variable.
        has_many: whether one process of it holds several conversations at a time.
        is_editor: whether people work in its terminals, so that its program alone shows no agent.
    """

    name: str
    prefixes: tuple[str, ...]
    id_variable: str | None = None
    markers: tuple[str, ...] = ()
    id_in_calls: str | None = None
    has_many: bool = False
    is_editor: bool = False


CLIENTS = (
    Client("claude", ("claude",), "CLAUDE_CODE_SESSION_ID", ("CLAUDECODE",)),
    Client("codex", ("codex",), "CODEX_THREAD_ID", ("CODEX_SANDBOX",), "threadId", has_many=True),
    Client("gemini", ("gemini",), "GEMINI_SESSION_ID", ("GEMINI_CLI",)),
    Client("qwen", ("qwen",), "QWEN_CODE_SESSION_ID", ("QWEN_CODE",)),
    Client("copilot", ("copilot", "github-copilot"), None, ("COPILOT_CLI",)),
    Client("opencode", ("opencode",), None, ("OPENCODE",)),
    Client("cursor", ("cursor",), None, ("CURSOR_AGENT",), has_many=True, is_editor=True),
    Client("vscode", ("visual studio code", "visual-studio-code", "vscode"), has_many=True, is_editor=True),
)

_ONLY_LOOK = ("explor", "statusline", "guide")
"""What the names of subagents have in them that only look around."""

_MAX_ID_CHARS = 200
_MAX_NAME_CHARS = 20


def client_named(name: str | None) -> Client | None:
    """Return the client that calls itself by a name; an unknown one is named after what it says; None for no name."""
    if name is None:
        return None
    folded = name.strip().lower()
    known = next((one for one in CLIENTS if folded.startswith(one.prefixes)), None)
    short = re.sub(r"[^a-z0-9]+", "-", re.sub(r"[- ]?(?:mcp[- ]?)?client\b.*", "", folded)).strip("-")
    return known or (Client(short[:_MAX_NAME_CHARS].rstrip("-"), ()) if short else None)


def only_looks(kind: str | None) -> bool:
    """Whether subagents of a kind only look around, so that what a project has learned is of no use to them.

    Args:
        kind: what their client calls the kind; None is unknown.
    """
    return kind is not None and any(word in kind.lower() for word in _ONLY_LOOK)


def host_id(client: Client | None, environ: Mapping[str, str]) -> str | None:
    """Return the id that a client gave its session, from the variable that is its own; None where there is none."""
    variable = None if client is None else client.id_variable
    return None if variable is None else check_host_id(environ.get(variable))


def check_host_id(value: str | None) -> str | None:
    """Return an id of a session as it is kept; a very long one by its hash, and None for none."""
    if not value or not value.strip():
        return None
    if len(value) <= _MAX_ID_CHARS and value.isprintable():
        return value
    from hashlib import sha256

    return f"sha256:{sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


class Host(NamedTuple):
    """A client that a command runs in, and the evidence for it."""

    client: Client
    evidence: str


def hosts_of(environ: Mapping[str, str], programs: Iterable[str]) -> tuple[Host, ...]:
    """Return the clients that a command runs in: only these make it an agent's, and without one it is a person's.

    Args:
        environ: the environment of the command.
        programs: the names of the programs above the command.
    """
    above = frozenset(programs)
    hosts = []
    for one in CLIENTS:
        variables = [name for name in (one.id_variable, *one.markers) if name is not None and environ.get(name)]
        running = [] if one.is_editor else [name for name in one.prefixes if name in above]
        if variables:
            hosts.append(Host(one, f"{variables[0]} is set"))
        elif running:
            hosts.append(Host(one, f"the program {running[0]} started it"))
    return tuple(hosts)


def client_of_command(hosts: Sequence[Host], environ: Mapping[str, str], programs: Iterable[str]) -> Client | None:
    """Return the client that runs a command, where one client may run in another and hand its variables on.

    Args:
        hosts: the clients that it runs in.
        programs: the names of the programs above the command, the nearest first.

    Returns:
        The nearest whose program is known; else one with an id before one without; None outside any.
    """
    around = [host.client for host in hosts]
    above = (one for name in programs for one in around if name in one.prefixes)
    return next(above, None) or min(around, key=lambda one: host_id(one, environ) is None, default=None)


class State(NamedTuple):
    """A session, as a call needs it: the numbers of what it refers to.

    Attributes:
        agent: whose it is, and ``unnamed`` who calls in it that name nobody, or None until that is known.
        is_chosen: whether its agent was chosen for all its calls.
        run: the run that it is bound to.
    """

    id: int
    uid: bytes
    client: str | None
    agent: int | None
    is_chosen: bool
    unnamed: int | None
    run: int | None
    task_id: str | None
    window: int
    seen_at: int
    ended_at: int | None = None

    @property
    def speaker(self) -> int | None:
        """Who calls in it and names nobody: the agent that was chosen, else the one named after the session."""
        return self.agent if self.is_chosen else self.unnamed

    def find_speaker(self, transaction: Transaction) -> tuple[int, str] | None:
        """Return the number and name of :attr:`speaker`."""
        if self.speaker is None:
            return None
        name: str | None = transaction.memo.get(("speaker", self.speaker))
        if name is None:
            row = transaction.one("SELECT name FROM agents WHERE id = :id", {"id": self.speaker})
            if row is None:
                return None
            name = transaction.memo["speaker", self.speaker] = row[0]
        return self.speaker, name

    def name(self, digits: int = 4) -> str:
        """Return the name of those who name nobody in it: made of its client and the beginning of its uid."""
        return f"{self.client or 'agent'}-{self.uid.hex()[:digits]}"


STATE = 'id, uid, client, agent_id, is_chosen, unnamed_id, run_id, task_id, "window", seen_at, ended_at'
