"""Each answer of each tool, as it was read by one who knew nothing else and found clear.

``SATCHEL_RENEW_GOLDEN=1 pytest tests/interfaces/golden`` writes the texts anew; read what changed before a commit.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from conftest import ManualClock
from interfaces.golden.calls import READING, WRITING, Calls
from interfaces.golden.stores import FILLED, connect
from satchel import Satchel
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from tables import in_one_test
from tool_asking import Asker

FOLDER = Path(__file__).parent
RENEWS = os.environ.get("SATCHEL_RENEW_GOLDEN") == "1"
NAMES = sorted(
    {f"{store}/{tool}" for store, tools in READING.items() for tool in tools} | {f"small/{x}" for x in WRITING}
)
_COUNTED = (
    "entry|entries|results?|decisions?|constraints?|messages?|packages?|file changes?|changes?|runs?|sessions?|items?|"
    "conversations?|solutions?|layers?|states?|claims?|patterns?|turns?|files?|times?|characters?|days?"
)
_COUNT = re.compile(
    rf"(?<![\w.,-])(\d+(?:,\d{3})*) (?:(?:active|earlier|expired|file|error|unread|critical|more) )*({_COUNTED})\b"
)
_ISO = re.compile(r"\d{4}-\d\d-\d\dT|\d{8} \d{4}|\d\d:\d\d:\d\d|\b\d{6}\.\d{3}\b")
_VARYING = {
    re.compile(r"(size_bytes|bytes_per_item): \d+"): r"\1: N",
    re.compile(r"schema_version: \d+"): "schema_version: N",
    re.compile(r"claude-[0-9a-f]{4}"): "claude-XXXX",
}
"""What another version of SQLite or of the schema changes, and names made of random ids."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Return each answer, by store and tool; a store is filled once, and written to after it was read."""
    folder = tmp_path_factory.mktemp("golden").resolve()
    found: dict[str, str] = {}
    opened: list[Satchel] = []
    for store, tools in READING.items():
        project = folder / store / "project"
        (project / ".git").mkdir(parents=True)
        clock = ManualClock()
        satchel, other = connect(project, "claude-code", clock), connect(project, "codex-mcp-client", clock)
        opened += [satchel, other]
        FILLED[store](satchel, other, clock)
        asker = Asker(satchel)
        for tool, calls in (*tools.items(), *(WRITING.items() if store == "small" else ())):
            name = f"{store}/{tool}"
            found[name] = found.get(name, "") + told(asker, tool, calls, project)
    yield found
    for one in opened:
        one.close()


def told(asker: Asker, tool: str, calls: Calls, project: Path) -> str:
    """Return each call and its answer, without what differs from machine to machine."""
    text = ""
    for arguments in calls:
        answer = asker(tool, **arguments).text
        assert len(answer) <= 20_000, (tool, arguments)
        text += f">>> {tool} {json.dumps(arguments)}\n{shortened(answer)}\n\n"
    text = text.replace(str(project), "PROJECT")
    for pattern, shown in _VARYING.items():
        text = pattern.sub(shown, text)
    return text


def shortened(answer: str) -> str:
    """Return an answer with its very long lines cut, which say nothing more."""
    return "\n".join(f"{line[:300]} [...]" if len(line) > 400 else line for line in answer.split("\n"))


@in_one_test("name", NAMES)
def test_every_answer_is_as_it_was_read(answers: Mapping[str, str], name: str) -> None:
    file = FOLDER / f"{name}.txt"
    if RENEWS:
        file.parent.mkdir(exist_ok=True)
        file.write_text(answers[name], encoding="utf-8")
    assert file.read_text(encoding="utf-8") == answers[name]


def test_every_tool_has_its_answers_and_no_text_is_left_over() -> None:
    assert {tool.name for tool in ALL_TOOLS} <= {name.partition("/")[2] for name in NAMES}
    assert {str(file.relative_to(FOLDER).with_suffix("")) for file in FOLDER.glob("*/*.txt")} == set(NAMES)


@in_one_test("name", NAMES)
def test_every_answer_says_times_and_counts_in_one_way(answers: Mapping[str, str], name: str) -> None:
    text = answers[name]
    assert _ISO.findall(text) == []
    assert [found[0] for found in _COUNT.finditer(text) if is_wrong(found[1], found[2])] == []


def is_wrong(number: str, noun: str) -> bool:
    """Whether a noun stands in the singular behind several, or in the plural behind one."""
    return (int(number.replace(",", "")) == 1) == noun.endswith("s")


@in_one_test(("text", "is_found"), [("1 entries", True), ("2 result", True), ("1 entry", False), ("0 runs", False)])
def test_a_wrong_count_would_be_found(text: str, is_found: bool) -> None:
    found = _COUNT.search(text)
    assert found is not None
    assert is_wrong(found[1], found[2]) == is_found


@in_one_test("text", ["2026-11-18T06:31", "20261118 0631", "063140.000", "06:31:40"])
def test_a_time_of_another_shape_would_be_found(text: str) -> None:
    assert _ISO.search(text) is not None
