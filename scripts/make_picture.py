"""Write docs/picture.svg from a real session, and docs/tour.svg from `satchel tour`. A test runs both again.

python scripts/make_picture.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from satchel.interfaces.cli.commands.tour import ToolClient

DOCS = Path(__file__).parent.parent / "docs"
TARGET, TOUR = DOCS / "picture.svg", DOCS / "tour.svg"

FILE = "src/report.py"
HOOK = "satchel hook claude SessionStart"
_PROGRAM = """\
import csv, sys
with open(sys.argv[1], encoding="utf-8") as file:
    print(sum(int(row[1]) for row in csv.reader(file, delimiter=";")))
"""
_EXPORTS = {"sold.csv": "Café Zoë;12\nMüller;7\n", "returned.csv": "Señor Núñez;3\nCafé Zoë;2\n"}
_FIX = "Open the shop's exports with encoding='cp1252'"
_RULE = "Every fix comes with a test that failed before it"
_NOTE = "The shop's exports separate by semicolons"
_TIME = r"\d\d-\d\d \d\d:\d\d(?: UTC)?"
_MOMENT = re.compile(rf" \({_TIME}\)|(?:,? (?:since|until))? {_TIME}| \(\d+ min left\)| \d+ s ago|, seen [^,\n]* ago")

_NAMES = {"claude": "claude-3f2b", "codex": "codex-5f45"}
_MADE_NAME = re.compile(r"\b(claude|codex)-[0-9a-f]{4}\b")
_SCENE = re.compile(r"^3\. .*?(?=^4\. )", re.MULTILINE | re.DOTALL)

_WIDTH, _MARGIN = 880, 24
_COLUMNS = 102
_LINE, _GAP = 17, 16
_MOST_LINES = {HOOK: 20}
_STYLE = """\
text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px; fill: #24292f }
.what { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; font-size: 14px }
.codex { fill: #0969da; font-weight: 600 }
.claude { fill: #8250df; font-weight: 600 }
.page { fill: #ffffff; stroke: #d0d7de }
.box { fill: #f6f8fa }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.codex { fill: #58a6ff }
.claude { fill: #bc8cff }
.page { fill: #0d1117; stroke: #30363d }
.box { fill: #161b22 }
}"""


@dataclass(frozen=True, slots=True)
class Act:
    """What an agent did, and what came back without the time of day.

    Attributes:
        tool: the tool that it called, the hook that its client called, or None where it ran a program.
    """

    agent: str
    what: str
    tool: str | None
    answer: str


def session() -> tuple[Act, ...]:
    """Run the session in a repository that is made for it, and return what happened.

    Raises:
        SatchelError: a server refused what it should have done, or allowed what it should not.
        RuntimeError: the program did not fail where it should, or failed where it should not.
    """
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-picture-")))
        project = home / "shop"
        (project / "src").mkdir(parents=True)
        (project / FILE).write_text(_PROGRAM, encoding="utf-8")
        for name, text in _EXPORTS.items():
            (project / name).write_bytes(text.encode("cp1252"))
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "PYTHONPATH", "LANG"}}
        patience = dict.fromkeys(("SATCHEL_BRIEF_DEADLINE_MS", "SATCHEL_HOOKS_DEADLINE_MS"), "60000")
        environment = kept | patience | {"HOME": str(home)}
        subprocess.run(["git", "init", "--quiet", project], check=True, env=environment)
        satchel = [sys.executable, "-m", "satchel"]
        subprocess.run([*satchel, "init"], check=True, cwd=project, env=environment, capture_output=True)
        stack.enter_context(chdir(project))
        codex, claude = (
            stack.enter_context(ToolClient(["mcp", "--agent", name], environment, name)) for name in ("codex", "claude")
        )

        def start() -> str:
            event = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": str(project)}
            done = subprocess.run(
                [*satchel, *HOOK.split()[1:]],
                check=True,
                env=environment | {"SATCHEL_AGENT": claude.name},
                input=json.dumps(event),
                capture_output=True,
                text=True,
                timeout=60,
            )
            return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])

        return tuple(_acts(codex, claude, project, start))


def _acts(codex: ToolClient, claude: ToolClient, project: Path, start: Callable[[], str]) -> Iterator[Act]:
    failed = _add_up(project, "sold.csv")
    error_type, _, message = failed.stderr.rstrip().rpartition("\n")[2].partition(": ")
    if not failed.returncode or not message:
        raise RuntimeError("the program did not fail")
    yield Act(codex.name, "adds up sold.csv, and fails", None, f"{error_type}: {message}")
    met = {"error_type": error_type, "message": message, "stack": failed.stderr, "lang": "python"}
    yield _act(codex, "reports the error", "report_error", met)
    (project / FILE).write_text(_PROGRAM.replace("utf-8", "cp1252"), encoding="utf-8")
    done = _add_up(project, "sold.csv")
    if done.returncode:
        raise RuntimeError(done.stderr)
    yield _act(codex, f"records what fixed it: {_FIX}", "report_outcome", {"id": "x1", "solution": _FIX})
    rule = {"text": _RULE, "priority": "high"}
    yield _act(codex, f"adds a rule: {_RULE}", "add_constraint", rule)
    note = {"type": "discovery", "content": _NOTE, "file": f"{FILE}:3"}
    yield _act(codex, f"saves a note: {_NOTE}", "write_context", note)
    yield _act(codex, "claims the file it rewrites", "claim_files", {"paths": [FILE], "reason": "other exports"})
    yield Act(claude.name, "is asked to add up returned.csv; its first request contains", HOOK, start())
    yield _act(claude, "claims the same file, and is refused", "claim_files", {"paths": [FILE]}, refused=True)


def _act(agent: ToolClient, what: str, tool: str, arguments: Mapping[str, object], *, refused: bool = False) -> Act:
    answer = agent.call(tool, arguments, refused=refused)
    return Act(agent.name, what, tool, _MOMENT.sub("", answer))


def _add_up(project: Path, file: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", FILE, file]
    return subprocess.run(command, check=False, cwd=project, capture_output=True, text=True, timeout=30)


def draw(acts: tuple[Act, ...]) -> str:
    """Return the picture of a session: each act with the first lines of its answer.

    Args:
        acts: what happened, in order.
    """
    body: list[str] = []
    y = _MARGIN
    for act in acts:
        calls = "" if act.tool is None else f" · {act.tool}"
        y += _LINE
        body.append(
            f'<text class="what" x="{_MARGIN}" y="{y}"><tspan class="{act.agent}">{act.agent}</tspan> '
            f"{escape(act.what)}{calls}</text>"
        )
        lines = _wrapped(act.answer, _MOST_LINES.get(act.tool or "", 3))
        height = len(lines) * _LINE + 12
        body.append(
            f'<rect class="box" x="{_MARGIN}" y="{y + 7}" width="{_WIDTH - 2 * _MARGIN}" height="{height}" rx="6"/>'
        )
        y += 6
        for line in lines:
            y += _LINE
            body.append(f'<text x="{_MARGIN + 10 + _indent(line)}" y="{y}">{escape(line.lstrip())}</text>')
        y += _GAP + 6
    height = y + _MARGIN - _GAP
    return _page(
        height, "Two agents share one store: one fails, the other is briefed before it fails the same way", body
    )


def tour() -> tuple[str, ...]:
    """Run the tour, and return its third scene, with names and times that stay the same."""
    with tempfile.TemporaryDirectory(prefix="satchel-picture-") as home:
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "PYTHONPATH"}}
        done = subprocess.run(
            [sys.executable, "-m", "satchel", "tour"],
            check=True,
            cwd=home,
            env=kept | {"HOME": home, "LANG": "C.UTF-8", "COLUMNS": "400", "SATCHEL_HOOKS_DEADLINE_MS": "60000"},
            capture_output=True,
            text=True,
            timeout=120,
        )
    scene = _SCENE.search(done.stdout)
    if scene is None:
        raise RuntimeError("the tour has no third scene")
    scene_text = re.sub(r"\n {8}", " ", scene[0])  # joins what the tour has wrapped
    scene_text = _MADE_NAME.sub(lambda match: _NAMES[match[1]], scene_text)
    scene_text = re.sub(rf"(?:\d{{4}}-)?{_TIME}", "14:30", scene_text)
    scene_text = re.sub(r"\d+ min left", "30 min left", scene_text)
    return tuple(line for text in scene_text.splitlines() for line in _columns(text))


def _columns(text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    wrapper = textwrap.TextWrapper(
        _COLUMNS, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
    return wrapper.wrap(text.strip())


def draw_tour(lines: tuple[str, ...]) -> str:
    """Return the picture of a terminal with these lines below the command."""
    height = (len(lines) + 2) * _LINE + 2 * _MARGIN
    body = [f'<text x="{_MARGIN}" y="{_MARGIN + _LINE}">$ satchel tour</text>']
    for number, line in enumerate(lines, 2):
        y = _MARGIN + (number + 1) * _LINE
        body.append(f'<text x="{_MARGIN + _indent(line)}" y="{y}">{escape(line.lstrip())}</text>')
    return _page(height, "satchel tour: hooks let one client edit a file and stop the other", body)


def _page(height: int, label: str, body: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{label}">\n'
        f"<style>\n{_STYLE}\n</style>\n"
        f'<rect class="page" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="10"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _indent(line: str) -> int:
    return 8 * (len(line) - len(line.lstrip()))


def _wrapped(text: str, most: int) -> list[str]:
    wrapper = textwrap.TextWrapper(_COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
    lines = [line for given in text.splitlines() for line in wrapper.wrap(given)]
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1][: _COLUMNS - 2]} …"]


def main() -> None:
    """Run the session and the tour, and write their pictures."""
    for target, picture in ((TARGET, draw(session())), (TOUR, draw_tour(tour()))):
        target.write_text(picture, encoding="utf-8")
        sys.stdout.write(f"{target.name}: {len(picture.encode()):,} bytes\n")


if __name__ == "__main__":
    main()
