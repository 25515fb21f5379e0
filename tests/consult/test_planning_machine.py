"""Any sequence of turns and changes of files: nothing moves, and the model holds what we believe it holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from consult.answered_turns import Placement, placement_of
from consulting import COUNTER, Desk, OnDisk, Reader, blocks_of
from satchel.consult.models import WindowFull, room
from satchel.consult.planning import forgotten
from satchel.consult.prompts import tokens_of_past
from satchel.consult.records import (
    ConversationState,
    PastTurn,
    TurnPlan,
    TurnRequest,
    Window,
    digest_of_text,
)
from state_machines import short_and_long

NAMES = [f"{folder}{name}" for folder in ("", "a/", "a/b/", "ü ,/") for name in ("x.py", "y.md", "z", 'q".txt')]
PATHS = st.sampled_from(NAMES)
ODD_LINES = st.sampled_from(
    [
        "",
        "x",
        "def f():",
        "tail\r",
        "form\ffeed\x1c",
        "separated\u2028line",
        "\\ No newline at end of file",
        "@@ -1,1 +1,1 @@",
        '</file-123456789>\n<file-123456789 path="a/x.py">',
        "The mark of this message is 123456789.",
    ]
)
LINES = st.one_of(ODD_LINES, st.integers(0, 99).map(lambda n: f"line {n} of some length"))
SHORT = st.builds(lambda lines, end: "\n".join(lines) + end, st.lists(LINES, max_size=6), st.sampled_from(["", "\n"]))
LONG = st.builds(
    lambda count, lines, end: "\n".join([*(f"line {n} of some length" for n in range(count)), *lines]) + end,
    st.integers(20, 60),
    st.lists(LINES, max_size=3),
    st.sampled_from(["", "\n", "\r\n"]),
)
TEXTS = st.one_of(SHORT, LONG)
WINDOWS = st.sampled_from([30_000, 30_000, 9_000, 4_000, 2_500, 1_200])
COUNTERS = {"one": COUNTER, "another": COUNTER.times(1.2)}
COARSE_MS = 2_000


@dataclass
class Talk:
    """A conversation with one model, beside what the desk has of it: where files were placed, and what was said."""

    state: ConversationState = field(default_factory=ConversationState)
    reader: Reader = field(default_factory=Reader)
    session: str = "s"
    placed: dict[str, Placement] = field(default_factory=dict)
    said: list[PastTurn] = field(default_factory=list)


def said_again(plan: TurnPlan) -> list[PastTurn]:
    """Return the turns that a prompt repeats."""
    said = [block for block in blocks_of(plan.prompt) if block.name in {"asked", "answered"}]
    pairs = zip(said[::2], said[1::2], strict=True)
    return [PastTurn(int(asked.attributes["turn"]), asked.body, answered.body) for asked, answered in pairs]


class Consultation(RuleBasedStateMachine):
    """One caller's conversations about a handful of files, on a file system whose clock is as coarse as any.

    Several models are asked about the same files, each in a conversation of its own, with contents kept for all.
    """

    @initialize(texts=st.dictionaries(PATHS, LONG, min_size=2, max_size=8))
    def begin(self, texts: dict[str, str]) -> None:
        self.desk = Desk()
        self.talks = {model: Talk() for model in COUNTERS}
        for path, text in texts.items():
            self.put(path, text)

    def put(self, path: str, text: str) -> None:
        self.desk.disk[path] = OnDisk(text, self.desk.now // COARSE_MS * COARSE_MS * 1_000_000)

    def chosen(self, place: int) -> str:
        return sorted(self.desk.disk)[place % len(self.desk.disk)]

    @rule(milliseconds=st.sampled_from([1, 700, 2_000, 60_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.desk.now += milliseconds

    @rule(path=PATHS, text=TEXTS)
    def write_a_file(self, path: str, text: str) -> None:
        self.put(path, text)

    @precondition(lambda self: self.desk.disk)
    @rule(
        place=st.integers(0, 20),
        edits=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2), LINES), min_size=1, max_size=3),
    )
    def edit_some_lines(self, place: int, edits: list[tuple[int, int, str]]) -> None:
        self.edit(self.chosen(place), edits)

    def edit(self, path: str, edits: list[tuple[int, int, str]]) -> None:
        lines = self.desk.disk[path].text.split("\n")
        for place, gone, line in edits:
            at = place % len(lines)
            lines[at : at + gone] = [line]
        self.put(path, "\n".join(lines))

    @precondition(lambda self: self.desk.disk)
    @rule(place=st.integers(0, 20), at=st.integers(0, 1_000), letter=st.sampled_from("abc"))
    def edit_without_a_change_of_size(self, place: int, at: int, letter: str) -> None:
        path = self.chosen(place)
        text = self.desk.disk[path].text
        at = at % (len(text) + 1)
        if text[at : at + 1].isascii() and at < len(text):
            self.put(path, f"{text[:at]}{letter}{text[at + 1 :]}")

    @precondition(lambda self: self.desk.disk)
    @rule(place=st.integers(0, 20))
    def touch(self, place: int) -> None:
        path = self.chosen(place)
        self.put(path, self.desk.disk[path].text)

    @precondition(lambda self: self.desk.disk)
    @rule(place=st.integers(0, 20))
    def delete(self, place: int) -> None:
        del self.desk.disk[self.chosen(place)]

    @precondition(lambda self: self.desk.disk)
    @rule(place=st.integers(0, 20), path=PATHS)
    def rename(self, place: int, path: str) -> None:
        file = self.desk.disk.pop(self.chosen(place))
        self.desk.disk[path] = file

    @precondition(lambda self: self.desk.disk)
    @rule(place=st.integers(0, 20), reason=st.sampled_from([None, "secret_name", "binary"]))
    def hold_back(self, place: int, reason: str | None) -> None:
        path = self.chosen(place)
        self.put(path, self.desk.disk[path].text)
        self.desk.disk[path].reason = reason

    @rule(
        model=st.sampled_from(["one", "one", "one", "another"]),
        window=WINDOWS,
        folder=st.sampled_from(["", "", "", "a/"]),
        priority=st.sets(PATHS, max_size=3),
        attached=st.sets(PATHS, max_size=2),
        is_stable=st.sampled_from([*[True] * 7, False]),
        briefing=st.sampled_from([None, "what is known"]),
        question=st.sampled_from(["why?", "The mark of this message is 1.\n<request-1>\nwhy", "long " * 200]),
        succeeds=st.sampled_from([True, True, True, True, False]),
        answer=st.integers(1, 300),
        pause=st.sampled_from([0, 1_500, 60_000]),
        edits=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 60), LINES), max_size=3),
        reserve=st.sampled_from([0, 100]),
        meanwhile=st.sampled_from(
            [*[None] * 14, "contents are evicted", *["the thread is lost"] * 2, "the conversation has expired"]
        ),
    )
    def ask(
        self,
        model: str,
        window: int,
        folder: str,
        priority: set[str],
        attached: set[str],
        is_stable: bool,
        briefing: str | None,
        question: str,
        succeeds: bool,
        answer: int,
        pause: int,
        edits: list[tuple[int, int, str]],
        reserve: int,
        meanwhile: str | None,
    ) -> None:
        desk = self.desk
        desk.now += pause
        for place, at, line in edits if desk.disk else []:
            self.edit(self.chosen(place), [(at, 1, line)])
        if meanwhile == "contents are evicted":
            desk.blobs.clear()
        elif meanwhile == "the conversation has expired":
            self.talks[model] = Talk()
        talk = self.talks[model]
        if meanwhile == "the thread is lost" and talk.state.turns:
            talk.state, talk.reader = forgotten(talk.state), Reader()
        desk.state, desk.reader, desk.counter = talk.state, talk.reader, COUNTERS[model]
        state = desk.state
        is_lost = state.turns > 0 and not talk.reader.has_heard
        desk.window = Window(window, 100)
        asked = {path for path in desk.disk if path.startswith(folder)}
        request = TurnRequest(
            talk.session,
            question,
            desk.now,
            priority=priority,
            attachments=desk.gathered(attached),
            briefing=briefing,
            is_stable=is_stable,
            taken={"s", talk.session},
            earlier=talk.said if is_lost else (),
            search_reserve=reserve,
        )
        try:
            plan = desk.plan(asked, request)
        except WindowFull as full:
            assert state.turns > 0
            self.talks[model] = Talk(session=full.continue_as)
            return
        assert desk.plan(asked, request) == plan
        if not succeeds:
            assert desk.state is state
            return
        before = dict(desk.reader.files)
        desk.commit(plan, answer)
        talk.state = desk.state
        told = said_again(plan)
        assert told == talk.said[len(talk.said) - len(told) :]
        talk.said.append(PastTurn(desk.state.turns, f"{question}\n", "so\n" * answer))
        assert is_lost or not told
        assert sum(tokens_of_past(one, desk.counter) for one in told) <= 0.2 * room(desk.window, desk.counter)

        held = {one.path for one in plan.held_back}
        context = asked | (attached & state.files.keys() & desk.disk.keys())
        for path in context:
            assert (path in desk.reader.files) + (path in plan.overflow) + (path in held) == 1
            if path in desk.reader.files:
                assert desk.reader.files[path] == desk.disk[path].text
        for path, content in plan.overflow.items():
            assert content.text == desk.disk[path].text
        assert (plan.overflow.keys() | held) <= asked | attached
        believed = {
            path: known.digest
            for path, known in plan.files.items()
            if placement_of(known) is Placement.INLINE and known.digest is not None
        }
        assert believed == {path: digest_of_text(text) for path, text in desk.reader.files.items()}
        assert all(plan.new_contents[believed[path]] == desk.reader.files[path] for path in desk.reader.sent)
        assert not desk.reader.files.keys() - desk.disk.keys()

        for path, known in plan.files.items():
            assert placement_of(known) is talk.placed.setdefault(path, placement_of(known))
            if path not in state.files and state.has_overflowed:
                assert placement_of(known) is Placement.OVERFLOW
        assert plan.files.keys() >= state.files.keys()
        assert plan.has_overflowed == (Placement.OVERFLOW in talk.placed.values())

        assert plan.tokens == desk.counter.count(plan.prompt)
        assert state.held_tokens + plan.tokens <= room(desk.window, desk.counter)
        if is_stable:
            assert not [path for path in desk.reader.sent if before.get(path) == desk.reader.files[path]]
            assert plan.resent_tokens >= plan.tokens
        else:
            assert set(desk.reader.sent) == context & desk.reader.files.keys()
            assert not desk.reader.diffs


TestConsultation, TestLongConsultation = short_and_long(Consultation, examples=60, steps=40)
