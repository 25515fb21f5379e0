"""The overview of a project, as one screen of plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from shlex import quote

from satchel.base.clock import span_in_words
from satchel.base.invisible import revealed
from satchel.base.records import NamedTuple
from satchel.brief.room.records import Changed, FileConflict, ItemConflict, Need, Party, Since, Status
from satchel.interfaces.text.parts import counted, width_of
from satchel.interfaces.text.team import FREE, state_time
from satchel.keep.decisions.proposals import accept_ref
from satchel.keep.names import shown_name
from satchel.keep.sessions.team import TeamClaim, TeamSession

# Returns a text in the style of a word: a state, an urgency, ``heading`` or ``quiet``.
Style = Callable[[str, str], str]

_WORD_COLUMNS, _AGE_COLUMNS = 10, 7


class _Row(NamedTuple):
    word: str
    style: str
    text: str
    age: str


class _Section(NamedTuple):
    """One section."""

    title: str
    rows: tuple[_Row, ...]
    empty: str
    more: int


def status_text(status: Status, width: int, height: int, style: Style) -> str:
    """Return one screen of at most the width and height; a screen is never lower than 20 lines."""
    if is_empty(status):
        project = line_of(status.project)
        next_step = "Next: start a coding client in this folder, once `satchel setup` has connected it."
        return f"{project}: nothing is stored yet, and no agent has been here.\n\n{next_step}"
    sections = _sections(status)
    steps = _steps(status)
    used = 2 + len(steps) + sum(1 for one in sections if one.rows or one.empty)
    wanted = [len(one.rows) + (one.more > 0) for one in sections]
    rooms = _shared_out(wanted, max(20, height) - 1 - used)
    lines = [style(_cut(_head(status), width), "heading")]
    for section, room in zip(sections, rooms, strict=True):
        lines += _lines(section, room, width, style)
    hints = "More: `satchel who`, `satchel message list`, `satchel show ID`, `satchel open`"
    return "\n".join([*lines, *(style(step, "quiet") for step in steps), style(_cut(hints, width), "quiet")])


def _steps(status: Status) -> list[str]:
    # whole commands for the first need of each kind: rows are cut to the width
    steps: dict[str, str] = {}
    for one in status.needs.items:
        if one.kind == "message":
            steps.setdefault("answer", f"Answer: `satchel message send --reply-to {one.ref} TEXT`")
        elif "accept" in one.actions:
            whole = "satchel share --diff" if one.kind == "shared" else f"satchel show {one.ref}"
            step = f"`satchel accept {accept_ref(one.ref or '', one.revision)}` or `satchel reject {one.ref}`"
            steps.setdefault(one.kind, f"Decide: read `{whole}`, then {step}")
        elif one.held_path and one.holder == status.person:
            steps.setdefault("release", f"Release: `satchel file release {quote(one.held_path)}`")
        elif one.held_path and one.holder:
            ask = f"`satchel message send --to {quote(one.holder)} TEXT` asks, `satchel open` can end the claim"
            steps.setdefault("held", f"Conflict over {line_of(one.place or '')}: {ask}")
        elif one.kind == "overtaken":
            step = f"`satchel show {one.ref}` shows it, `satchel decide` sets it again"
            steps.setdefault("overtaken", f"Conflict over {one.ref}: {step}")
        elif one.kind == "error":
            steps.setdefault("error", f"Once you know it: `satchel error outcome {one.ref} --solution TEXT`")
        elif one.kind == "hook":
            steps.setdefault("hook", f"Hook: {one.remedy}")
        elif one.agent and one.ref and "answer" in one.actions:
            answer = f"answer with `satchel message send --to {quote(one.agent)} TEXT`"
            step = f"`satchel show {one.ref}` says more; {answer}"
            steps.setdefault(one.kind, f"{one.kind.capitalize()}: {step}")
        elif one.kind == "rules":
            step = "`satchel rule list` shows them, `satchel confirm ID` and `satchel retract ID` decide"
            steps["rules"] = f"New rules: {step}"
    return list(steps.values())


def line_of(text: str) -> str:
    """Return a stored text in one line, with invisible and control characters revealed."""
    return revealed(" ".join(text.split()))


def is_empty(status: Status) -> bool:
    team = status.team
    return not (
        team.total or team.earlier or team.persons or status.needs.total or status.since.items or status.since.own
    )


def _head(status: Status) -> str:
    needs, team = status.needs.total, status.team
    live = sum(not one.gone for one in team.sessions)
    idle = sum(one.state.name == "idle" for one in team.sessions)
    # live ones are listed first: where one that is gone is listed, the list has all live ones
    least = "at least " if live == len(team.sessions) < team.total else ""
    parts = (
        f"{needs} need{'s' * (needs == 1)} you" if needs else "nothing needs you",
        f"{least}{counted(live - idle, 'agent')} at work{f' and {idle} idle' if idle else ''}",
        counted(status.conflicts.count, "conflict"),
    )
    return f"{line_of(status.project)}, as {line_of(shown_name(status.person))}: {', '.join(parts)}"


def _conflicts(status: Status, now: int) -> tuple[list[_Row], int]:
    # without those that the needs show already, a wish with the claim against it or a draft; with the number of all
    needs, conflicts = status.needs.items, status.conflicts
    wanted, refs = {one.place for one in needs if one.holder}, {one.ref for one in needs}
    files = [one for one in conflicts.files if one.path not in wanted or len(one.parties) > 2]
    decided = [one for one in conflicts.decided if one.ref not in refs]
    rows = [*(_conflict(one, now) for one in files), *(_decided(one, now) for one in decided)]
    return rows, conflicts.total - len(conflicts.files) + len(rows)


def _sections(status: Status) -> tuple[_Section, ...]:
    now, since = status.team.asked_at, status.since
    changes = sum(count for _, count in since.totals)
    team, wishes = status.team, {one.text: one.place for one in status.needs.items if one.holder}
    conflicts, conflicts_total = _conflicts(status, now)
    own, nothing_new = _own(since, now), "No changes since your last visit."
    first = "No agents yet. Start a client here, or see `satchel setup --check`"
    nobody = "No agents at work" if team.earlier else first
    parts = (
        ("Needs you", [_need(one, now) for one in status.needs.items], "", status.needs.total),
        (
            "Agents",
            [*(_session(one, now, wishes) for one in team.sessions), *(_claim(one, now) for one in team.claims)],
            f"{nobody}.",
            team.total + len(team.claims),
        ),
        ("Conflicts", conflicts, "", conflicts_total),
        ("Last changes", [*map(partial(_change, now=now), since.items), *own], nothing_new, changes + len(own)),
    )
    return tuple(_Section(title, tuple(rows), empty, max(0, total - len(rows))) for title, rows, empty, total in parts)


def _own(since: Since, now: int) -> list[_Row]:
    if not since.own:
        return []
    counts = Counter(line_of(_OWN_WORDS.get(one.action, "{}").format(one.text)) for one in since.own)
    text = ", ".join(f"{what} ({count} times)" if count > 1 else what for what, count in counts.items())
    more = since.own_total - len(since.own)
    text += f", and {more} earlier" if more > 0 else ""
    return [_Row("action", "quiet", f"in your name: {text}", _span(now - since.own[0].changed_at))]


def _need(one: Need, now: int) -> _Row:
    who = f"{_name(one.agent)}: " if one.agent else ""
    ref = f"{one.ref} " if one.ref and one.kind not in {"hook", "rules"} else ""
    age = "" if one.began_at is None else _span(now - one.began_at)
    return _Row(one.kind, one.severity, f"{ref}{who}{line_of(one.text)}", age)


def _session(one: TeamSession, now: int, wishes: Mapping[str, str | None]) -> _Row:
    # where a need says already what it waits for, the file alone
    reason = one.state.reason and wishes.get(one.state.reason, one.state.reason)
    name = ", ".join(map(_name, one.agents)) or f"unnamed ({one.client or 'unknown client'})"
    name += f" for {line_of(reason)}" if reason and reason != one.state.reason else ""
    parts = [line_of(reason)] if reason and reason == one.state.reason else []
    parts += [f"task {line_of(one.task_id)}"] if one.task_id and not one.state.reason else []
    parts += [f"on {line_of(one.branch)}"] if one.branch else []
    parts += [f"in {line_of(one.worktree)}"] if one.worktree else []
    if one.claims:
        more = one.claims_total - 1
        claims = f"{line_of(one.claims[0].path)}{f' and {more} more' if more else ''}"
        parts.append(f"had claimed {claims}: {FREE}" if one.state.name == "ended" else f"holds {claims}")
    return _Row(one.state.name, one.state.name, ", ".join([name, *parts]), _brief(state_time(one, now)))


def _claim(one: TeamClaim, now: int) -> _Row:
    text = f"{_name(one.agent or '')} holds {line_of(one.path)}"
    return _Row("claim", "quiet", text, f"{_span(one.expires_at - now)} left")


def _decided(one: ItemConflict, now: int) -> _Row:
    versions = ", ".join(f"{_name(each.agent)} set {line_of(each.text)}" for each in (one.first, one.second))
    return _Row("conflict", "quiet", f"{one.ref} {line_of(one.title)}: {versions}", _span(now - one.second.at))


def _conflict(one: FileConflict, now: int) -> _Row:
    where = "the same worktree" if one.same_tree else "two worktrees"
    parties = ", ".join(map(_party, one.parties))
    style = "high" if one.same_tree else "quiet"
    return _Row("conflict", style, f"{line_of(one.path)}: {parties}, in {where}", _span(now - one.parties[-1].began_at))


_OWN_WORDS = {"forgotten": "deleted {}", "undone": "{}, undone"}
_VERBS = {"edit": "edited it", "claim": "claims it", "waiting": "waits for it", "refused": "was refused it"}


def _party(one: Party) -> str:
    return f"{_name(one.agent) if one.agent else 'someone'} {_VERBS[one.kind]}"


def _change(one: Changed, now: int) -> _Row:
    ref = one.item or (one.ref if ":" not in one.ref else "")
    before = "" if one.before is None else f" (was {line_of(one.before)})"
    text = f"{ref} {one.action}{f' by {_name(one.agent)}' if one.agent else ''}: {line_of(one.text)}{before}"
    return _Row(one.kind, "quiet", text.strip(), _span(now - one.changed_at))


def _name(agent: str) -> str:
    return line_of(shown_name(agent))


def _span(milliseconds: int) -> str:
    return _brief(span_in_words(milliseconds))


def _brief(text: str) -> str:
    return text.replace("less than 1 min", "<1 min")


def _shared_out(wanted: Sequence[int], lines: int) -> list[int]:
    rooms = [0] * len(wanted)
    while lines > 0 and rooms != list(wanted):
        for place, most in enumerate(wanted):
            if lines > 0 and rooms[place] < most:
                rooms[place] += 1
                lines -= 1
    return rooms


def _lines(section: _Section, room: int, width: int, style: Style) -> Iterator[str]:
    if not section.rows:
        if section.empty:
            yield style(_cut(section.empty, width), "quiet")
        return
    yield style(section.title, "heading")
    visible = len(section.rows)
    if room < visible + (section.more > 0):
        visible = max(1, room - 1)
    age_columns = max(_AGE_COLUMNS, *(len(row.age) for row in section.rows[:visible]))
    remaining = width - _WORD_COLUMNS - age_columns - 4
    for row in section.rows[:visible]:
        word = style(_padded(row.word, _WORD_COLUMNS), row.style)
        yield f"  {word} {_padded(_cut(row.text, remaining), remaining)} {row.age:>{age_columns}}".rstrip()
    rest = len(section.rows) - visible + section.more
    if rest:
        yield style(f"  {rest} more", "quiet")


def _cut(text: str, columns: int) -> str:
    if width_of(text) <= columns:
        return text
    used, end = 1, 0
    for character in text:
        used += width_of(character)
        if used > columns:
            break
        end += 1
    return f"{text[:end].rstrip()}…"


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - width_of(text))
