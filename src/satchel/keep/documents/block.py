"""The block in AGENTS.md: how agents reach the memory, and rules and decisions that a person wrote or confirmed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from satchel.base import user_files
from satchel.base.errors import Conflict, InvalidInput, NotFound, Refused
from satchel.base.records import dataclass
from satchel.base.tokens import estimate
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.binding import BIND_ALL
from satchel.keep.corrections.log import CONFIRMED
from satchel.keep.decisions.records import value_of
from satchel.keep.documents.splitting import BEGIN, CONFLICT, END, markers
from satchel.keep.documents.states import INSTRUCTION_FILES
from satchel.keep.moving.lines import lines_of
from satchel.keep.names import PERSONS
from satchel.keep.paths import globs_in
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import record_passage, require_person

# the most tokens of the whole block, as estimated, which is the same on every machine
MAX_TOKENS = 2_000

# the text for agents in a project's own instructions; it names no tools, whose names differ by client
INSTRUCTIONS = """\
## Shared memory

The agents of this project share what they learn, decide and work on through the MCP server `satchel`. If its tools \
are not listed, search your tools for "satchel".

- When you begin a task, and after your context was compacted, ask it for a briefing.
- Before you edit files, check whether another agent has claimed them.
- Keep at once what others could need: what you found out, what was decided, an error and what fixed it."""

# the line that begins the part of the block that `satchel share --agents-md` writes
RULES = "## Rules and decisions of this project"

_ABOUT = "`satchel share --agents-md` writes this list; change it in Satchel."

_IMPORT = re.compile(r"(?:^|\s)@(?:\./)?([\w.-]+\.md)\b")
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Block:
    """The block and what was done with it.

    Attributes:
        left_out: how many rules and decisions did not fit.
        is_first: whether the file has no such list yet.
        changed: whether the file differs from what it should be.
        notes: files that do not lead to this one.
    """

    file: str
    text: str
    items: int
    left_out: int
    is_first: bool
    changed: bool
    done: bool
    is_check: bool
    notes: tuple[str, ...] = ()


def write_block(workplace: Workplace, *, remove: bool, check: bool, dry_run: bool) -> Block:
    if workplace.files_root is None:
        raise Refused("this store belongs to no folder, so there is no AGENTS.md", "Work in a project")
    if not check:
        remedy = "Ask your user to run `satchel share --agents-md` in a terminal"
        require_person(workplace, "write AGENTS.md", remedy, agent=workplace.agent)
    root = Path(workplace.files_root)
    target = instructions_file(root)
    file = user_files.read(target, root)
    notes = instructions_notes(root, target)
    lines: list[str] = []
    left_out = 0
    block = ""
    if not workplace.engine.exists() and not remove:
        if not check:
            raise NotFound("this project has no store, so there are no rules to write", "Run `satchel init` first")
        block = _present(file.text)
        notes.append("there is no store here, so only the form of the block was checked")
    elif not remove:
        lines, left_out = _lines(workplace, target.name)
        block = "\n".join([BEGIN, INSTRUCTIONS, *_part(lines), END, ""])
    try:
        text = with_block(file.text, block)
    except InvalidInput as error:
        raise InvalidInput(f"{target.name}: {error.problem}", error.remedy) from None
    result = Block(
        target.name,
        block,
        len(lines),
        left_out,
        f"\n{RULES}\n" not in file.text.replace("\r\n", "\n"),
        text != file.text,
        not (check or dry_run),
        check,
        tuple(notes),
    )
    if result.done and result.changed:
        user_files.write(file, text)
        with projects.writing(workplace) as (transaction, project, now):
            what = f"{'removed the block from' if remove else 'wrote rules and decisions into'} {target.name}"
            record_passage(transaction, workplace, project.id, what, now)
    return result


def _present(text: str) -> str:
    # the block of a file without conflict markers, or one without rules
    lines = text.replace("\r\n", "\n").split("\n")
    places = list(markers(lines))[:2]
    lines = [BEGIN, INSTRUCTIONS, END, ""] if len(places) < 2 else [*lines[places[0] : places[1] + 1], ""]
    return "\n".join(line for line in lines if not CONFLICT.match(line))


def _part(lines: list[str]) -> list[str]:
    return ["", RULES, "", _ABOUT, "", *lines] if lines else []


def _lines(workplace: Workplace, file: str) -> tuple[list[str], int]:
    # the lines of the rules and decisions that fit, sorted by what they say, and how many do not fit
    with projects.reading(workplace) as (transaction, project):
        values = {"project": project.id, "file": file}
        numbers = [number for (number,) in transaction.all(_rules(), values)]
        rules = lines_of(transaction, project.id, "constraint", numbers).values()
        decisions = transaction.all(_decisions(), values)
    # the most urgent first; numbers differ between clones
    ranked = [(-PRIORITIES.index(line["priority"]), _entry(line["text"], line.get("paths", ()))) for line in rules]
    decided = [
        (key, _entry(f"`{key}`: {value_of(text, number)}{f' (because {why})' if why else ''}", globs_in(paths)))
        for key, text, number, why, paths in decisions
    ]
    entries = [entry for _, entry in sorted(ranked)] + [entry for _, entry in sorted(decided)]
    spent = estimate("\n".join([BEGIN, INSTRUCTIONS, *_part([""]), END]))
    lines: list[str] = []
    for entry in entries:
        cost = estimate(f"{entry}\n") + 1
        if spent + cost <= MAX_TOKENS:
            lines.append(entry)
            spent += cost
    return lines, len(entries) - len(lines)


def _entry(text: str, globs: Sequence[str]) -> str:
    where = f" (for {', '.join(f'`{glob}`' for glob in globs)})" if globs else ""
    # a marker in a text would end the block
    plain = re.sub(r"<(?=!--)", "&lt;", text.strip()) + where
    return "- " + re.sub(r"\n(?=.)", "\n  ", re.sub(r"(?m)^(?=[<=>|]{7})", r"\\", plain))


def _rules() -> str:
    kind = Kind.CONSTRAINT.number
    return f"""
        SELECT c.id FROM constraints c
        WHERE c.project_id = :project AND c.active = 1 AND {BIND_ALL} AND {_not_from_file(kind)} AND (
            c.created_by IN {PERSONS} OR EXISTS (
                SELECT 1 FROM corrections r WHERE r.item_kind = {kind} AND r.item_id = c.id AND r.action = {CONFIRMED}
                    AND r.undone_at IS NULL AND r.agent_id IN {PERSONS}))
    """


def _decisions() -> str:
    return f"""
        SELECT c.key, c.value_text, c.value_number, c.rationale, c.paths FROM decisions c
        WHERE c.project_id = :project AND c.status = 1 AND {_not_from_file(Kind.DECISION.number)}
            AND c.agent_id IN {PERSONS}
    """


def _not_from_file(kind: int) -> str:
    return (
        f"NOT EXISTS (SELECT 1 FROM document_texts d WHERE d.kind = {kind} AND d.item_id = c.id AND d.item_id <> 0 "
        "AND d.path = :file)"
    )


def with_block(text: str, block: str) -> str:
    """Return a file's text with the block in its place, or at the end; without it if the block is empty.

    Conflict markers of git in or around the block go; those about other lines stay.
    """
    outside, place = _without_block(text.splitlines(keepends=True))
    newline = "\r\n" if "\r\n" in text else "\n"
    # where the file had no final newline the block has none, so that without the block it is as it was
    is_open = place in {None, len(outside)} and text[-1:] not in {"", "\n"}
    if not block:
        if place and not "".join(outside[place - 1 : place + 1]).strip():
            del outside[place - 1]
        rest = "".join(outside)
        return rest.removesuffix(newline) if is_open and place is not None else rest
    if place is None:
        place = len(outside)
        if outside:
            outside.append(newline if outside[-1].endswith("\n") else newline * 2)
            place += 1
    outside.insert(place, (block.removesuffix("\n") if is_open else block).replace("\n", newline))
    return "".join(outside)


class _Side:
    def __init__(self, begin: int | None, marker: str = "") -> None:
        self.begin = begin
        self.marker = marker
        self.has_dropped = False
        self.outside: list[str] = []

    def add(self, line: str, place: int, mark: str | None) -> None:
        if mark == END and self.begin is None:
            raise _broken(place, END, "begins")
        if mark == BEGIN and self.begin is not None:
            raise _broken(self.begin, BEGIN, "ends")
        if self.begin is not None or mark:
            self.has_dropped = True
        else:
            self.outside.append(line)
        self.begin = place if mark == BEGIN else None if mark == END else self.begin


def _without_block(lines: Sequence[str]) -> tuple[list[str], int | None]:
    # the lines outside of the block, and its place among them, or None
    outside: list[str] = []
    place: int | None = None
    begin: int | None = None
    hunk: list[str] = []
    sides: list[_Side] = []
    marks = markers(lines)
    for at, line in enumerate(lines):
        sign = line[0] if CONFLICT.match(line) else ""
        if not sides and sign == "<":
            sides, hunk = [_Side(begin, line)], [line]
        elif sides and sign in {"|", "="}:
            sides.append(_Side(begin, line))
            hunk.append(line)
        elif sides and sign == ">":
            hunk.append(line)
            if len({side.begin is None for side in sides}) > 1:
                raise Conflict("git's conflict markers cut through the block", "Resolve this conflict in an editor")
            if any(side.has_dropped for side in sides):
                place = len(outside) if place is None else place
                ours, theirs = sides[0].outside, sides[-1].outside
                conflict = [part for side in sides for part in (side.marker, *side.outside)]
                outside += ours if ours == theirs else [*conflict, line]
            elif begin is None:
                outside += hunk
            begin = sides[0].begin
            sides = []
        elif sides:
            sides[-1].add(line, at, marks.get(at))
            hunk.append(line)
        else:
            side = _Side(begin)
            side.add(line, at, marks.get(at))
            place = len(outside) if side.has_dropped and place is None else place
            outside += side.outside
            begin = side.begin
    if sides:
        raise InvalidInput("a conflict of git has no end line", "Resolve it in an editor, then try again")
    if begin is not None:
        raise _broken(begin, BEGIN, "ends")
    return outside, place


def _broken(place: int, mark: str, does: str) -> InvalidInput:
    return InvalidInput(
        f"line {place + 1} is {mark!r}, but no line {does} that block",
        "Remove that line, or add the missing one, then try again",
    )


def instructions_file(root: Path) -> Path:
    """Return the file for a project's instructions: the one that others import or link to, else AGENTS.md."""
    imported: dict[str, set[str]] = {}
    for name in INSTRUCTION_FILES:
        for target in _leads_to(root / name):
            if target in INSTRUCTION_FILES and target != name:
                imported.setdefault(target, set()).add(name)
    ends = [name for name in imported if not any(name in importers for importers in imported.values())]
    if imported and len(ends) != 1:
        raise InvalidInput(
            f"the instructions in {root} import each other ({', '.join(sorted(imported))})",
            "Let all of them import one file, such as AGENTS.md",
        )
    return root / (ends[0] if ends else "AGENTS.md")


def instructions_notes(root: Path, target: Path) -> list[str]:
    """Return the files of instructions that do not lead to the one that has the block, each with what to add."""
    return [
        f"{name} does not import {target.name}: add a line @{target.name} to it"
        for name in INSTRUCTION_FILES
        if (root / name).exists() and root / name != target and target.name not in _leads_to(root / name)
    ]


def _leads_to(file: Path) -> list[str]:
    # the names of neighbouring files that this one imports, or is a link to
    try:
        if file.is_symlink():
            return [file.readlink().name] if file.readlink().parent == Path() else []
        if not file.is_file():  # opening a pipe would wait for its writer
            return []
        with file.open("rb") as stream:
            return _IMPORT.findall(stream.read(_MOST_BYTES).decode("utf-8", "replace"))
    except OSError:
        return []
