"""Checks that a client will start Satchel: its setup is complete, current, trusted and not duplicated."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from threading import Timer

from satchel.base import user_files
from satchel.base.errors import SatchelError
from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.interfaces.hooks.state import is_paused
from satchel.interfaces.setup import guide
from satchel.interfaces.setup.clients import Client, Place, Target, Wish
from satchel.interfaces.setup.entries import JsonPart, Server, address_of, asks_satchel, on_path
from satchel.interfaces.setup.guide import Finding, Verdict
from satchel.interfaces.setup.parts import NAME, Fixed, Hooks, State, at, hook_of
from satchel.interfaces.setup.texts import TextPart

_VERSION_SECONDS = 5
# How long Codex may take to list its hooks: its first start took 2.3 s beside four busy processes.
_CODEX_SECONDS = 20
_MOST_BYTES = 1 << 20
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def program_of(client: Client, place: Place) -> Path | None:
    folders = [name for name in place.environ.get("PATH", "").split(os.pathsep) if Path(name).is_absolute()]
    result = shutil.which(client.program, path=os.pathsep.join(folders)) if folders else None
    return None if result is None else Path(result)


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
    result = _VERSION.search(_output(program, ["--version"], place, _VERSION_SECONDS))
    return result[0] if result else None


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
    output = _output(program, ["app-server"], place, _CODEX_SECONDS, questions, until='"id":1,')
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
        result = _VERSION.match(described["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return result[0] if result else None


def _output(
    program: Path,
    arguments: list[str],
    place: Place,
    seconds: float,
    messages: Sequence[Mapping[str, object]] = (),
    until: str = "",
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
    timer = Timer(seconds, _end, [process])
    timer.start()
    lines: list[str] = []
    with suppress(OSError), process:  # it may exit before it has read the request
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        process.stdin.flush()
        if not until:
            process.stdin.close()
        while line := process.stdout.readline(_MOST_BYTES).decode("utf-8", "replace"):
            lines.append(line)
            if until and until in line.replace(" ", ""):
                break
    timer.cancel()
    return "".join(lines)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


_FINE = {Verdict.OK, Verdict.NOTE, Verdict.OFF, Verdict.UNKNOWN}
# The verdicts that keep a client from working, in the order in which to fix them.
_IN_ORDER = (Verdict.BROKEN, Verdict.STALE, Verdict.MISSING, Verdict.DOUBLED, Verdict.UNTRUSTED)


class Standing(StrEnum):
    """The overall state of a client."""

    WORKS = "works"
    NEEDS_YOU = "needs you"
    OFF = "switched off"
    SET_UP = "set up"
    NOT_SET_UP = "not set up"


# The part of a finding on a file that cannot be read.
_FILE = "file"


@dataclass(frozen=True, slots=True)
class ClientCheck:
    """The results of all checks of one client."""

    name: str
    findings: tuple[Finding, ...]
    left: tuple[str, ...]
    in_project: bool = False
    why_unsure: str = ""

    @property
    def standing(self) -> Standing:
        if not self.is_set_up:
            return Standing.NOT_SET_UP
        if not self.is_fine:
            return Standing.NEEDS_YOU
        if any(finding.verdict is Verdict.OFF for finding in self.findings):
            return Standing.OFF
        return Standing.SET_UP if self.why_unsure else Standing.WORKS

    @property
    def step(self) -> str:
        """The one thing to do next, or why it is unknown whether the client works; empty if it works."""
        match self.standing:
            case Standing.NEEDS_YOU:
                unfit = sorted((one for one in self.findings if one.verdict not in _FINE), key=_urgency)
                bad = next((one for one in unfit if one.part == _FILE), unfit[0])
                if bad.part == _FILE or bad.verdict not in {Verdict.MISSING, Verdict.STALE}:
                    return bad.detail
                parts = " and ".join(dict.fromkeys(one.part for one in self.findings if one.verdict is bad.verdict))
                command = f"satchel setup {self.name}{' --project' if self.in_project else ''}"
                what = "missing" if bad.verdict is Verdict.MISSING else f"out of date, {bad.detail}"
                return f"run `{command}`: {parts} {what}"
            case Standing.OFF:
                return next(finding.detail for finding in self.findings if finding.verdict is Verdict.OFF)
            case Standing.SET_UP:
                return self.why_unsure
        return ""

    @property
    def is_set_up(self) -> bool:
        """Whether any part of the setup is present."""
        return any(finding.verdict not in {Verdict.MISSING, Verdict.NOTE} for finding in self.findings)

    @property
    def is_fine(self) -> bool:
        """Whether no part is missing, stale, duplicated, broken or untrusted."""
        return all(finding.verdict in _FINE for finding in self.findings)


def _urgency(finding: Finding) -> int:
    return _IN_ORDER.index(finding.verdict)


def is_on_machine(client: Client, place: Place) -> bool:
    """Check whether the client's program is on the PATH or its folder in the home folder."""
    return program_of(client, place) is not None or client.folder_in(place).is_dir()


def check(client: Client, place: Place, wish: Wish) -> ClientCheck:
    """Check every part of one client's setup without changing anything."""
    one = _check_scope(client, place, wish)
    if one.is_set_up or wish.in_project or place.project is None:
        return one
    # a clone may contain the project's own entry; the user's entry is then unnecessary
    of_project = _check_scope(client, place, Wish(NAME, in_project=True, hooks=False))
    return of_project if of_project.is_set_up else one


def _check_scope(client: Client, place: Place, wish: Wish) -> ClientCheck:
    plugin = guide.plugin_of(client, place)
    findings = list(_parts(client, place, wish))
    is_there = any(finding.verdict is not Verdict.MISSING for finding in findings)
    if plugin is not None and not is_there:
        brought = Finding("plugin", Verdict.OK, f"{plugin} brings server and hooks")
        return ClientCheck(client.name, (brought, *_pause(place)), ())
    if plugin is not None:
        remedy = f"the plugin {plugin} brings both too: remove one of the two (`satchel setup claude --remove`)"
        findings.append(Finding("plugin", Verdict.DOUBLED, remedy))
    if not is_there:
        return ClientCheck(client.name, tuple(findings), ())
    findings += guide.doubles_of(client, place, wish)
    if wish.hooks and any(finding.part == "hooks" for finding in findings):
        findings += [*_pause(place), *_about_hooks(client, place, wish)]
    step = guide.trust_step(client, place, in_project=wish.in_project)
    if step is not None:
        findings.append(Finding("trust", Verdict.UNTRUSTED, step))
    remaining = guide.left_for_user(client, place, wish, _text_of, is_changed=False)
    unknown = next((finding.detail for finding in findings if finding.verdict is Verdict.UNKNOWN), "")
    unsure = _why_unsure(client, place) or unknown
    return ClientCheck(client.name, tuple(findings), tuple(remaining), wish.in_project, unsure)


def _pause(place: Place) -> Iterator[Finding]:
    if is_paused(str(place.project or "")):
        yield Finding("hooks", Verdict.OFF, "hooks are paused until you run `satchel pause --off`")


def _why_unsure(client: Client, place: Place) -> str:
    if client.known is None:
        return f"Satchel was never tested in {client.title}: ask its agent for a briefing"
    if program_of(client, place) is None:
        return f"there is no `{client.program}` on your path"
    return ""


def version_note(client: Client, place: Place) -> str | None:
    """Return a note if the client is older than the version its hooks were tested with."""
    version = version_of(client, place) if client.known is not None else None
    if version is None or client.known is None or not is_older(version, client.known):
        return None
    return (
        f"{client.title} {version} is older than {client.known}, in which the hooks were seen to work: "
        "if its sessions begin without a briefing, update it"
    )


def launcher_note(place: Place, launcher: Path, *, in_project: bool) -> str | None:
    """Return a note if the shell's ``satchel``, which committed files call by name, is a different installation."""
    other = on_path(place.environ)
    if other is None:
        return f"There is no {NAME} on your path, by which the project's files start it" if in_project else None
    if other.samefile(launcher):
        return None
    used = "which the project's files start" if in_project else f"clients start {launcher}"
    return f"Another Satchel is on your path: {other} ({used})"


def _parts(client: Client, place: Place, wish: Wish) -> Iterator[Finding]:
    asks_server = False
    for target in client.targets(place, wish):
        if (
            client.name == "vscode"
            and isinstance(target.parts[0], Hooks)
            and guide.reads_hooks_of_claude(place, wish, _text_of)
        ):
            yield Finding("hooks", Verdict.OK, "those of Claude Code, which VS Code reads")
            continue
        text = ""
        try:
            text = _text_of(target)
            result = target.found(text)
        except SatchelError as error:
            yield Finding(_FILE, Verdict.BROKEN if NAME in text else Verdict.MISSING, _with_path(error, target.path))
            continue
        for part, (role, one) in zip(target.parts, result, strict=True):
            if isinstance(part, Fixed) or role == "permission":
                continue
            where = str(target.path)
            request = _own_permission(part, text, target)
            if request is not None and one.state is State.STALE:
                yield Finding(role, Verdict.OK, where)
                yield Finding(
                    role, Verdict.NOTE, f"it asks {request} itself, which needs neither this program nor hooks"
                )
                asks_server = True
                continue
            if one.state is State.CURRENT:
                off = isinstance(part, Server | Hooks) and part.is_switched_off(target.content(text))
                yield Finding(role, Verdict.OFF if off else Verdict.OK, where)
            elif one.state is State.STALE:
                yield Finding(role, Verdict.STALE, f"{where}: {shortened(one.detail)}")
            elif not asks_server:
                yield Finding(role, Verdict.MISSING, where)


def _about_hooks(client: Client, place: Place, wish: Wish) -> Iterator[Finding]:
    note = version_note(client, place)
    if note is not None:
        yield Finding("version", Verdict.NOTE, note)
    if client.name != "codex":
        return
    rows = codex_hooks(client, place)
    is_folder_trusted = guide.trusts_folder_of_codex(client, place)
    if rows is None and (is_folder_trusted or program_of(client, place) is None):
        yield Finding("trust", Verdict.UNKNOWN, "Codex did not say whether it trusts Satchel's hooks")
        return
    file = os.path.realpath(client.targets(place, wish)[-1].path)
    ours = [
        row
        for row in rows or ()
        if os.path.realpath(str(row.get("sourcePath"))) == file and hook_of(row.get("command")) is not None
    ]
    states = {str(row.get("trustStatus")) for row in ours}
    if ours and states <= {"trusted", "managed"}:
        off = sum(row.get("enabled") is False for row in ours)
        if off:
            yield Finding("hooks", Verdict.OFF, f"{off} of {len(ours)} hooks: start Codex and enter `/hooks`")
        yield Finding("trust", Verdict.OK, f"Codex trusts all {len(ours)} hooks")
        return
    folder = "" if is_folder_trusted else 'choose "Trust and continue", then '
    hooks = f"Satchel's {len(ours)} hooks" if ours else "Satchel's hooks"
    yield Finding("trust", Verdict.UNTRUSTED, f'start Codex here, {folder}choose "Trust all and continue" for {hooks}')


def _own_permission(part: JsonPart | TextPart, text: str, target: Target) -> object:
    if not isinstance(part, Server):
        return None
    there = at(target.content(text), (*part.place, NAME))
    return address_of(there) if isinstance(there, Mapping) and asks_satchel(there) else None


def _text_of(target: Target) -> str:
    return user_files.read(target.path, target.below).text


def _with_path(error: SatchelError, path: Path) -> str:
    text = str(error)
    return text if str(path) in text else f"{path}: {text}"
