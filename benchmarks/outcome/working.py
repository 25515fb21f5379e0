"""The tool of an agent in a run, the same in all conditions: it logs each call and plays a session of Claude Code.

With Satchel, the hooks that ``satchel setup`` installed are called with the events of that client, and what they add is
printed where the client shows it. Its server runs from the start of the session to its end.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.harness import ROOT

ABOUT, LOG, NOTES_FILE = "run.json", "log.jsonl", "NOTES.md"

_EDIT = re.compile(r"<<<<\n(.*?)\n?====\n(.*?)\n?>>>>\n?", re.DOTALL)
_READ_LINES, _READ_CHARS, _RUN_CHARS, _HOOK_CHARS, _PREVIEW_CHARS = 2_000, 100_000, 30_000, 10_000, 2_000
"""The limits of Claude Code, in all conditions."""
_IDLE_SECONDS, _RUN_SECONDS = 3 * 3_600, 600
_LEAST_SHARED = 20
_NUMBER = re.compile(r"^(?:\./)?(?:NOTES\.md[:-])?\s*\d*[:\t-]?\s*")


class Refused(Exception):
    """A call that did nothing, with the reason for the agent."""


class Session:
    """The session of one agent in a run.

    Attributes:
        texts: what the call in hand prints; ``memory`` and ``frame``: how many of its characters are memory, or the
            server's instructions and descriptions of tools.
    """

    def __init__(self, run: Path, name: str | None) -> None:
        about = json.loads((run / ABOUT).read_text(encoding="utf-8"))
        self.name = name or next(iter(about["agents"]))
        agent = about["agents"][self.name]
        self._at, self._prompt, self._session = run, str(agent["prompt"]), str(agent["session"])
        self.folder = run / agent["folder"]
        self._environ = environ_of(run / "home", about["path"]) | {
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": self._session,
            "CLAUDE_PROJECT_DIR": str(self.folder),
        }
        settings = run / "home" / ".claude" / "settings.json"
        self._hooks = json.loads(settings.read_text(encoding="utf-8"))["hooks"] if settings.exists() else {}
        self._has_server = bool(self._hooks)
        self._socket = run / f"{self.name}.socket"
        # the path of a socket has to be short
        self._address = f"/proc/self/fd/{os.open(run, os.O_PATH)}/{self._socket.name}" if self._has_server else ""
        self.texts: list[str] = []
        self.memory = self.frame = 0
        self._told: list[dict[str, Any]] = []
        self._arguments: Sequence[str] = ()

    def call(self, name: str, arguments: Sequence[str], stdin: str) -> int:
        """Do what an agent asks for, print the answer and log it; return the status of the command."""
        self._arguments = arguments
        status, method = 0, getattr(self, f"_{name}")
        every = [stdin, *arguments] if name in _WITH_INPUT else list(arguments)
        try:
            try:
                inspect.signature(method).bind(*every)
            except TypeError as error:
                raise Refused(f"{name}: {error}") from None
            method(*every)
        except (Refused, OSError, ValueError) as error:
            self.texts.append(f"error: {error}")
            status = 1
        printed = "\n".join(self.texts)
        print(printed)
        line = {
            "at": round(time.time(), 3),
            "agent": self.name,
            "call": name,
            "arguments": list(arguments),
            "input": stdin,
            "status": status,
            "chars": len(printed),
            "memory": self.memory,
            "frame": self.frame,
            "hooks": self._told,
            "output": printed,
        }
        log = os.open(self._at / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, json.dumps(line).encode() + b"\n")  # at once, since two agents may write
        os.close(log)
        return status

    def _start(self) -> None:
        before = []
        if self._has_server:
            self.stop()
            serve = [sys.executable, "-m", "benchmarks.outcome.working", str(self._at), "--as", self.name, "serve"]
            subprocess.run(
                ["sh", "-c", '"$@" &', "sh", *serve],  # it must not be the child of another agent's client
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                check=True,
            )
            listing = self._ask("tools/list", {})["tools"]
            names = "\n".join(tool["name"] for tool in listing)
            instructions = self._ask("instructions", {})
            before = [
                f"# MCP Server Instructions\n\n## satchel\n{instructions}",
                f"Tools of satchel, described by `tools`:\n{names}",
            ]
            self.frame += sum(map(len, before))
        self.texts += before
        reminder = self._remind("SessionStart", {"source": "startup"})
        also = self._remind("UserPromptSubmit", {"prompt": self._prompt})
        self.texts += [*reminder, f"<task>\n{self._prompt}\n</task>", *also]

    def _read(self, file: str, first: str = "1", last: str = "") -> None:
        path = self.folder / file
        lines = path.read_text(encoding="utf-8").splitlines()
        begin, end = int(first), int(last or int(first) + _READ_LINES - 1)
        some = lines[begin - 1 : end]
        if sum(map(len, some)) > _READ_CHARS:
            raise Refused("the file is too large to be read at once: read it with FROM and TO, or use grep")
        self._show("\n".join(f"{number}\t{line}" for number, line in enumerate(some, begin)))
        if end < len(lines) and not last:
            self.texts.append(f"(lines {begin} to {end} of {len(lines)})")
        used = {"file_path": str(path)} | ({"offset": begin, "limit": len(some)} if first != "1" or last else {})
        content = {
            "filePath": str(path),
            "content": "\n".join(some),
            "numLines": len(some),
            "startLine": begin,
            "totalLines": len(lines),
        }
        self.texts += self._after("Read", used, {"type": "text", "file": content})

    def _grep(self, pattern: str, path: str = ".") -> None:
        done = self._execute(["git", "grep", "-nIE", "--untracked", "-e", pattern, "--", path])
        self._show(_cut(done["stdout"] + done["stderr"]) or "no lines match")
        self.texts += self._after("Grep", {"pattern": pattern, "path": path}, {"mode": "content"})

    def _edit(self, stdin: str, file: str) -> None:
        match = _EDIT.fullmatch(stdin)
        if match is None:
            raise Refused("the input is a line <<<<, the old text, a line ====, the new text and a line >>>>")
        path, (old, new) = self.folder / file, match.groups()
        whole = path.read_text(encoding="utf-8")
        if whole.count(old) != 1 or not old:
            raise Refused(f"the old text occurs {whole.count(old)} times in {file}, and must once")
        used = {"file_path": str(path), "old_string": old, "new_string": new, "replace_all": False}
        before = self._before("Edit", used)
        path.write_text(whole.replace(old, new), encoding="utf-8")
        self.texts += [f"{file} was changed", *before]
        answer = {
            "filePath": str(path),
            "oldString": old,
            "newString": new,
            "originalFile": whole,
            "structuredPatch": [],
        }
        self.texts += self._after("Edit", used, answer | {"userModified": False, "replaceAll": False})

    def _write(self, stdin: str, file: str) -> None:
        path = self.folder / file
        used = {"file_path": str(path), "content": stdin}
        before = self._before("Write", used)
        kind = "update" if path.exists() else "create"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stdin, encoding="utf-8")
        self.texts += [f"{file} was written", *before]
        answer = {"type": kind, "filePath": str(path), "content": stdin, "structuredPatch": []}
        self.texts += self._after("Write", used, answer)

    def _run(self, *command: str) -> None:
        text = command[0] if len(command) == 1 else " ".join(map(_quoted, command))
        used = {"command": text}
        before = self._before("Bash", used)
        done = self._execute(["bash", "-c", text])
        output = _cut(done["stdout"] + done["stderr"])
        self._show(output)
        if self._has_server and re.match(r"\s*satchel\b", text):
            self.memory += len(output)
        self.texts += [f"exit code {done['status']}", *before]
        if done["status"]:
            fields = {"error": f"Exit code {done['status']}\n{output}", "is_interrupt": False}
            self.texts += self._remind("PostToolUseFailure", fields, "Bash", used)
        else:
            answer = {
                "stdout": _cut(done["stdout"]),
                "stderr": _cut(done["stderr"]),
                "interrupted": False,
                "isImage": False,
            }
            self.texts += self._after("Bash", used, answer)

    def _tools(self, *names: str) -> None:
        listing = [tool for tool in self._ask("tools/list", {})["tools"] if not names or tool["name"] in names]
        keys = ("name", "description", "inputSchema")
        self.texts += [json.dumps({key: tool[key] for key in keys}, ensure_ascii=False) for tool in listing]
        self.frame += len("\n".join(self.texts))

    def _tool(self, name: str, json_text: str = "{}") -> None:
        try:
            arguments = json.loads(json_text)
        except ValueError as error:
            raise Refused(f"the arguments are no JSON: {error}") from None
        answer = self._ask("tools/call", {"name": name, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in answer["content"])
        self.texts.append(f"error: {text}" if answer.get("isError") else text)
        self.memory += len(text)
        self.texts += self._after(f"mcp__satchel__{name}", arguments, answer["content"])

    def _done(self) -> None:
        self._remind("Stop", {"stop_hook_active": False})
        self._remind("SessionEnd", {"reason": "other"})
        self.stop()
        self.texts.append("done")

    def stop(self) -> None:
        """End the server, if it runs."""
        if self._socket.exists():
            self._ask("stop", {})
            while self._socket.exists():
                time.sleep(0.02)

    def _show(self, text: str) -> None:
        self.texts.append(text)
        is_named = any(NOTES_FILE in one for one in self._arguments)
        self.memory += memory_in(text, self.folder / NOTES_FILE, is_named=is_named)

    def _execute(self, command: Sequence[str], stdin: str = "", seconds: float = _RUN_SECONDS) -> dict[str, Any]:
        """Run a command as a child of the agent's client, as which the process that holds the server stands here."""
        params = {"command": command, "input": stdin, "seconds": seconds}
        answer = self._ask("execute", params) if self._has_server else self._executed(params)
        return dict(answer)

    def _executed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            done = subprocess.run(
                params["command"],
                cwd=self.folder,
                env=self._environ,
                input=params["input"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=params["seconds"],
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"stdout": "", "stderr": f"it took more than {params['seconds']} s and was ended", "status": 124}
        return {"stdout": done.stdout, "stderr": done.stderr, "status": done.returncode}

    def _before(self, tool: str, used: Mapping[str, Any]) -> list[str]:
        """Play what comes before a tool, and raise if that is denied."""
        return self._remind("PreToolUse", {}, tool, used)

    def _after(self, tool: str, used: Mapping[str, Any], answer: object) -> list[str]:
        return self._remind("PostToolUse", {"tool_response": answer}, tool, used)

    def _remind(
        self, event: str, fields: Mapping[str, Any], tool: str | None = None, used: Mapping[str, Any] | None = None
    ) -> list[str]:
        payload = {
            "session_id": self._session,
            "transcript_path": str(self._at / f"{self.name}.transcript"),
            "cwd": str(self.folder),
            "permission_mode": "acceptEdits",
            "hook_event_name": event,
            **fields,
        }
        if tool is not None:
            payload |= {"tool_name": tool, "tool_input": used, "tool_use_id": f"toolu_{_number_of(self._at)}"}
        source = tool or fields.get("source", "")
        texts = []
        for group in self._hooks.get(event, ()):
            if re.fullmatch(group.get("matcher") or ".*", source):
                texts += [self._hear(event, handler, payload) for handler in group["hooks"]]
        label = event if tool is None else f"{event}:{tool}"
        return [
            f"<system-reminder>\n{label} hook additional context: {text}\n</system-reminder>" for text in texts if text
        ]

    def _hear(self, event: str, handler: Mapping[str, Any], payload: Mapping[str, Any]) -> str:
        began = time.monotonic()
        command = ["sh", "-c", handler["command"]]
        printed = self._execute(command, json.dumps(payload), handler["timeout"])["stdout"]
        answer = json.loads(printed or "{}")
        output = answer.get("hookSpecificOutput", {})
        text = str(output.get("additionalContext") or "")
        if len(text) > _HOOK_CHARS:
            text = text[:_PREVIEW_CHARS] + "\n(the rest is in a file)"
        is_denied = output.get("permissionDecision") == "deny"
        reason = str(output.get("permissionDecisionReason") or "") if is_denied else ""
        self.memory += len(text) + len(reason)
        seconds = round(time.monotonic() - began, 3)
        self._told.append({"event": event, "text": text or reason, "denied": is_denied, "seconds": seconds})
        if is_denied:
            raise Refused(f"the hook {event} denied this: {reason}")
        return text

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the server of this session, which may still be starting."""
        if not self._has_server:
            raise Refused("there is no server here")
        for _ in range(400):
            try:
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(self._address)
                    connection.sendall(json.dumps({"method": method, "params": params}).encode() + b"\n")
                    answer = json.loads(connection.makefile(encoding="utf-8").readline() or "{}")
                break
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.05)
        else:
            raise Refused("the server does not run: call start first")
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        return answer.get("result")

    def serve(self) -> NoReturn:
        """Play the client of a session: hold its server and run its commands and hooks, until it is stopped."""
        Path("/proc/self/comm").write_text("claude", encoding="ascii")  # Satchel tells clients by their processes
        entry = json.loads((self._at / "home" / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]["satchel"]
        server = subprocess.Popen(
            [entry["command"], *entry["args"]],
            cwd=self.folder,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        requests, answers = server.stdin, server.stdout

        def ask(number: int, method: str, params: object) -> Any:
            requests.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            requests.flush()
            return next(one for one in map(json.loads, answers) if one.get("id") == number)

        client = {"name": "claude-code", "version": "2.1.330"}
        first = ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        requests.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        requests.flush()
        number = 0
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self._address)
        listener.listen()
        listener.settimeout(_IDLE_SECONDS)
        method = ""
        try:
            while method != "stop":
                connection, _ = listener.accept()
                with connection:
                    request = json.loads(connection.makefile(encoding="utf-8").readline())
                    method, number = request["method"], number + 1
                    if method == "stop":
                        answer: Any = {}
                    elif method == "execute":
                        answer = {"result": self._executed(request["params"])}
                    elif method == "instructions":
                        answer = {"result": first["result"].get("instructions", "")}
                    else:
                        answer = ask(number, method, request["params"])
                    connection.sendall(json.dumps(answer).encode() + b"\n")
        except TimeoutError:
            pass
        finally:
            self._socket.unlink()
            requests.close()
            server.wait(20)
        sys.exit(0)


def environ_of(home: Path, path: str) -> dict[str, str]:
    """Return the environment of a user whose home is in the run's folder."""
    handed_on = {name: os.environ[name] for name in ("LANG", "TERM", "TMPDIR") if name in os.environ}
    return {"HOME": str(home), "PATH": path, **handed_on}


_CALLS = {"start", "read", "grep", "edit", "write", "run", "tools", "tool", "done"}
_WITH_INPUT = {"edit", "write"}


def memory_in(text: str, notes: Path, *, is_named: bool) -> int:
    """Return how many characters of a text are lines of the notes; also long parts of lines where a call names them."""
    if not notes.exists():
        return 0
    whole = notes.read_text(encoding="utf-8")
    heads = tuple(line[:_LEAST_SHARED] for line in whole.splitlines() if line.startswith("- "))
    count = 0
    for line in text.splitlines():
        bare = _NUMBER.sub("", line).strip()
        if bare.startswith(heads) or (is_named and len(bare) >= _LEAST_SHARED and bare in whole):
            count += len(line) + 1
    return count


def _cut(text: str) -> str:
    """Cut the middle of what a command printed, as the client does."""
    half = _RUN_CHARS // 2
    left_out = len(text) - 2 * half
    return text if left_out <= 0 else f"{text[:half]}\n({left_out} characters left out)\n{text[-half:]}"


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./:=@%+,-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def _number_of(run: Path) -> str:
    return f"{os.getpid()}{(run / LOG).stat().st_size if (run / LOG).exists() else 0}"


def main() -> int:
    """Play one call."""
    parser = argparse.ArgumentParser(prog="work")
    parser.add_argument("run", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--as", dest="name")
    parser.add_argument("call", choices=sorted(_CALLS | {"serve"}))
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    session = Session(options.run, options.name)
    if options.call == "serve":
        session.serve()
    stdin = sys.stdin.read() if options.call in _WITH_INPUT else ""
    return session.call(options.call, options.arguments, stdin)


if __name__ == "__main__":
    sys.exit(main())
