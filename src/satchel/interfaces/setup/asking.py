"""Queries to the clients' own programs: their version, and whether Codex trusts the hooks."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Timer

from satchel.interfaces.setup.clients import Client, Place

_LIMIT_SECONDS = 5
_MOST_BYTES = 1 << 20
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def program_of(client: Client, place: Place) -> Path | None:
    """Return the client's program found on the user's PATH, or None."""
    folders = [name for name in place.environ.get("PATH", "").split(os.pathsep) if Path(name).is_absolute()]
    found = shutil.which(client.program, path=os.pathsep.join(folders)) if folders else None
    return None if found is None else Path(found)


def version_of(client: Client, place: Place) -> str | None:
    """Return the version of an installed client, such as ``2.1.330``, or None if it is unknown.

    The version is read from the program's package or from its folder. Only if that fails is the program run with
    ``--version``, with a limit of 5 s: this takes up to 2.5 s and creates folders in the home folder.
    """
    program = program_of(client, place)
    if program is None:
        return None
    real = program.resolve()
    if _VERSION.fullmatch(real.name):
        return real.name
    for folder in real.parents if "node_modules" in real.parts else ():
        if folder.name == "node_modules":
            break
        described = _version_in(folder / "package.json")
        if described is not None:
            return described
    found = _VERSION.search(_output(program, ["--version"], place))
    return found[0] if found else None


def is_older(version: str, known: str) -> bool:
    return [int(part) for part in version.split(".")] < [int(part) for part in known.split(".")]


def codex_hooks(client: Client, place: Place) -> list[Mapping[str, object]] | None:
    """Return the hooks that Codex lists for the user's folder and the project, each with its ``trustStatus``."""
    program = program_of(client, place)
    if program is None or not client.folder_in(place).is_dir():
        return None
    questions: list[dict[str, object]] = [
        {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "satchel-setup", "version": "1"}}},
        {"method": "initialized"},
        {"id": 1, "method": "hooks/list", "params": {"cwds": [str(place.project or place.home)]}},
    ]
    output = _output(program, ["app-server"], place, questions, until='"id":1,')
    for line in output.splitlines():
        try:
            answer = json.loads(line)
            if answer.get("id") == 1:
                return [hook for entry in answer["result"]["data"] for hook in entry["hooks"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return None


def _version_in(file: Path) -> str | None:
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
        found = _VERSION.match(described["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found[0] if found else None


def _output(
    program: Path, arguments: list[str], place: Place, messages: list[dict[str, object]] | None = None, until: str = ""
) -> str:
    try:
        process = subprocess.Popen(
            [str(program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=place.home,
            env=dict(place.environ),
            start_new_session=True,
        )
    except OSError:
        return ""
    timer = Timer(_LIMIT_SECONDS, _end, [process])
    timer.start()
    lines: list[str] = []
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        if messages is None:
            process.stdin.close()
        else:
            for message in messages:
                process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        while line := process.stdout.readline(_MOST_BYTES).decode("utf-8", "replace"):
            lines.append(line)
            if until and until in line.replace(" ", ""):
                break
    except OSError:
        pass  # it exited before it read the request
    finally:
        _leave(process)
        timer.cancel()
    return "".join(lines)


def _leave(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
