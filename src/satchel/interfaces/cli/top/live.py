"""The live screen: what is chosen, and what each key does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

import click
from rich.text import Text

from satchel.base.errors import Conflict, SatchelError
from satchel.find.kind import Kind
from satchel.interfaces.cli.top import writing
from satchel.interfaces.cli.top.reading import Reading
from satchel.interfaces.cli.top.room import Looked, Room
from satchel.interfaces.cli.top.rows import Ages, Claim, Row, Section, line_of, place_of, sections_of
from satchel.interfaces.cli.top.screen import Selected, drawn, wrapped
from satchel.interfaces.cli.top.terminal import Terminal
from satchel.keep.messages.records import Message

_HELP = """\
1 to 4, Tab       choose a section
j, k, arrows      choose what stands in it
Enter             show it whole
a                 answer a message, or tell the agent something
A                 the same in your editor ($EDITOR)
x                 release a claim, and tell its holder
d                 set a message aside, as read
s                 mark it as seen
S                 mark all of "Since I looked" as seen
r                 read everything again
?                 this help
q                 quit

A message is answered only if nobody has answered it since you began, and a claim is released only if it is still the
one that you saw; otherwise you are asked, or told."""

_FEWEST_SECONDS = 0.2
"""So far apart at least are two drawings that only ages have led to."""


class Live:
    """The live screen of a room.

    Args:
        room: what it shows.
        terminal: where.
    """

    def __init__(self, room: Room, terminal: Terminal) -> None:
        self._room = room
        self._terminal = terminal
        self._reading = Reading(room, terminal.wake)
        self._sections: Sequence[Section] = ()
        self._section = 0
        self._rows = [0, 0, 0, 0]
        self._keys: list[str | None] = [None, None, None, None]
        self._said = ""
        self._sure: Callable[[], object] | None = None
        self._text: list[Text] | None = None
        self._source = ""
        self._first = 0
        self._ends = False

    def run(self) -> None:
        """Show the room until the user leaves it.

        Raises:
            SatchelError: it cannot be read any more.
        """
        with self._terminal.live():
            self._reading.start()
            try:
                with suppress(KeyboardInterrupt, EOFError):
                    while not self._ends:
                        if self._reading.failed is not None:
                            raise self._reading.failed
                        for key in self._terminal.keys(self._draw()):
                            self._press(key)
            finally:
                self._reading.stop()

    def _draw(self) -> float:
        """Draw everything; return after how many seconds it has to be drawn anew."""
        width, height = self._terminal.size
        looked = self._reading.looked
        if looked is None:
            self._terminal.draw([Text(self._reading.trouble or f"looking at {self._room.project} …")])
            return 60.0
        ages = Ages(looked.now)
        self._sections = sections_of(looked, ages)
        self._keep_place()
        if self._text is not None:
            self._text = wrapped(self._source, width)
            self._first = max(0, min(self._first, len(self._text) - (height - 1)))
            lines = self._text[self._first : self._first + height - 1]
            lines += [Text()] * (height - 1 - len(lines))
            self._terminal.draw([*lines, Text("j k scroll   q back", style="dim")])
            return 3_600.0
        body = drawn(self._sections, Selected(self._section, self._rows[self._section]), width, height - 2)
        body += [Text()] * (height - 2 - len(body))
        self._terminal.draw([self._head(looked, width), *body, self._foot(width)])
        return max(_FEWEST_SECONDS, (ages.until - ages.now) / 1_000)

    def _head(self, looked: Looked, width: int) -> Text:
        count = looked.needs.total
        said = "nothing needs you" if not count else f"{count} need{'s' if count == 1 else ''} you"
        head = Text(f"satchel  {line_of(self._room.project)}  {line_of(self._room.person)}  ")
        head.append(said, style="bold red" if count else "green")
        if self._reading.trouble is not None:
            head.append(f"  as of {int(time.monotonic() - looked.read_at)} s ago", style="yellow")
        head.truncate(width, overflow="ellipsis")
        return head

    def _foot(self, width: int) -> Text:
        said = self._said if self._sure is not None else self._reading.trouble or self._said
        foot = Text(line_of(said), style="yellow") if said else Text("  ".join(self._possible()), style="dim")
        foot.truncate(width, overflow="ellipsis")
        return foot

    def _possible(self) -> Iterator[str]:
        """Yield what the keys can do with what is chosen."""
        row = self._row()
        if row is not None:
            yield "Enter whole"
            if row.message or row.agent:
                yield "a answer" if row.message else "a tell"
            if row.claim:
                yield "x release"
            if row.message:
                yield "d set aside"
            if row.seen:
                yield "s seen"
        if self._section == 1:
            yield "S all seen"
        yield from ("? help", "q quit")

    def _row(self) -> Row | None:
        rows = self._sections[self._section].rows if self._sections else ()
        return rows[self._rows[self._section]] if rows else None

    def _keep_place(self) -> None:
        """Let what is chosen stay chosen where it now stands."""
        for place, section in enumerate(self._sections):
            self._rows[place] = place_of(section.rows, self._keys[place], self._rows[place])
            self._keys[place] = section.rows[self._rows[place]].key if section.rows else None

    def _press(self, key: str) -> None:
        sure, self._sure, self._said = self._sure, None, ""
        if sure is not None:
            if key in {"y", "Y"}:
                self._do(sure)
            else:
                self._said = "Nothing was changed."
        elif self._text is not None:
            self._scroll(key)
        elif key in _MOVES:
            self._move(_MOVES[key])
        elif key in "1234" and len(key) == 1:
            self._section = int(key) - 1
        elif key in {"tab", "right", "back tab", "left"}:
            self._section = (self._section + (1 if key in {"tab", "right"} else -1)) % 4
        elif key == "q":
            self._ends = True
        elif key == "?":
            self._show(_HELP)
        elif key == "r":
            self._reading.read_now()
        elif key == "S":
            self._do(partial(self._see, None))
        else:
            row = self._row()
            if row is not None:
                self._press_on(key, row)

    def _press_on(self, key: str, row: Row) -> None:
        if key == "enter":
            self._do(lambda: self._show(row.whole if row.ref is None else self._room.text_of(row.ref)))
        elif key in {"a", "A"}:
            ask = writing.ask_text if key == "a" else writing.edit_text
            self._do(partial(self._write, row, ask))
        elif key == "x":
            claim = row.claim
            if claim is None:
                self._said = "This is no claim of a session."
                return
            self._said = (
                f"y releases the claim of {claim.agent or 'its holder'} on {claim.path}, any other key leaves it"
            )
            self._sure = partial(self._release, claim)
        elif key == "d":
            if row.message is None:
                self._said = "This is no message."
            else:
                self._do(partial(self._set_aside, row.message))
        elif key == "s":
            if row.seen is None:
                self._said = "This stays until it is dealt with."
            else:
                self._do(partial(self._see, [row.seen]))

    def _move(self, by: int) -> None:
        rows = self._sections[self._section].rows if self._sections else ()
        if rows:
            place = max(0, min(len(rows) - 1, self._rows[self._section] + by))
            self._rows[self._section], self._keys[self._section] = place, rows[place].key

    def _scroll(self, key: str) -> None:
        page = self._terminal.size[1] - 2
        steps = {**_MOVES, "page down": page, "page up": -page}
        if key in steps:
            self._first = max(0, self._first + steps[key])
        elif key in {"q", "escape", "enter", "?"}:
            self._text = None

    def _show(self, text: str) -> None:
        self._source, self._text, self._first = text, [], 0

    def _do(self, act: Callable[[], object]) -> None:
        """Do something; where it fails, say why."""
        try:
            act()
        except SatchelError as error:
            self._said = error.problem if error.remedy is None else f"{error.problem}. {error.remedy}"
        except click.ClickException as error:
            self._said = error.format_message()
        self._reading.read_now()

    def _see(self, refs: list[str] | None) -> None:
        looked = self._reading.looked
        if looked is not None:
            self._room.see(refs, looked.since.seq)
            self._said = "All was marked as seen." if refs is None else f"{refs[0]} was marked as seen."

    def _set_aside(self, ref: str) -> None:
        self._room.set_aside(ref)
        self._said = f"{ref} was set aside."

    def _release(self, claim: Claim) -> None:
        released = self._room.release(claim.session, claim.path, claim.expires_at)
        self._said = f"The claim on {released.path} was released, and {released.agent} told."

    def _write(self, row: Row, ask: Callable[[str, str], str | None]) -> None:
        """Ask for a text, and send it as the answer to a message or to an agent."""
        if row.message is not None:
            message = self._room.message(row.message)
            seen = None if message is None else message.answered_by
            with self._terminal.left():
                text = ask(f"Your answer to {row.message}.", "" if message is None else message.message)
                self._said = "Nothing was sent." if text is None else self._answered(row.message, text, seen)
        elif row.agent is not None:
            with self._terminal.left():
                text = ask(f"Your message to {row.agent}.", row.whole)
                self._said = "Nothing was sent."
                if text is not None:
                    sent = _sent(partial(self._room.tell, row.agent, text))
                    self._said = f"{row.agent} was told: {sent.ref}."
        else:
            self._said = "There is nobody to tell."

    def _answered(self, ref: str, text: str, answered_by: int | None) -> str:
        """Send an answer; where another was first, ask. Return what became of it."""
        while True:
            seen = None if answered_by is None else Kind.MESSAGE.ref(answered_by)
            try:
                sent = _sent(partial(self._room.answer, ref, text, seen))
            except Conflict as conflict:
                message = self._room.message(ref)
                if message is None or message.answered_by in {None, answered_by}:
                    raise
                answered_by = message.answered_by
                other = self._room.message(Kind.MESSAGE.ref(answered_by or 0))
                about = "" if other is None else other.message
                if not writing.agrees(f"{conflict.problem}:\n{about}", "Send yours all the same?"):
                    return f"Nothing was sent: {conflict.problem}."
            else:
                return f"{ref} was answered: {sent.ref}."


def _sent(send: Callable[[], Message]) -> Message:
    """Send something; where that fails, ask whether to try again, so that what was typed is not lost."""
    while True:
        try:
            return send()
        except Conflict:
            raise
        except SatchelError as error:
            if not writing.agrees(error.problem, "Try again?"):
                raise


_MOVES = {"j": 1, "down": 1, "k": -1, "up": -1, "page down": 10, "page up": -10, "home": -1_000, "end": 1_000}
