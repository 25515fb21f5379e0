"""Every client as a referee of ``satchel setup``: it is set up, works for a day, and Satchel is removed again."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from end_to_end.clients.client_programs import SECONDS, Workplace, texts
from end_to_end.clients.clients_set_up import CLIENTS, NOTE, PATIENT, SATCHEL, Client
from end_to_end.clients.dialects import Json
from end_to_end.clients.scripted_model import ERRAND, FAREWELL, GO_ON, PROMPT, ScriptedModel

pytestmark = pytest.mark.referee

LAUNCHER = Path(sys.executable).with_name("satchel")
RULE = "Passwords are never logged"
BRIEFED = "Satchel, project memory."
BRIEFED_AFTER_COMPACTION = "Satchel, project memory, after compaction."
BRIEFED_AS_SUBAGENT = "Satchel, project memory: reports, not orders."


@dataclass(frozen=True, slots=True, repr=False)
class Day:
    """What is known of a client after it was set up, has worked, and Satchel was removed.

    Attributes:
        health: what it said of its servers.
        check: the status with which ``satchel setup --check`` left, and what it printed.
        model: with all that the client asked it.
        sessions: of the project, as ``satchel who`` shows them.
        notes: of the project.
        before, after: the files that setup wrote: what they held without it, and what they hold once it is removed.
    """

    client: Client
    health: str
    check: tuple[int, str]
    model: ScriptedModel
    sessions: Sequence[Json]
    notes: Sequence[Json]
    before: Mapping[Path, bytes]
    after: Mapping[Path, bytes]

    @classmethod
    def of(cls, client: Client, folder: Path) -> Day:
        """Let a client work for a day in a folder."""
        program = client.program()
        workplace = Workplace.make(folder)
        keep_rule(workplace)
        wait = _until_briefed(workplace, "compaction") if client.has_late_hooks else lambda: None
        with ScriptedModel(client.dialect, client.scripts, wait) as model:
            client.configure(workplace, model.url)
            before = _files(workplace.home)
            workplace.run([*SATCHEL, "setup", client.name, *client.options, "--yes"])
            written = {path for path, content in _files(workplace.home).items() if content != before.get(path)}
            environment = model.environment | client.environment(model.url)
            status, checked, _ = workplace.try_to_run([*SATCHEL, "setup", client.name, "--check"], environment)
            _, listed, problems = workplace.try_to_run([*program, *client.health], environment)
            for prompt in client.prompts():
                workplace.run([*program, *prompt], environment)
            sessions, notes = workplace.satchel("who", "--all")["sessions"], workplace.satchel("read")["entries"]
            workplace.run([*SATCHEL, "setup", client.name, "--remove", "--yes"])
            after = {path: content for path, content in _files(workplace.home).items() if path in written}
            workplace.run([*program, *client.asks, FAREWELL], environment)
        before = {path: content for path, content in before.items() if path in written}
        return cls(client, listed + problems, (status, checked), model, sessions, notes, before, after)

    def first(self, prompt: str) -> str:
        """Return all the text of the first request after a prompt."""
        return _text(self.model.asked_for(prompt)[0])


def keep_rule(workplace: Workplace) -> None:
    """Keep a rule that every briefing holds, and give hooks time: a machine at its limit is not what is judged."""
    workplace.environment.update(PATIENT)
    rule = ["rule", "add", RULE, "--category", "security", "--priority", "critical", "--agent", "planner"]
    workplace.run(["satchel", *rule])


def _text(body: Json) -> str:
    return "\n".join(texts(body))


def _files(home: Path) -> dict[Path, bytes]:
    """Return what the configuration of clients in a home folder is; Satchel's own state is none."""
    own = home / ".local"
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and not path.is_relative_to(own)}


def _until_briefed(workplace: Workplace, moment: str) -> Callable[[], None]:
    """Return what waits until a hook has handed out the briefing of a moment."""

    def is_briefed() -> bool:
        with closing(sqlite3.connect(workplace.project / ".satchel" / "satchel.db")) as store:
            found = store.execute("SELECT 1 FROM events WHERE json_extract(details, '$.moment') = ?", (moment,))
            return found.fetchone() is not None

    def wait() -> None:
        deadline = time.monotonic() + SECONDS
        while not is_briefed():
            assert time.monotonic() < deadline, f"no hook has briefed at the moment {moment!r}"
            threading.Event().wait(0.05)

    return wait


@pytest.fixture(scope="session")
def day_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Day]:
    """Each client's day, which is long, once."""
    days: dict[str, Day] = {}
    begun: set[str] = set()

    def of(name: str) -> Day:
        if name not in begun:
            begun.add(name)
            days[name] = Day.of(CLIENTS[name], tmp_path_factory.mktemp(name))
        assert name in days, f"the day of {name} has failed before"
        return days[name]

    return of


@pytest.fixture
def day(request: pytest.FixtureRequest, day_of: Callable[[str], Day]) -> Day:
    """The day of a client."""
    return day_of(request.param)


def clients(names: Collection[str]) -> pytest.MarkDecorator:
    """Mark a test that is for these clients."""
    return pytest.mark.parametrize("day", names, indirect=True)


@clients(CLIENTS)
def test_its_model_is_briefed_in_the_first_request(day: Day) -> None:
    assert BRIEFED in day.first(PROMPT)
    assert RULE in day.first(PROMPT)


@clients(["claude", "codex", "qwen", "opencode"])
def test_its_model_is_briefed_again_after_a_compaction(day: Day) -> None:
    briefed = [text for text in map(_text, day.model.asked) if BRIEFED_AFTER_COMPACTION in text]
    assert briefed
    assert all(RULE in text for text in briefed)


@clients(CLIENTS)
def test_its_model_has_a_briefing_in_a_session_that_is_resumed(day: Day) -> None:
    assert "Satchel, project memory" in day.first(GO_ON)
    assert RULE in day.first(GO_ON)


@clients(["claude", "codex", "copilot", "opencode"])
def test_a_subagent_gets_a_briefing_of_its_own(day: Day) -> None:
    assert BRIEFED_AS_SUBAGENT in day.first(ERRAND)
    assert RULE in day.first(ERRAND)
    assert BRIEFED not in day.first(ERRAND)


@clients(CLIENTS)
def test_its_hooks_and_its_server_are_one_session(day: Day) -> None:
    (session,) = day.sessions
    (note,) = day.notes
    assert note["content"] == NOTE
    assert note["agent"] in session["agents"]
    assert f"You are {note['agent']}." in day.first(PROMPT)


@clients([name for name, client in CLIENTS.items() if client.connected is not None])
def test_it_says_that_it_is_connected(day: Day) -> None:
    (line,) = [line for line in day.health.splitlines() if "satchel" in line and str(day.client.connected) in line]
    assert "✗" not in line


@clients([name for name, client in CLIENTS.items() if client.connected is None])
def test_it_lists_the_server(day: Day) -> None:
    assert "satchel" in day.health


@clients([name for name in CLIENTS if name != "codex"])
def test_setup_finds_nothing_missing(day: Day) -> None:
    status, printed = day.check
    assert status == 0, printed


@clients(CLIENTS)
def test_it_asks_nobody_but_the_model(day: Day) -> None:
    assert day.model.strangers == []


@clients(CLIENTS)
def test_none_of_its_files_names_satchel_once_it_is_removed(day: Day) -> None:
    assert [path for path, content in day.after.items() if str(LAUNCHER).encode() in content] == []


@clients(CLIENTS)
def test_its_model_hears_nothing_of_satchel_once_it_is_removed(day: Day) -> None:
    prefix = day.client.tool("").rstrip(".")
    assert prefix in day.first(PROMPT)
    assert prefix not in day.first(FAREWELL)
    assert RULE not in day.first(FAREWELL)
