"""In whose name a call acts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents_here import agents, register
from keep.sessions.kept import kept
from keep.sessions.table import Table
from satchel import InvalidInput, Refused, Satchel
from satchel.interfaces.operations.as_tool import ALL_TOOLS
from satchel.keep.sessions.clients import CLIENTS
from tool_asking import Asker

Open = Callable[..., Satchel]

MARKERS = [name for one in CLIENTS for name in (one.id_variable, *one.markers) if name is not None]


def author(satchel: Satchel, agent: str | None = None) -> str | None:
    """Write a note; return whose it is."""
    return satchel.entries.write("discovery", "a note", agent=agent).agent


@pytest.mark.parametrize(
    ("says", "name"),
    [
        ("claude-code", "claude"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini"),
        ("github-copilot-developer", "copilot"),
        ("Visual Studio Code", "vscode"),
        ("Some Editor (mcp client)", "some-editor"),
        (None, "agent"),
        ("\N{SNOWMAN}", "agent"),
    ],
)
def test_who_names_nobody_is_named_after_the_client_and_the_session(serve: Open, says: str | None, name: str) -> None:
    satchel = serve(says)
    assert author(satchel) == author(satchel) == f"{name}-{kept(satchel).sessions[0].uid[:4]}"


def test_a_name_that_is_taken_is_made_longer(serve: Open) -> None:
    satchel = serve()
    author(satchel, "builder")
    uid = kept(satchel).sessions[0].uid
    for length in (4, 5):
        register(satchel, f"CLAUDE-{uid[:length]}")
    assert author(satchel) == f"claude-{uid[:6]}"
    assert kept(satchel).sessions[0][3:5] == ("builder", f"claude-{uid[:6]}"), "it is whose agent spoke first"


def test_those_who_name_nobody_get_everything_repeated_and_those_who_do_not(serve: Open) -> None:
    satchel = serve()
    satchel.constraints.add("Passwords are never logged", category="security", agent="planner")
    for agent, repeated in ((None, True), ("builder", False)):
        assert "Passwords" in satchel.brief(agent=agent).text
        assert ("Passwords" in satchel.brief(agent=agent).text) is repeated
    assert len(kept(satchel).sessions) == 1


def test_twenty_subagents_on_one_connection_are_twenty_agents_of_one_session(serve: Open) -> None:
    satchel = serve()
    satchel.constraints.add("Passwords are never logged", category="security")
    names = [f"builder-{number}" for number in range(20)]
    for name in names:
        assert author(satchel, name) == name
        assert "Passwords" in satchel.brief(agent=name).text
    assert not any("Passwords" in satchel.brief(agent=name).text for name in names)
    satchel.files.claim(["src/"], agent=names[0])
    hint = "src/** is already held in your session by builder-0"
    assert hint in satchel.files.claim(["src/a.py"], agent=names[1]).notes
    assert len(kept(satchel).sessions) == 1


def test_a_name_in_another_form_is_the_same_agent(serve: Open) -> None:
    satchel = serve()
    assert author(satchel, "Builder") == "Builder"
    assert author(satchel, "BUILDER") == author(satchel, "\N{FULLWIDTH LATIN SMALL LETTER B}uilder") == "Builder"
    satchel.constraints.add("Passwords are never logged", category="security")
    assert "Passwords" in satchel.brief(agent="builder").text
    assert "Passwords" not in satchel.brief(agent="BUILDER").text
    assert satchel.files.claim(["src/a.py"], agent="BUILDER").agent == "Builder"


@pytest.mark.parametrize("name", ["\N{ZERO WIDTH SPACE}", "a\N{ZERO WIDTH JOINER}b", " ", "", "a\nb", "x" * 201])
def test_a_name_that_is_none_is_refused_and_records_nothing(serve: Open, name: str) -> None:
    satchel = serve()
    author(satchel)
    before = kept(satchel)
    ask = Asker(satchel)
    for tool, arguments in (
        ("write_context", {"type": "discovery", "content": "x"}),
        ("claim_files", {"paths": ["src/a.py"]}),
        ("get_briefing", {}),
    ):
        assert "error [invalid_input]: agent" in ask.refused(tool, **arguments, agent=name)
    with pytest.raises(InvalidInput):
        satchel.messages.inbox(agent=name)
    assert kept(satchel) == before
    assert len(agents(satchel)) == 1


def test_every_tool_takes_an_agent(serve: Open) -> None:
    ask = Asker(serve())
    for tool in ALL_TOOLS:
        unknown = f"unknown {tool.name} argument"
        assert unknown not in ask(tool.name, agent="builder").text
        assert unknown in ask(tool.name, agents="builder").text
    assert not ask("search", query="x", agent="builder").is_error


def test_an_agent_chosen_for_a_server_is_that_of_its_commands_too(serve: Open, command: Open) -> None:
    server = serve(agent="builder")
    server.messages.send("Look at src/a.py", to="builder", agent="reviewer")
    of_shell = command(environ={"CLAUDECODE": "1"})
    assert [one.message for one in of_shell.messages.inbox().items] == ["Look at src/a.py"]
    assert author(of_shell) == "builder"


def test_a_person_writes_as_human_and_owns_what_is_human_s(command: Open) -> None:
    person = command(below=1)
    assert author(person) == "human"
    assert person.files.claim(["src/a.py"]).agent == "human"
    person.messages.send("Lunch", to="human", agent="reviewer")
    assert [one.message for one in person.messages.inbox().items] == ["Lunch"]
    assert author(person, "builder") == "builder"
    assert author(command(below=1, agent="builder")) == "builder"
    assert kept(person).sessions == []


@pytest.mark.parametrize("marker", MARKERS)
def test_what_a_client_runs_is_never_a_person(command: Open, marker: str) -> None:
    inside = command(environ={marker: "1"})
    name = author(inside)
    assert name is not None
    assert name != "human"
    assert kept(inside).sessions[0].client == name.partition("-")[0]
    assert author(command(environ={marker: "1"})) == name


def test_a_command_beside_live_servers_under_one_parent_is_a_person_s(serve: Open, command: Open) -> None:
    for name in ("claude-code", "gemini-cli", "some-host"):
        author(serve(name, below=100))
    person = command(below=100)
    assert author(person) == "human"
    assert person.files.claim(["src/a.py"]).agent == "human"


@pytest.mark.parametrize(
    ("program", "is_agent"), [("codex", True), ("claude", True), ("cursor", False), ("tmux", False)]
)
def test_a_program_above_a_command_makes_it_an_agent_s_where_it_is_a_terminal_client(
    command: Open, table: Table, program: str, is_agent: bool
) -> None:
    shell = table.add(300, "zsh", below=table.add(200, program))
    assert (author(command(below=shell)) != "human") == is_agent


@pytest.mark.parametrize(
    ("environ", "evidence"),
    [
        ({"CLAUDECODE": "1"}, "it runs in claude (CLAUDECODE is set)"),
        ({}, "it runs in codex (the program codex started it)"),
        ({"SATCHEL_SESSION": "00" * 16}, "SATCHEL_SESSION is set"),
    ],
)
def test_the_refusal_of_what_only_a_person_may_do_says_why_it_counts_as_an_agent_s(
    command: Open, table: Table, environ: dict[str, str], evidence: str
) -> None:
    note = command(below=1).entries.write("discovery", "a note").ref
    below = 1 if environ else table.add(200, "codex")
    with pytest.raises(Refused) as refusal:
        command(below=below, environ=environ).pins.pin(note)
    assert f"this command counts as an agent's: {evidence}" in refusal.value.problem
    assert "If you are a person, run " in (refusal.value.remedy or "")


def test_a_program_has_a_session_only_where_the_environment_names_one(
    serve: Open, open_in: Open, folder: object, table: Table
) -> None:
    server = serve()
    name = author(server)
    uid = kept(server).sessions[0].uid
    for session, expected in ((uid, name), (uid.upper(), name), ("00" * 16, None), ("x", None)):
        assert author(open_in(folder, environ={"SATCHEL_SESSION": session, "CLAUDECODE": "1"})) == expected
    assert author(open_in(folder)) is None
    assert len(kept(server).sessions) == 1
