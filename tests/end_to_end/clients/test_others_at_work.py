"""Gemini CLI, Qwen Code, Copilot CLI and opencode with the hooks of `satchel setup`, at work with their own tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from end_to_end.clients.client_programs import Workplace, texts
from end_to_end.clients.clients_set_up import CLIENTS, PATIENT, SATCHEL, Client
from end_to_end.clients.dialects import Call, Given, Json
from end_to_end.clients.scripted_model import ERRAND, LAST_WORDS, PROMPT, ScriptedModel

pytestmark = pytest.mark.referee

NOTE = "a change of LIMIT needs a restart of the worker"
FIX = "install PyYAML, its module is called yaml"
TEXT = "the API of the worker changed"
RULE = "Passwords are never logged"
BROKEN = """python3 -c 'raise ModuleNotFoundError("No module named \\"yaml\\"")'"""
OLD, NEW = "LIMIT = 1", "LIMIT = 2"
PATCH = """\
*** Begin Patch
*** Add File: new.py
+LIMIT = 1
*** Update File: open.py
@@
-LIMIT = 1
+LIMIT = 2
*** Delete File: old.py
*** End Patch"""


@dataclass(frozen=True, slots=True)
class Hands:
    """The tools with which a client's model works on files and runs commands.

    Attributes:
        options: let it use them unasked.
        create, read, edit, run: the name of each tool.
        path, content, old, new: what their arguments are called.
        more: further arguments of commands.
        errand: the call with which it starts a subagent.
        ends: the call with which a subagent ends, where a text does not do.
    """

    create: str
    read: str
    edit: str
    run: str
    path: str
    content: str
    old: str
    new: str
    errand: Call
    options: Sequence[str] = ()
    more: Mapping[str, object] = field(default_factory=dict)
    ends: Sequence[Call] = ()

    def makes(self, file: Path) -> Call:
        """Return the call that makes a file."""
        return Call(self.create, {self.path: str(file), self.content: f"{OLD}\n"})

    def reads(self, file: Path) -> Call:
        """Return the call that reads a file, which some clients want before an edit."""
        return Call(self.read, {self.path: str(file)})

    def edits(self, file: Path, old: str = OLD) -> Call:
        """Return the call that edits a file."""
        more = {"instruction": "raise the limit"} if self.edit == "replace" else {}
        return Call(self.edit, {self.path: str(file), self.old: old, self.new: NEW, **more})

    def runs(self, command: str, window: int = 10) -> Call:
        """Return the call that runs a command."""
        return Call(self.run, {"command": command, **self.more}, window)


HANDS = {
    "gemini": Hands(
        *("write_file", "read_file", "replace", "run_shell_command"),
        *("file_path", "content", "old_string", "new_string"),
        Call("invoke_agent", {"agent_name": "generalist", "prompt": ERRAND}),
        options=("--yolo",),
        ends=(Call("complete_task", {"result": "done"}),),
    ),
    "qwen": Hands(
        *("write_file", "read_file", "edit", "run_shell_command"),
        *("file_path", "content", "old_string", "new_string"),
        Call(
            "agent",
            {
                "description": "errand",
                "prompt": ERRAND,
                "subagent_type": "general-purpose",
                "run_in_background": False,
            },
        ),
        options=("--yolo",),
        more={"is_background": False},
    ),
    "copilot": Hands(
        *("create", "view", "edit", "bash"),
        *("path", "file_text", "old_str", "new_str"),
        CLIENTS["copilot"].errand[0],
        options=("--allow-all-tools",),
        more={"description": "a command"},
    ),
    "opencode": Hands(
        *("write", "read", "edit", "bash"),
        *("filePath", "content", "oldString", "newString"),
        CLIENTS["opencode"].errand[0],
        more={"description": "a command"},
    ),
}


@dataclass(frozen=True, slots=True, repr=False)
class Work:
    """What is known of a session in which a client worked with its own tools.

    Attributes:
        calls: of its model, by what they are called here.
    """

    workplace: Workplace
    model: ScriptedModel
    calls: Mapping[str, Call]
    sessions: Sequence[Json]

    @classmethod
    def of(cls, client: Client, folder: Path, calls: Callable[[Path], Mapping[str, Call]], errand: Any = ()) -> Work:
        """Let a client work in a folder.

        Args:
            calls: makes the calls of its model, for the folder of the project.
            errand: makes those of a subagent.
        """
        program, workplace = client.program(), Workplace.make(folder)
        project = workplace.project
        for name in ("open.py", "held.py", "other.py", "old.py"):
            (project / name).write_text(f"{OLD}\n")
        made = calls(project)
        scripts = {PROMPT: list(made.values()), ERRAND: errand(project) if errand else []}
        with ScriptedModel(client.dialect, scripts) as model:
            client.configure(workplace, model.url)
            workplace.run([*SATCHEL, "setup", client.name, *client.options, "--yes"])
            for command in (
                ["file", "claim", "held.py", "--why", "release freeze"],
                ["write", "discovery", NOTE, "--file", "open.py"],
                ["error", "report", "ModuleNotFoundError", 'No module named "yaml"', "--solution", FIX],
                ["message", "send", TEXT],
                ["rule", "add", RULE, "--category", "security", "--priority", "critical", "--agent", "planner"],
            ):
                workplace.run(["satchel", *command])
            environment = {
                **model.environment,
                **client.environment(model.url),
                **PATIENT,
                "SATCHEL_HOOKS_START": "0",  # or all of it would be in the first request
                "SATCHEL_HOOKS_SUBAGENT": "0",
            }
            said = workplace.run([*program, *HANDS[client.name].options, *client.asks, PROMPT], environment)
        assert LAST_WORDS in said
        faults = workplace.home / ".local/state/satchel/hooks-faults.jsonl"
        assert not faults.exists(), faults.read_text()
        return cls(workplace, model, made, workplace.satchel("who", "--all")["sessions"])

    def given(self, name: str) -> Given:
        """Return what the model was given for a call."""
        return self.model.given()[list(self.calls).index(name)]

    def call_before(self, text: str) -> str | None:
        """Return the call that was answered last when a text first reached the model; None if it never did."""
        number = self.model.first_with(text)
        return list(self.calls)[number - 1] if number else None

    def changes(self) -> dict[str, str]:
        """Return what was recorded of files."""
        return {one["file"]: one["change"] for one in self.workplace.satchel("file", "list")["changes"]}

    def holds(self, file: str) -> str:
        """Return what stands in a file."""
        return (self.workplace.project / file).read_text().strip()


def _working(name: str) -> Callable[[Path], dict[str, Call]]:
    hands = HANDS[name]

    def calls(project: Path) -> dict[str, Call]:
        return {
            "create": hands.makes(project / "new.py"),
            "errand": hands.errand,
            "read": hands.reads(project / "open.py"),
            "edit": hands.edits(project / "open.py"),
            "edit in vain": hands.edits(project / "other.py", "LIMIT = 9"),
            "read held": hands.reads(project / "held.py"),
            "edit held": hands.edits(project / "held.py"),
            "look": hands.runs("satchel file claims --json"),
            "fail": hands.runs(BROKEN),
        }

    return calls


@pytest.fixture(scope="session")
def work_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Work]:
    """Each client's work, once."""
    done: dict[str, Work] = {}

    def of(name: str) -> Work:
        if name not in done:
            hands = HANDS[name]

            def errand(project: Path) -> list[Call]:
                return [hands.makes(project / "sub.py"), *hands.ends]

            done[name] = Work.of(CLIENTS[name], tmp_path_factory.mktemp(name), _working(name), errand)
        return done[name]

    return of


@pytest.fixture
def work(request: pytest.FixtureRequest, work_of: Callable[[str], Work]) -> Work:
    """The work of a client."""
    return work_of(request.param)


def clients(names: Collection[str]) -> pytest.MarkDecorator:
    """Mark a test that is for these clients."""
    return pytest.mark.parametrize("work", names, indirect=True)


@clients(HANDS)
def test_edits_are_recorded_but_not_those_that_were_not_made(work: Work) -> None:
    assert work.changes() == {"new.py": "created", "sub.py": "created", "open.py": "modified"}


@clients(HANDS)
def test_edits_are_claimed(work: Work) -> None:
    assert '"open.py"' in work.given("look").text
    assert '"new.py"' in work.given("look").text


@clients(HANDS)
def test_an_edit_of_a_file_that_a_person_has_claimed_is_not_made(work: Work) -> None:
    assert 'for "release freeze"' in work.given("edit held").text
    assert work.holds("held.py") == OLD
    assert work.holds("open.py") == NEW


@clients(HANDS)
def test_notes_on_a_file_come_with_the_answer_to_its_first_edit(work: Work) -> None:
    assert work.call_before(NOTE) == "edit"


@clients(HANDS)
def test_a_failed_command_brings_the_known_fix(work: Work) -> None:
    assert work.call_before(FIX) == "fail"


@clients(HANDS)
def test_a_message_arrives_once(work: Work) -> None:
    assert work.model.first_with(TEXT) == 0  # with the prompt
    assert "\n".join(texts(work.model.asked_for(PROMPT)[-1])).count(TEXT) == 1


@clients(HANDS)
def test_the_session_is_one_with_its_subagent(work: Work) -> None:
    (session,) = work.sessions
    assert session["client"] in HANDS


def with_model(client: Client, model: str) -> Client:
    """Return a client whose model goes by another name: by it some choose the tools for edits."""
    files = {}
    for path, text in client.files.items():
        settings = json.loads(text)
        models = settings["provider"]["scripted"]["models"]
        settings |= {"model": f"scripted/{model}"}
        models[model] = models["scripted"]
        files[path] = json.dumps(settings)
    return replace(client, files=files, variables={**client.variables, "COPILOT_MODEL": model})


@pytest.mark.parametrize(("name", "argument"), [("copilot", "input"), ("opencode", "patchText")])
def test_a_patch_is_recorded_and_one_of_a_claimed_file_is_not_applied(name: str, argument: str, tmp_path: Path) -> None:
    client = with_model(CLIENTS[name], "gpt-5.1-codex")

    def calls(_: Path) -> dict[str, Call]:
        held = PATCH.replace("open.py", "held.py").replace("new.py", "newer.py").replace("old.py", "other.py")
        return {
            "patch": Call("apply_patch", {argument: PATCH}),
            "patch held": Call("apply_patch", {argument: held}),
        }

    work = Work.of(client, tmp_path, calls)
    assert work.changes() == {"new.py": "created", "open.py": "modified", "old.py": "deleted"}
    assert "held.py is claimed by human" in work.given("patch held").text
    assert work.holds("held.py") == OLD


def test_copilot_is_briefed_after_a_compaction_by_the_next_tool_that_has_a_hook(tmp_path: Path) -> None:
    client, hands = CLIENTS["copilot"], HANDS["copilot"]
    assert client.window is not None

    def calls(project: Path) -> dict[str, Call]:
        return {
            "fill": hands.runs("true", client.window or 0),
            "read": hands.reads(project / "open.py"),
            "run": hands.runs("true"),
            "run again": hands.runs("true"),
        }

    work = Work.of(client, tmp_path, calls)
    briefed = ["after compaction." in "\n".join(texts(body)) for body in work.model.asked]
    assert briefed == [False, False, False, True, True, True]
