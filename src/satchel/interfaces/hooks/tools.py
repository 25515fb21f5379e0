"""An agent's use of its client's tools: edited files, and results of commands."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress

from satchel.base.records import NamedTuple

# So much is read, from the end. Codex records a command right before it calls the hook; the record of one that had
# printed 3 MB took 68 KB, since it keeps the output in part.
_TAIL_BYTES = 256 * 1024


def exit_status(path: str, call: str) -> int | None:
    with suppress(OSError):
        for line in reversed(_end_of(path).splitlines()):
            if call.encode() in line and b'"exit_code"' in line:
                with suppress(ValueError, RecursionError, KeyError, TypeError):
                    item = json.loads(line)["payload"]["item"]
                    if item["id"] == call and type(item["exit_code"]) is int:
                        return int(item["exit_code"])
    return None


def _end_of(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return b""
        return os.pread(descriptor, _TAIL_BYTES, max(0, status.st_size - _TAIL_BYTES))
    finally:
        os.close(descriptor)


CREATED, MODIFIED, DELETED = "created", "modified", "deleted"

MAX_FILES = 1_000

_EDITING = frozenset(
    "edit write multiedit notebookedit writefile replace editfile create createfile delete deletefile insert insertedit"
    " inserteditintofile strreplace strreplaceeditor strreplacebasededittool replacestringinfile"
    " multireplacestringinfile editfiles applypatch patch searchreplace editnotebook editnotebookfile update"
    " fswrite".split()
)
_COMMANDS = frozenset(
    "bash shell runshellcommand runinterminal execcommand powershell localshell runcommand runterminalcmd"
    " runterminalcommand terminal execute shellcommand".split()
)
_READING = frozenset("read readfile view viewfile".split())
# The names of tools in all clients, in lower case and without what is neither letter nor digit.
_PLANS = frozenset({"exitplanmode"})

_PATHS = ("file_path", "filePath", "notebook_path", "notebookPath", "absolute_path", "target_file", "path", "filename")
# Clients whose events do not say of every command how it ended: without a status its result is unknown.
_SILENT_ON_STATUS = frozenset({"codex", "opencode", "vscode"})

_TEXT_CHARS = 4_000
# Of a command and its output, and of a plan: an event may be larger than what a server takes.
_LONG_TEXT_CHARS, _PLAN_CHARS = 100_000, 300_000

_PATCH_BEGIN = "*** Begin Patch"
_PATCH_LINES = (
    ("*** Add File: ", CREATED),
    ("*** Update File: ", MODIFIED),
    ("*** Delete File: ", DELETED),
    ("*** Move to: ", CREATED),
)
_MOST_WRAPPED = 8

# How near to its begin or its end an output says how the command ended, where a client writes that into it.
_STATUS_CHARS = 300

_COMMAND, _OUTPUT, _NONE = "Command: ", "Output: ", "(none)"
_LABELLED = (
    r"(?:\nError: \(none\))?(?:\nExit Code: (?P<status>\d+|\(none\)))?(?:\nSignal: (?P<signal>[^\n]+))?"
    r"(?:\nBackground PIDs: [^\n]*)?\nProcess Group PGID: [^\n]*(?:\n</untrusted_context>)?\s*\Z"
)
# Patterns, compiled on use, of how clients end the output of a command that has ended; of one that was cut short, or
# runs on, it ends otherwise.
_ENDINGS = {
    "gemini": _LABELLED,  # without a line for the status where it is 0
    "qwen": _LABELLED,
    "copilot": r"(?:\A|\n)<[^<>\n]* completed with exit code (?P<status>\d+)(?P<signal>)>\s*\Z",
}


class Edit(NamedTuple):
    """A file that a tool changes."""

    path: str
    change: str = ""


class Command(NamedTuple):
    """A command of a shell.

    Attributes:
        has_failed: whether it ended with another status than 0, or was ended; None where the client does not say.
        status: that status, or None.
        output: what it printed, as far as the client passes it on.
        folder: the one that it is run in, where the tool names it.
    """

    text: str
    has_failed: bool | None = None
    status: int | None = None
    output: str = ""
    folder: str = ""


class ToolCall(NamedTuple):
    """A call of a client's tool."""

    edits: tuple[Edit, ...] = ()
    reads: tuple[Edit, ...] = ()
    command: Command | None = None
    text: str = ""
    plan: str | None = None
    has_failed: bool = False
    id: str = ""


def read(fields: Mapping[str, object], client: str, *, is_failure: bool) -> ToolCall | None:
    """Return what an event says of a tool; None where it is none that matters here."""
    name = "".join(filter(str.isalnum, str(_first(fields, "tool_name", "toolName", "tool") or "").lower()))
    values = _input_of(_first(fields, "tool_input", "toolArgs", "toolInput", "args"))
    number = _first(fields, "tool_use_id", "toolUseId", "toolCallId", "call_id")
    is_failure = is_failure or bool(client == "gemini" and _object(fields.get("tool_response")).get("error"))
    call = ToolCall(has_failed=is_failure, id=_id(number) or _digest(name, number or values))
    if is_failure and (fields.get("is_interrupt") is True or fields.get("failure_type") == "permission_denied"):
        return None  # a person has ended it, or not let it begin
    patch = _patch_in(values) if name in _EDITING or name in _COMMANDS else ""
    if name in _COMMANDS and not (patch and _is_patching(values)):
        command = _command(fields, values, client, call.id, is_failure=is_failure)
        output = command.output[-_LONG_TEXT_CHARS:]  # only its end is read
        return call._replace(command=command._replace(text=command.text[:_LONG_TEXT_CHARS], output=output))
    if name in _EDITING or patch:
        # a file that is named may hold the text of a patch
        edits = tuple(_edits_in(values, name)) or tuple(_in_patch(patch))
        return call._replace(edits=edits[:MAX_FILES], text=patch[:_TEXT_CHARS] or _written(values)) if edits else None
    if name in _READING:
        return call._replace(reads=tuple(_edits_in(values, ""))[:MAX_FILES])
    if name in _PLANS and not is_failure:
        plan = values.get("plan") or _object(_first(fields, "tool_response")).get("plan")
        return call._replace(plan=plan[:_PLAN_CHARS]) if isinstance(plan, str) and plan.strip() else None
    return None


def _input_of(value: object) -> dict[str, object]:
    return {"input": value} if isinstance(value, str) and _PATCH_BEGIN in value[:100] else _object(value)


def _edits_in(arguments: Mapping[str, object], name: str) -> Iterator[Edit]:
    if arguments.get("command") == "view":  # one tool of several for viewing and editing
        return
    change = DELETED if name.startswith("delete") else CREATED if name.startswith("create") else ""
    result: dict[str, None] = {}
    several = [one for value in arguments.values() if isinstance(value, list) for one in value if isinstance(one, dict)]
    files = arguments.get("files")
    paths = [*(_first(one, *_PATHS) for one in (arguments, *several)), *(files if isinstance(files, list) else ())]
    for path in paths:
        if isinstance(path, str) and path.strip():
            result[path] = None
    yield from (Edit(path, change) for path in result)


def _written(arguments: Mapping[str, object]) -> str:
    inner = [one for value in arguments.values() if isinstance(value, list) for one in value if isinstance(one, dict)]
    texts = [
        value[:_TEXT_CHARS]
        for one in (arguments, *inner)
        for name, value in one.items()
        if isinstance(value, str) and name not in _PATHS
    ]
    return "\n".join(texts)[:_TEXT_CHARS]


def _patch_in(arguments: Mapping[str, object]) -> str:
    for value in arguments.values():
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, str) and _PATCH_BEGIN in one:
                return one
    return ""


def _is_patching(arguments: Mapping[str, object]) -> bool:
    command = arguments.get("command")
    first = command[0] if isinstance(command, list) and command else command
    return isinstance(first, str) and first.lstrip().startswith(("apply_patch", _PATCH_BEGIN))


def _in_patch(patch: str) -> Iterator[Edit]:
    result: dict[str, str] = {}
    last = ""
    for line in patch.split("\n"):
        for mark, change in _PATCH_LINES:
            if line.startswith(mark):
                path = line[len(mark) :].strip()
                if mark.startswith("*** Move") and last:
                    result[last] = DELETED
                if path and "\0" not in path:
                    result[path] = change
                    last = path
    yield from (Edit(path, change) for path, change in result.items())


def _command(
    fields: Mapping[str, object], arguments: Mapping[str, object], client: str, call: str, *, is_failure: bool
) -> Command:
    text = _first(arguments, "command", "cmd", "script")
    if isinstance(text, list):
        text = " ".join(one for one in text if isinstance(one, str))
    error = _first(fields, "error", "error_message") if is_failure else None
    answer = _first(fields, "tool_response", "toolResult", "tool_result", "tool_output", "result", "output")
    text = text if isinstance(text, str) else ""
    folder = _first(arguments, "workdir", "cwd", "dir_path", "directory")
    folder = folder if isinstance(folder, str) else ""
    output = _output(error) or _output(answer)
    if client in _ENDINGS:
        ended = _ended(client, text, output, is_failure=is_failure)._replace(folder=folder)
        return ended._replace(has_failed=None) if _is_unfinished(arguments, answer) else ended
    status = _status(_object(answer) if client == "cursor" else answer)
    if client == "codex":  # what it gives to hooks is the bare output
        record = fields.get("transcript_path")
        if answer is not None and isinstance(record, str):
            status = exit_status(record, call)
    elif status is None and client == "claude" and is_failure:
        begin = re.match(r"Exit code (\d{1,3})\n", f"{output[:_STATUS_CHARS]}\n")  # compiled only when it is needed
        if begin:
            status, output = int(begin[1]), output[begin.end() :]
    has_failed: bool | None = is_failure or None
    if _is_unfinished(arguments, answer):
        has_failed = None
    elif status is not None:
        has_failed = is_failure or status != 0
    elif not is_failure and client not in _SILENT_ON_STATUS and answer is not None:
        has_failed = False
    return Command(text, has_failed, status, output, folder)


def _ended(client: str, text: str, output: str, *, is_failure: bool) -> Command:
    ending = re.compile(_ENDINGS[client]).search(output, max(0, len(output) - 2 * _STATUS_CHARS))
    if ending is None:
        return Command(text, is_failure or None, None, output)
    printed = output[: ending.start()]
    if client != "copilot":  # what was run stands before what it printed in Qwen Code
        head = len(_COMMAND) + len(text) if output.startswith(_COMMAND) else 0
        printed = printed[head:].partition(_OUTPUT)[2]
    is_killed = (ending["signal"] or _NONE) != _NONE
    status: int | None = None
    if ending["status"] is None and not is_killed:
        status = 0
    elif ending["status"] not in {None, _NONE}:
        status = int(ending["status"])
    has_failed = True if is_failure or is_killed else None if status is None else status != 0
    return Command(text, has_failed, status, "" if printed == "(empty)" else printed)


def _is_unfinished(arguments: Mapping[str, object], answer: object) -> bool:
    in_background = any(arguments.get(name) is True for name in ("run_in_background", "is_background", "isBackground"))
    was = isinstance(answer, dict) and (answer.get("interrupted") is True or bool(answer.get("backgroundTaskId")))
    return in_background or was


def _output(value: object, depth: int = 0) -> str:
    if depth > _MOST_WRAPPED:
        return ""
    if isinstance(value, str):
        if value.startswith("{"):
            inner = _object(value)
            return _output(inner, depth + 1) or value if inner else value
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (_output(one, depth + 1) for one in value)))
    if isinstance(value, dict):
        printed = [_output(value.get(name), depth + 1) for name in ("stdout", "stderr")]
        if any(printed):
            return "\n".join(filter(None, printed))
        names = ("textResultForLlm", "llmContent", "output", "text", "content", "aggregated_output", "error", "message")
        return next((result for name in names if (result := _output(value.get(name), depth + 1))), "")
    return ""


def _status(answer: object, depth: int = 0) -> int | None:
    if not isinstance(answer, dict) or depth > _MOST_WRAPPED:
        return None
    for name in ("exit_code", "exitCode", "returncode", "exit", "code"):
        value = answer.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return _status(answer.get("metadata"), depth + 1)


def _object(value: object) -> dict[str, object]:
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _first(fields: Mapping[str, object], *names: str) -> object:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _id(value: object) -> str | None:
    # anything but a plain id, such as a URL with a password, is not stored
    is_plain = isinstance(value, str) and value.isascii() and value.replace("_", "").replace("-", "").isalnum()
    return str(value) if is_plain else None


def _digest(name: str, arguments: object) -> str:
    from zlib import crc32

    try:
        return f"{name}-{crc32(json.dumps(arguments).encode()):08x}"
    except RecursionError:
        return name
