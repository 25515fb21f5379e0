"""The events of clients' hooks: how each client tells what happened, and how each takes the answer.

What each client sends and takes was seen with the versions that docs/clients names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from satchel.base.records import NamedTuple
from satchel.base.text import HOST_CONTEXT, neutral
from satchel.interfaces.hooks import tools
from satchel.interfaces.hooks.tools import ToolCall
from satchel.keep.sessions import clients

# So much of a prompt is read at its begin and as much at its end: a person writes before and after what is pasted.
_PROMPT_END_CHARS = 3_000

_ADDED = rf"(?s)<({HOST_CONTEXT})>.*?(?:</\1>|\Z)"

# How a prompt begins that nobody wrote, such as a task's notification, or that is a command to the client.
_CLIENTS_OWN = r"<[a-z]+[-_][a-z_-]+>|\[Request interrupted|\[Function Response|Satchel: |/[\w:.-]+(?:\s|\Z)"

_PROMPT_FIELDS = ("prompt", "user_prompt", "userPrompt", "message", "text")


def prompt_of(fields: Mapping[str, object]) -> str:
    """Return what a person wrote, cut in its middle where it is long; empty where nobody wrote anything."""
    values = next((fields[name] for name in _PROMPT_FIELDS if fields.get(name) is not None), "")
    text = ends(_prompt_text(values), _PROMPT_END_CHARS)
    text = re.sub(_ADDED, " ", text).strip()
    return "" if re.match(_CLIENTS_OWN, text) else text


def ends(text: str, chars: int) -> str:
    """Return a text without its middle where it is long."""
    text = text.strip() if len(text) <= 4 * chars else text
    return text if len(text) <= 2 * chars else f"{text[:chars]}\n…\n{text[-chars:]}"


def _prompt_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_prompt_text, value)))
    if isinstance(value, dict) and value.get("type", "text") == "text":
        return _prompt_text(value.get("text"))
    return ""


CLIENTS = tuple(client.name for client in clients.CLIENTS)

START, CLEAR, RESUME, COMPACTION, SUBAGENT, END = "start", "clear", "resume", "compaction", "subagent", "end"
TURN_END = "the end of a turn"
# Of a client that says nothing once it has compacted its conversation: what is to be said then comes later.
COMPACTING = "about to compact"
PROMPT, BEFORE_EDIT, AFTER_EDIT, AFTER_READ, FAILED, SUCCEEDED, ENDED, APPROVED = (
    "a prompt",
    "before an edit",
    "after an edit",
    "after a file was read",
    "a command failed",
    "a command succeeded",
    "a command ended",
    "a plan was approved",
)
AT_WORK = frozenset({PROMPT, BEFORE_EDIT, AFTER_EDIT, AFTER_READ, FAILED, SUCCEEDED, ENDED, APPROVED})

BRIEFED = frozenset({START, CLEAR, RESUME, COMPACTION, SUBAGENT})

MAX_BYTES = 4 * 1024 * 1024

_MAX_FIELD_CHARS = 4_096
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_HAPPENINGS = {"sessionstart": START, "subagentstart": SUBAGENT, "sessionend": END, "sessioncompacted": COMPACTION}
_TURN_ENDS = frozenset({"stop", "afteragent", "agentstop", "sessionidle"})
_PROMPT_EVENTS = frozenset(
    {"userpromptsubmit", "beforeagent", "userpromptsubmitted", "beforesubmitprompt", "chatmessage"}
)
_TOOL_EVENTS = {
    "pretooluse": "before",
    "beforetool": "before",
    "posttooluse": "after",
    "aftertool": "after",
    "posttoolusefailure": "failure",
    "toolexecutebefore": "before",
    "toolexecuteafter": "after",
}
_SOURCES = {"clear": CLEAR, "resume": RESUME, "compact": COMPACTION}

# Clients that give nothing to the model before a tool runs but why it does not.
_SILENT_BEFORE = frozenset({"gemini", "qwen", "cursor", "opencode"})

# Clients that give nothing to the model after a tool that failed itself.
_SILENT_ON_FAILURE = frozenset({"cursor", "gemini"})

# Clients and their modes in which a dialog about an edit comes from a hook alone: in others it says nothing.
_ASKING = frozenset({("claude", "acceptEdits")})

# Clients that give nothing to the model at a prompt.
_SILENT_AT_PROMPT = frozenset({"cursor", "vscode"})

# Clients that show a person the ``systemMessage`` of a hook as information; Codex shows it as a warning.
SHOWS_A_LINE = frozenset({"claude", "gemini"})

# Clients that take what they were given at the start out of a conversation that is resumed.
FORGETFUL = frozenset({"copilot", "gemini", "qwen"})

# Clients without an event that carries a text after a compaction: a later one does.
SAYS_NOTHING_AFTER_COMPACTION = frozenset({"copilot"})

# Clients that do not name calls of tools: the time of the event tells one from the same call again.
_WITHOUT_CALL_IDS = frozenset({"copilot", "gemini"})

# Reasons for which a conversation ends while its client goes on with another one in the same session.
_GOES_ON = frozenset({"clear", "resume"})


class NotAnEventError(ValueError):
    """An event that cannot be parsed."""


class HookEvent(NamedTuple):
    """An event of a client.

    Attributes:
        client: whose event it is, as the event itself shows: Cursor and VS Code run the hooks of Claude Code too.
        name: the event's name, as the client gave it.
        happening: what it means here; empty where it means nothing.
        session_id: what the client calls its session, or None.
        cwd: the folder that the client works in, or None.
        agent_id, agent_type: its subagent, or None.
        detail: what tells it from other events of that name in the session.
        reason: why a session ended, or None.
        tool: what the agent does, or did, with a tool of the client.
        mode: the client's mode of permissions, or None.
        prompt: a person's text or a subagent's task, without its middle where it is long.
    """

    client: str
    name: str
    happening: str
    session_id: str | None = None
    cwd: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    detail: str = ""
    reason: str | None = None
    tool: ToolCall | None = None
    mode: str | None = None
    prompt: str = ""

    @property
    def can_ask(self) -> bool:
        """Whether the client asks its user about an edit where a hook wants that, if there is a user."""
        return (self.client, self.mode) in _ASKING and self.agent_id is None

    @property
    def owes_fixes(self) -> bool:
        """Whether the client gives its model no text when a tool fails, so that a fix comes at a later event."""
        return self.client in _SILENT_ON_FAILURE

    @property
    def is_heard(self) -> bool:
        return not (self.owes_fixes and self.tool is not None and self.tool.has_failed)

    @property
    def is_heard_before(self) -> bool:
        """Whether the client gives its model a text before a tool runs."""
        return self.client not in _SILENT_BEFORE

    @property
    def who(self) -> tuple[str, str]:
        """The client's ids of the session and of the subagent in which it happened, empty where there is none."""
        return self.session_id or "", self.agent_id or ""

    @property
    def carries_late_text(self) -> bool:
        """Whether its answer may begin with what an earlier hook owes."""
        return self.is_heard and self.happening in {PROMPT, AFTER_EDIT, AFTER_READ, FAILED, SUCCEEDED, ENDED}

    @property
    def key(self) -> str:
        """The key of the event, the same for every hook that receives it."""
        # not the client: one event may reach us through the hooks of two
        parts = (self.session_id or "", self.happening, self.agent_id or "", self.detail)
        return " ".join("".join(part.split())[:100] for part in parts)


def parse(data: bytes, client: str, name: str) -> HookEvent:
    if len(data) > MAX_BYTES:
        raise NotAnEventError(f"the event is larger than {MAX_BYTES // 1024 // 1024} MiB")
    try:
        fields = _read(data)
    except (ValueError, RecursionError) as error:
        if data.lstrip()[:1] == b"{" and not isinstance(error, json.JSONDecodeError):
            return HookEvent(client, name, "")  # too deep, or a number of thousands of digits: nothing to do with us
        raise NotAnEventError(f"the event is no JSON ({error})"[:200]) from error
    if not isinstance(fields, dict):
        raise NotAnEventError(f"the event is no JSON object, but {type(fields).__name__}")
    client = _client(fields, client)
    name = _text(fields, "hook_event_name", "hookEventName") or name
    plain = _plain(name)
    happening = _HAPPENINGS.get(plain, "")
    source = clients.check_host_id(_text(fields, "source")) or ""
    reason = _text(fields, "reason", "final_status")
    if happening == START:
        happening = _SOURCES.get(source, START)
    elif happening == END and reason in _GOES_ON:
        happening = ""
    elif client in SAYS_NOTHING_AFTER_COMPACTION and plain == "precompact":
        happening = COMPACTING
    elif plain in _TURN_ENDS:
        happening = TURN_END
    tool, detail = None, source
    when = _TOOL_EVENTS.get(plain)
    if when is not None:
        tool = tools.read(fields, client, is_failure=when == "failure")
        happening = _at_tool(tool, when)
        if tool is not None:
            detail = f"{tool.id} {_time(fields)}" if client in _WITHOUT_CALL_IDS else tool.id
    prompt = ""
    is_prompt = plain in _PROMPT_EVENTS and client not in _SILENT_AT_PROMPT
    if is_prompt or happening == SUBAGENT:
        prompt = prompt_of(fields)
    if is_prompt:
        happening = PROMPT if prompt else ""
        detail = _digest(prompt) if prompt else source
    agent_id = clients.check_host_id(_text(fields, "agent_id", "agentId", "subagent_id"))
    session_id = _text(fields, "session_id", "sessionId", "conversation_id")
    if client == "copilot" and agent_id is not None:  # a subagent has a session of its own there
        session_id = _text(fields, "parentAgentId") or session_id
    return HookEvent(
        client=client,
        name=name,
        happening=happening,
        session_id=clients.check_host_id(session_id),
        cwd=_text(fields, "cwd", "directory") or _first_root(fields),
        agent_id=agent_id,
        agent_type=_text(fields, "agent_type", "agentType", "agent_name", "agentName", "subagent_type"),
        detail=detail,
        reason=reason,
        tool=tool,
        mode=_text(fields, "permission_mode"),
        prompt=prompt,
    )


def is_of_work(name: str) -> bool:
    """Whether events of a name tell of prompts or tools: what is done at one depends on what it tells."""
    plain = _plain(name)
    return plain in _TOOL_EVENTS or plain in _PROMPT_EVENTS


def _plain(name: str) -> str:
    return "".join(filter(str.isalpha, name.lower()))


def is_whole(data: bytes) -> bool:
    """Whether a text holds one complete JSON object, whatever follows it."""
    try:
        return bool(data.strip()) and isinstance(_first_value(data), dict)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        return True  # it will not get any better


def _first_value(data: bytes) -> object:
    text = data.decode("utf-8-sig", "replace").lstrip()
    return json.JSONDecoder().raw_decode(text)[0] if text else {}


def _read(data: bytes) -> object:
    value = _first_value(data)
    if _SURROGATE.search(data) is None:
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _digest(prompt: str) -> str:
    from zlib import crc32

    return f"{crc32(prompt.encode(errors='replace')):08x}"


def _at_tool(tool: ToolCall | None, when: str) -> str:
    if tool is None:
        return ""
    if tool.command is not None:
        if when == "before":
            return ""
        return {True: FAILED, False: SUCCEEDED, None: ENDED}[tool.command.has_failed]
    if tool.plan is not None:
        return APPROVED if when == "after" else ""
    if tool.reads and when == "after":
        return AFTER_READ
    if tool.edits and not tool.has_failed:
        return BEFORE_EDIT if when == "before" else AFTER_EDIT
    return ""


def answer(event: HookEvent, text: str, session: str | None = None, line: str = "") -> str:
    """Return what a hook prints so that its client gives a text to the model."""
    text = neutral(text)
    if event.client == "cursor":
        return _json({"additional_context": text, **({"env": {"SATCHEL_SESSION": session}} if session else {})})
    if event.client == "copilot":
        return _json({"additionalContext": text})
    if event.client == "opencode":  # our own plugin
        return _json({"additionalContext": text, **({"session": session} if session else {})})
    shown = {"systemMessage": line} if line else {}
    if not text:
        return _json(shown)
    return _json(shown | {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})


def notify_person(event: HookEvent, text: str) -> str:
    """Return what a start hook prints so that the person sees a line, or the model where the client shows none."""
    answered: dict[str, object] = json.loads(answer(event, text))
    return _json(answered | ({"systemMessage": text} if "hookSpecificOutput" in answered else {}))


def stop_edit(event: HookEvent, reason: str) -> str:
    """Return what a hook prints so that its client does not run an editing tool, and tells its model why."""
    if event.client == "gemini":  # it shows its user neither the call nor the reason, only this message
        return _json({"decision": "deny", "reason": reason, "systemMessage": reason})
    if event.client == "cursor":
        return _json({"permission": "deny", "user_message": reason, "agent_message": reason})
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    if event.client in {"copilot", "opencode"}:
        return _json(decision)
    if event.client == "vscode":  # it shows the reason to its user
        decision["additionalContext"] = reason
    return _json({"hookSpecificOutput": {"hookEventName": event.name, **decision}})


def ask_about_edit(event: HookEvent, reason: str) -> str:
    """Return what a hook prints so that its client asks its user whether an editing tool may run."""
    # Claude Code shows the user no reason in its dialog, but the message beside the edit once it is made
    decision = {"permissionDecision": "ask", "permissionDecisionReason": reason, "additionalContext": reason}
    return _json({"systemMessage": reason, "hookSpecificOutput": {"hookEventName": event.name, **decision}})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _client(fields: Mapping[str, object], client: str) -> str:
    if "conversation_id" in fields or "cursor_version" in fields:
        return "cursor"
    if "hookEventName" in fields:
        return "vscode"
    if "sessionId" in fields and "hook_event_name" not in fields:
        return "copilot"
    return client


def _text(fields: Mapping[str, object], *names: str) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return value[:_MAX_FIELD_CHARS]
    return None


def _time(fields: Mapping[str, object]) -> str:
    value = fields.get("timestamp")
    return str(value) if isinstance(value, (int, str)) else ""


def _first_root(fields: Mapping[str, object]) -> str | None:
    roots = fields.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return first[:_MAX_FIELD_CHARS] if isinstance(first, str) and first.strip() else None
