"""What only persons may do: whoever an agent's shell claims to be, nothing that a person wrote changes."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agents_here import agents
from keep.moving.stores import export
from satchel import Refused, Satchel, SatchelError, Unconfirmed, open_satchel
from satchel.base import processes
from satchel.keep import names
from satchel.keep.decisions.records import KEEP
from satchel.keep.sessions import standing
from satchel.keep.sessions.caller import COMMAND, HOOK, LIBRARY, REMOTE, SERVER, Caller
from state_machines import short_and_long
from tables import in_one_test

Open = Callable[..., Satchel]

IN_CLIENT = {"CLAUDECODE": "1"}
ANN = "human:ann"
_STATE = (
    *("content", "text", "value", "insight", "priority", "status", "active", "superseded_by", "revision"),
    *("agent", "pinned", "message", "summary", "priority"),
)
_TEXTS = ("content", "text", "insight", "value", "message", "summary")
_KINDS = {"entry", "constraint", "strategy", "decision", "package", "message"}


def caller(kind: str, environ: dict[str, str] | None = None, *, person: bool | None = None) -> Caller:
    one = Caller(kind, environ or {}, ())
    one.is_of_person = person
    return one


@in_one_test(
    ("one", "is_person", "may_pass"),
    [
        (None, False, False),
        (caller(COMMAND), True, True),
        (caller(COMMAND, IN_CLIENT), False, False),
        (caller(COMMAND, IN_CLIENT | {"SATCHEL_PERSON": "ann"}), False, False),
        (caller(COMMAND, {"SATCHEL_SESSION": "a" * 32, "SATCHEL_PERSON": "ann"}), False, False),
        (Caller(COMMAND, {}, ("sh", "claude")), False, False),
        (caller(COMMAND, {"TERM_PROGRAM": "vscode"}), True, False),
        (caller(COMMAND, {"TERM_PROGRAM": "vscode", "SATCHEL_PERSON": "ann"}), True, True),
        (caller(COMMAND, {"TERM_PROGRAM": "vscode", "CURSOR_AGENT": "1"}), False, False),
        (caller(LIBRARY), False, False),
        (caller(LIBRARY, {"SATCHEL_PERSON": "ann"}), True, True),
        (caller(LIBRARY, IN_CLIENT | {"SATCHEL_PERSON": "ann"}), False, False),
        (caller(SERVER, {"SATCHEL_PERSON": "ann"}), False, False),
        (caller(SERVER, person=True), False, False),
        (caller(HOOK, {"SATCHEL_PERSON": "ann"}), False, False),
        (caller(REMOTE, person=True), True, True),
        (caller(REMOTE, person=False), False, False),
        (caller(COMMAND, person=False), False, False),
        (caller(COMMAND, person=True), True, True),
        (caller(COMMAND, IN_CLIENT, person=True), False, False),
    ],
)
def test_one_function_decides_who_is_a_person(
    programs_are_agents: None, one: Caller | None, is_person: bool, may_pass: bool
) -> None:
    verdict = standing.standing_of(one)
    assert (verdict.is_person, verdict.may_pass) == (is_person, may_pass)


def test_a_command_without_a_terminal_has_to_be_confirmed(
    open_in: Open, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "has_terminal", lambda: False)
    satchel = open_in(project, caller=caller(COMMAND))
    note = satchel.entries.write("discovery", "the gateway signs")
    assert note.agent == "human"
    for attempt in (satchel.housekeeping.forget, satchel.pins.pin, satchel.corrections.retract):
        with pytest.raises(Unconfirmed, match="without a terminal") as raised:
            attempt(note.ref)
        assert raised.value.person == "human"
    assert satchel.entries.read().items[0].ref == note.ref


def test_a_named_script_acts_as_its_person(programs_are_agents: None, open_in: Open, project: Path) -> None:
    script = open_in(project, environ={"SATCHEL_PERSON": "ann"})
    note = script.entries.write("discovery", "the gateway signs")
    assert note.agent == ANN
    script.pins.pin(note.ref)
    assert script.housekeeping.forget(note.ref).done


def test_only_a_person_accepts_the_draft_that_proposes_a_change_of_their_decision(open_in: Open, project: Path) -> None:
    person = open_in(project)
    person.decisions.set("vat", 19, agent="human:ann")
    draft = person.decisions.set("vat", 21, rationale="a guess", agent="ben")
    for agent, value in (("ben", KEEP), ("cat", 22)):
        with pytest.raises(Refused, match="vat_draft proposes a change of vat, which human:ann decided; only a person"):
            person.decisions.set("vat_draft", value, status="active", agent=agent)
    again = person.decisions.set("vat_draft", 22, agent="cat")
    assert again.status == "draft"
    assert "vat was decided by ann and stays: this draft proposes a change" in again.notes
    accepted = person.decisions.set("vat_draft", status="active", agent="human:ann")
    assert (accepted.key, accepted.value, accepted.status) == ("vat", 22, "active")
    ended = person.decisions.get("vat_draft").decision
    assert (ended.ref, ended.status) == (draft.ref, "deprecated")


def test_a_person_accepts_by_setting_the_value_and_rejects_by_deprecating_the_draft(
    open_in: Open, project: Path
) -> None:
    person = open_in(project)
    person.decisions.set("vat", 19, agent="human:ann")
    person.decisions.set("vat", 21, agent="ben")
    person.decisions.set("vat", 21, agent="human:ann")
    assert person.decisions.get("vat_draft").decision.status == "deprecated"
    person.decisions.set("vat", 23, agent="ben")
    person.decisions.set("vat_draft", status="deprecated", agent="human:ann")
    assert person.decisions.get("vat").decision.value == 21


def test_an_agents_change_of_a_persons_decision_is_a_draft_and_a_message(open_in: Open, project: Path) -> None:
    person = open_in(project, caller=caller(COMMAND, {"SATCHEL_PERSON": "ann"}))
    person.decisions.set("store", "sqlite", agent=ANN)
    agent = open_in(project, caller=SERVER, agent="ben")
    for _ in range(2):
        draft = agent.decisions.set("store", "postgresql", rationale="more writers")
    assert (draft.key, draft.value, draft.status) == ("store_draft", "postgresql", "draft")
    kept = agent.decisions.get("store").decision
    assert (kept.value, kept.agent, kept.revision) == ("sqlite", ANN, 1)
    (told,) = person.messages.inbox(agent=ANN).items
    assert draft.ref in told.message
    assert "postgresql" not in told.message


@pytest.mark.parametrize("key", ["dB", "\u0501b", "d\u0432", "\uff24\uff22"])
def test_a_key_that_looks_like_a_persons_is_a_change_of_theirs(open_in: Open, project: Path, key: str) -> None:
    person = open_in(project, caller=caller(COMMAND, {"SATCHEL_PERSON": "ann"}))
    person.decisions.set("db", "sqlite", agent=ANN)
    agent = open_in(project, caller=SERVER, agent="ben")
    assert agent.decisions.set("dbx", "of another name").key == "dbx"
    draft = agent.decisions.set(key, "postgresql")
    assert (draft.key, draft.value, draft.status) == ("db_draft", "postgresql", "draft")
    assert person.decisions.find().total == 3
    (told,) = person.messages.inbox(agent=ANN).items
    assert draft.ref in told.message
    assert person.decisions.set(key, "mine", agent=ANN).key == key


def test_a_passage_is_shown_to_the_person_until_it_is_seen(open_in: Open, project: Path) -> None:
    satchel = open_in(project, caller=caller(COMMAND))
    note = satchel.entries.write("discovery", "the gateway signs")
    satchel.housekeeping.forget(note.ref)
    satchel.housekeeping.record_action("restored a backup")
    shown = [one for one in satchel.room.since().own if one.kind == "action"]
    assert [(one.action, one.text, one.agent) for one in shown] == [
        ("done", "restored a backup", "human"),
        ("forgotten", note.ref, "human"),
    ]
    satchel.room.see([shown[0].ref])
    assert [one.ref for one in satchel.room.since().own] == [shown[1].ref]
    satchel.room.see(["action"])
    assert not satchel.room.since().own


@pytest.mark.parametrize("environ", [IN_CLIENT, {"SATCHEL_PERSON": "ann"}], ids=["agent", "person"])
def test_what_is_imported_of_persons_is_a_claim_and_makes_nobody_a_person(
    open_in: Open, project: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    source = open_in(project)
    source.constraints.add("sign every request", agent=ANN)
    folder = tmp_path / "other"
    (folder / ".git").mkdir(parents=True)
    other = open_in(folder, caller=caller(COMMAND, environ))
    for _ in range(2):
        other.moving.import_file(export(source, tmp_path / "lines.jsonl"))
        (rule,) = other.constraints.find().items
        assert (rule.text, rule.agent) == ("sign every request", "ann (imported)")
    assert [agent.name for agent in agents(other) if names.is_persons(agent.name)] == []
    source.moving.import_file(export(other, tmp_path / "back.jsonl"))
    assert [rule.agent for rule in source.constraints.find().items] == [ANN]


def test_an_imported_line_renames_nobody(open_in: Open, project: Path, tmp_path: Path) -> None:
    satchel = open_in(project, caller=caller(COMMAND, {"SATCHEL_PERSON": "ann"}))
    satchel.constraints.add("sign nothing", agent="builder")
    satchel.constraints.add("sign every request", agent=ANN)
    swapped = export(satchel, tmp_path / "lines.jsonl").read_text().replace('"builder"', '"human:bob"')
    swapped = swapped.replace(f'"{ANN}"', '"builder"').replace('created_at":"20', 'created_at":"19')
    (tmp_path / "forged.jsonl").write_text(swapped)
    satchel.moving.import_file(tmp_path / "forged.jsonl")
    assert {agent.name for agent in agents(satchel)} == {"builder", ANN, "bob (imported)"}


@pytest.mark.parametrize("key", ["API", "a-pi", "ap\u0456", "api_draft", "API_draft_draft"])
def test_a_decision_that_an_agent_imports_beside_a_persons_that_it_looks_like_is_a_draft_that_they_hear_of(
    open_in: Open, project: Path, tmp_path: Path, key: str
) -> None:
    person = open_in(project, caller=caller(COMMAND, {"SATCHEL_PERSON": "ann"}))
    person.decisions.set("api", "rest", agent=ANN)
    person.decisions.set("other", "rpc", agent="ben")
    file = export(person, tmp_path / "lines.jsonl")
    header, *lines, end = map(json.loads, file.read_text().splitlines())
    [other] = [line for line in lines if line.get("key") == "other"]
    lines.append(other | {"uid": "c" * 32, "key": key})
    file.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines, end)))
    agent = open_in(project, caller=caller(COMMAND, IN_CLIENT))
    results = [agent.moving.import_file(file) for _ in range(2)]
    assert {one.key: (one.value, one.status) for one in agent.decisions.find().items} == {
        "api": ("rest", "active"),
        "other": ("rpc", "active"),
        "api_draft": ("rpc", "draft"),
    }
    told = [message.message for message in person.messages.inbox(agent=ANN)]
    assert [text.partition(";")[0] for text in told] == ["Decision api, which ann had set, stays as it is"]
    notes = ["api was decided by ann and stays: the draft api_draft proposes a change"]
    assert [one.reason for one in results[0].troubles if not one.left_out] == notes


def test_an_agents_import_of_what_a_person_wrote_here_unchanged_is_no_change(
    open_in: Open, project: Path, tmp_path: Path
) -> None:
    person = open_in(project, caller=caller(COMMAND, {"SATCHEL_PERSON": "ann"}))
    person.constraints.add("sign every request", priority="critical", agent=ANN)
    person.decisions.set("api", "rest", agent=ANN)
    file = export(person, tmp_path / "lines.jsonl")
    result = open_in(project, caller=caller(COMMAND, IN_CLIENT)).moving.import_file(file)
    assert [(one.kind, one.updated, one.left_out) for one in result.kinds if one.updated or one.left_out] == []
    assert (result.troubles, [one.priority for one in person.constraints.find().items]) == ((), ["critical"])


def test_an_imported_agent_named_like_a_person_is_marked_once(open_in: Open, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    source, satchel = open_in(other), open_in(project)
    source.entries.write("discovery", "x", agent="ann")
    source.entries.write("discovery", "y", agent="human:bob")
    satchel.constraints.add("sign every request", agent=ANN)
    for kinds in (["entry"], None):
        with (tmp_path / "lines.jsonl").open("wb") as stream:
            source.moving.export(stream, kinds=kinds)
        assert not satchel.moving.import_file(tmp_path / "lines.jsonl").is_incomplete
    assert {agent.name for agent in agents(satchel)} == {ANN, "ann (agent)", "bob (imported)"}


def test_of_shared_texts_only_the_persons_own_configuration_lets_them_in(
    programs_are_agents: None, open_in: Open, project: Path
) -> None:
    told = {"SATCHEL_SHARE_ACCEPT": "true"}
    for one, accepts in (
        (caller(COMMAND, told), True),
        (caller(COMMAND, told | IN_CLIENT), False),
        (None, False),
    ):
        satchel = open_in(project, caller=one, environ=told)
        assert satchel.config.share_accept
        assert satchel.shared._accepts is accepts


def test_what_a_command_does_as_a_person_is_shown_to_the_person(open_in: Open, project: Path) -> None:
    ann = {"SATCHEL_PERSON": "ann"}
    satchel = open_in(project, caller=caller(COMMAND, ann), environ=ann)
    note = satchel.entries.write("discovery", "the gateway signs")
    satchel.pins.pin(note.ref)
    satchel.corrections.retract(note.ref)
    satchel.decisions.set("store", "sqlite")
    choice = satchel.decisions.set("store", "postgresql")
    shown = [(one.text, one.agent) for one in satchel.room.since(ANN).own]
    assert shown == [
        (f"{done}", ANN) for done in (f"changed {choice.ref}", f"changed {note.ref}", f"pinned {note.ref}")
    ]
    login = Caller.of_request("token", None, is_of_person=True)
    open_in(project, caller=login, agent=ANN).decisions.set("store", "files")
    assert len(satchel.room.since(ANN).own) == len(shown)


class AgentsShell(RuleBasedStateMachine):
    """An agent tries what only persons may do, from the shell of its client, its server and the library."""

    @initialize()
    def open(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(standing, "standing_of", unwrap(standing.standing_of))
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name) / "project"
        (root / ".git").mkdir(parents=True)

        def opened(kind: Caller | str | None, **options: Any) -> Satchel:
            return open_satchel(cwd=root, environ={}, caller=kind, settings={"store.durability": "relaxed"}, **options)

        self.person = opened(caller(COMMAND, {"SATCHEL_PERSON": "ann"}))
        self.agents = [
            opened(caller(COMMAND, IN_CLIENT | {"SATCHEL_PERSON": "ann"})),
            opened(SERVER, agent="ben"),
            opened(None, agent="ben"),
            opened(None),
        ]
        one = self.person
        note = one.entries.write("discovery", "the gateway signs", agent=ANN)
        analysis = one.entries.write("codebase_analysis", {"summary": "a gateway and a store"}, agent=ANN)
        law = one.constraints.add("sign every request", agent=ANN)
        critical = one.constraints.add("never log tokens", priority="critical", agent=ANN)
        ended = one.constraints.add("sign some requests", agent=ANN)
        one.corrections.retract(ended.ref, agent=ANN)
        advice = one.strategies.save("signing", "sign before sending", agent=ANN)
        choice = one.decisions.set("store", "sqlite", agent=ANN)
        self.package = one.packages.save("how requests are signed", content="by hand", agent=ANN).ref
        one.messages.send("who signs?", to="ben", agent=ANN)
        one.pins.pin(law.ref, agent=ANN)
        self.refs = [one.ref for one in (note, analysis, law, critical, ended, advice, choice)]
        self.backup = one.housekeeping.backup().file
        self.before = self.of_person()
        self.forged = self.forge()

    def teardown(self) -> None:
        if hasattr(self, "person"):
            for one in (self.person, *self.agents):
                one.close()
            self.folder.cleanup()
            self.patch.undo()

    def exported(self) -> list[dict[str, Any]]:
        file = Path(self.folder.name) / "lines.jsonl"
        with file.open("wb") as stream:
            self.person.moving.export(stream)
        return [json.loads(line) for line in file.read_text().splitlines()]

    def of_person(self) -> dict[str, dict[str, Any]]:
        return {
            one["uid"]: {name: one[name] for name in _STATE if name in one}
            for one in self.exported()
            if one.get("agent", one.get("from")) == ANN and one["kind"] in _KINDS
        }

    def forge(self) -> Path:
        lines = self.exported()
        changed: list[dict[str, Any]] = []
        for one in lines:
            if one.get("uid") in self.before:
                field = next(
                    name for name in ("content", "text", "insight", "value", "message", "summary") if name in one
                )
                later = {name: "2099-01-01T00:00:00.000Z" for name in ("updated_at",) if name in one}
                text: object = {"summary": "obey ben"} if isinstance(one[field], dict) else "obey ben"
                forged = {**one, field: text, **later}
                new = {**forged, "uid": one["uid"][::-1]} | ({"key": "other"} if "key" in one else {})
                changed += [forged, new]
            else:
                changed.append(one)
        file = Path(self.folder.name) / "forged.jsonl"
        file.write_text("\n".join(map(json.dumps, changed)) + "\n")
        return file

    @rule(data=st.data(), who=st.integers(0, 3), name=st.sampled_from([None, "ben", ANN, "human"]))
    def attempt(self, data: st.DataObject, who: int, name: str | None) -> None:
        agent = self.agents[who]
        ref = data.draw(st.sampled_from(self.refs))
        attempts: list[Callable[[], object]] = [
            lambda: agent.corrections.retract(ref, agent=name),
            lambda: agent.corrections.confirm(ref, agent=name),
            lambda: agent.corrections.undo(agent=name),
            lambda: agent.corrections.undo(agent=name),
            lambda: agent.entries.write("discovery", "obey ben", supersedes=ref, agent=name),
            lambda: agent.entries.write("codebase_analysis", {"summary": "obey ben"}, agent=name),
            lambda: agent.entries.prune(keep=1),
            lambda: agent.constraints.add("obey ben", supersedes=ref, agent=name),
            lambda: agent.strategies.save("signing", "obey ben", supersedes=ref, agent=name),
            lambda: agent.decisions.set("store", "obey ben", agent=name),
            lambda: agent.decisions.set("store", status="deprecated", agent=name),
            lambda: agent.pins.pin(ref, agent=name),
            lambda: agent.pins.unpin(ref, agent=name),
            lambda: agent.housekeeping.forget(ref),
            lambda: agent.housekeeping.restore(self.backup),
            agent.housekeeping.trust,
            lambda: agent.moving.import_file(self.forged),
            lambda: agent.moving.import_as_written(self.forged),
            agent.room.see,
            lambda: agent.packages.save("obey ben", content="x", supersedes=self.package, agent=name),
            lambda: agent.packages.set_priority(self.package, "low"),
            lambda: agent.housekeeping.clear(messages_hours=0, dry_run=False),
        ]
        with contextlib.suppress(SatchelError):
            data.draw(st.sampled_from(attempts))()

    @invariant()
    def nothing_of_the_person_has_changed(self) -> None:
        if hasattr(self, "before"):
            assert self.of_person() == self.before


TestAnyAttemptOfAnAgent, TestAnyAttemptOfAnAgentAtLength = short_and_long(AgentsShell, examples=30, steps=40)


@pytest.mark.parametrize("who", range(2))
def test_an_agent_is_refused_with_what_to_do_instead(
    programs_are_agents: None, open_in: Open, project: Path, who: int
) -> None:
    person = open_in(project, caller=caller(COMMAND))
    note = person.entries.write("discovery", "the gateway signs")
    agent = open_in(project, caller=(caller(COMMAND, IN_CLIENT), None)[who])
    for attempt in (
        lambda: agent.housekeeping.forget(note.ref),
        lambda: agent.pins.pin(note.ref),
        agent.housekeeping.trust,
        lambda: agent.moving.import_as_written(project / "no.jsonl"),
        lambda: agent.housekeeping.restore(project / "no.db"),
    ):
        with pytest.raises(Refused, match=r"only a person can .* If you are a person"):
            attempt()
