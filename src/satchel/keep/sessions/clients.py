"""Known clients, the environment variables of their sessions, and the columns of a session that calls need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.records import NamedTuple

if TYPE_CHECKING:
    from satchel.store.transaction import Transaction

# The environment variable with a session's uid in hexadecimal.
VARIABLE = "SATCHEL_SESSION"

# Stored as the client of session ids from HTTP requests; an impossible client name.
OF_TOKENS = "@token"


class Client(NamedTuple):
    """A program that runs agents.

    Attributes:
        prefixes: starts of its MCP ``clientInfo.name``, and its program's names.
        markers: other variables that its commands see.
        id_in_calls: the key of its session id in the ``_meta`` of calls, if its servers lack the variable.
        has_many: whether one process runs several conversations at a time.
        is_editor: whether people work in its terminals, so that its program alone does not indicate an agent.
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

# Variables of the terminals of editors, with the starts of their values; agents of editors run commands there too.
_EDITORS = (("TERM_PROGRAM", ("vscode", "cursor", "windsurf", "zed")), ("TERMINAL_EMULATOR", ("jetbrains",)))

# Parts of the names of subagents that only look around.
_READ_ONLY = ("explor", "statusline", "guide")

_MAX_ID_CHARS = 200
_MAX_NAME_CHARS = 20


def client_named(name: str | None) -> Client | None:
    """Return the client that reports a name, known or new; None without a usable name."""
    if name is None:
        return None
    folded = name.strip().lower()
    client = next((one for one in CLIENTS if folded.startswith(one.prefixes)), None)
    if client is not None:
        return client
    short = re.sub(r"[^a-z0-9]+", "-", re.sub(r"[- ]?(?:mcp[- ]?)?client\b.*", "", folded)).strip("-")
    return Client(short[:_MAX_NAME_CHARS].rstrip("-"), ()) if short else None


def editor_named(environ: Mapping[str, str]) -> str | None:
    for variable, names in _EDITORS:
        value = environ.get(variable, "").lower()
        for name in names:
            if value.startswith(name):
                return name
    return None


def only_looks(kind: str | None) -> bool:
    """Return whether subagents of a kind only look around, so that they need no briefing."""
    return kind is not None and any(word in kind.lower() for word in _READ_ONLY)


def host_id(client: Client | None, environ: Mapping[str, str]) -> str | None:
    variable = None if client is None else client.id_variable
    return None if variable is None else check_host_id(environ.get(variable))


def check_host_id(value: str | None) -> str | None:
    """Return a session id as stored: hashed if it is long or unprintable or holds a secret; None if empty."""
    if not value or not value.strip():
        return None
    if len(value) <= _MAX_ID_CHARS and value.isprintable() and (_UUID_CHARS.issuperset(value) or not _is_secret(value)):
        return value
    from hashlib import sha256

    return f"sha256:{sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


_UUID_CHARS = frozenset("0123456789abcdef-")


def _is_secret(value: str) -> bool:
    from satchel.redaction import finds_secret  # most ids are UUIDs

    return finds_secret(value) is not None


class Host(NamedTuple):
    client: Client
    evidence: str


def hosts_of(environ: Mapping[str, str], programs: Iterable[str]) -> tuple[Host, ...]:
    """Return the clients that a command runs in, by its environment and ancestor programs."""
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
    """Return the client that runs a command: the nearest by program, else one with a session id, else any."""
    around = [host.client for host in hosts]
    above = (one for name in programs for one in around if name in one.prefixes)
    return next(above, None) or min(around, key=lambda one: host_id(one, environ) is None, default=None)


class State(NamedTuple):
    """The columns of a session that calls need; ``unnamed`` is the agent of calls without a name."""

    id: int
    uid: bytes
    client: str | None
    agent: int | None
    is_chosen: bool
    unnamed: int | None = None
    run: int | None = None
    task_id: str | None = None
    window: int = 1
    seen_at: int = 0
    ended_at: int | None = None
    turn_ended_at: int | None = None

    @property
    def is_idle(self) -> bool:
        """Return whether nothing was heard since its agent's turn ended."""
        return self.turn_ended_at is not None and self.seen_at <= self.turn_ended_at

    @property
    def speaker(self) -> int | None:
        """Return the agent of calls without a name: the chosen one, else the one named after the session."""
        return self.agent if self.is_chosen else self.unnamed

    def find_speaker(self, transaction: Transaction) -> tuple[int, str] | None:
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
        return f"{self.client or 'agent'}-{self.uid.hex()[:digits]}"


STATE = 'id, uid, client, agent_id, is_chosen, unnamed_id, run_id, task_id, "window", seen_at, ended_at, turn_ended_at'
