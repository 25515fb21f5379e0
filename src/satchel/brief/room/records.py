"""Records of a project's status for people."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.keep.sessions.team import Team

# The kinds of changes; an action is one that only a person may do or that ends a protection.
CHANGES = ("action", "decision", "rule", "fix", "files", "correction")


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that needs a person.

    Attributes:
        kind: stuck or blocked (an agent), message, waiting or refusal (of a claim), overtaken (a decision that another
            changed), draft, rule (of a person, unconfirmed), rules (new ones of agents), verdict (a failed review),
            error (met by two agents, without a fix), shared (a text that waits), or hook (one that fails).
        severity: one of :data:`satchel.base.vocabulary.PRIORITIES`.
        text: one line.
        ref: the short id of the item; of a failing hook, the ref that marks it as seen; None of a claim.
        session: the uid of the session whose agent it is about, in hexadecimal; None without one.
        agent: who it is about, or None.
        began_at: since when it waits, in milliseconds UTC; None if not recorded.
        actions: what deals with it: answer, read, release, decide, accept, reject, solve or see.
        place: the path, key or file that it is about, or None.
        holder: who holds that, and ``holder_session`` in which session; None if it is held by name alone.
        remedy: advice beyond the actions, in one sentence, or None.
        key: its identity while it waits, whatever else changes.
        current, proposed: the value of a person's decision, and the one that a draft proposes; else None.
        is_end: whether that draft proposes to end the decision instead.
        revision: that of a draft, which its actions repeat.
        held_path: the claimed path, maybe a folder around the place, from ``held_began_at``
            to ``held_until``, in milliseconds UTC.
    """

    kind: str
    severity: str
    text: str
    ref: str | None
    session: str | None
    agent: str | None
    began_at: int | None
    actions: tuple[str, ...]
    place: str | None = None
    holder: str | None = None
    holder_session: str | None = None
    remedy: str | None = None
    key: str = ""
    current: str | None = None
    proposed: str | None = None
    is_end: bool = False
    revision: int | None = None
    held_path: str | None = None
    held_until: int | None = None
    held_began_at: int | None = None


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of a person, the most urgent first, then the one that waits longest.

    Attributes:
        person: whose.
        items: at most 50 of ``total``.
        total: how many there are among the newest of each kind, mostly 200.
        asked_at: in milliseconds UTC.
    """

    person: str
    items: tuple[Need, ...]
    total: int
    asked_at: int


@dataclass(frozen=True, slots=True)
class Changed:
    """One change that a person has not seen.

    Attributes:
        kind: one of :data:`CHANGES`.
        ref: the ref that marks it as seen: a short id, ``files:AGENT``, ``correction:NUMBER`` or ``action:NUMBER``.
        action: a word or two.
        text: one line.
        agent: by whom, or None.
        changed_at: in milliseconds UTC.
        seq: the number of the change; of an action that of its event.
        before: of a decision the value as the person knew it; None if it is new to them.
        after: of a decision the present value.
        item: of a correction the short id of the corrected item.
    """

    kind: str
    ref: str
    action: str
    text: str
    agent: str | None
    changed_at: int
    seq: int
    before: str | None = None
    after: str | None = None
    item: str | None = None


@dataclass(frozen=True, slots=True)
class Since:
    """Changes by others that a person has not seen, the newest first.

    Attributes:
        person: who.
        items: at most 50 of each kind.
        totals: how many there are of each kind among its 1,000 newest changes.
        seq: the last change that was read; marking everything as seen names it, so that no later change is skipped.
        looked_at: when the person last marked everything as seen, in milliseconds UTC; None for never.
        asked_at: in milliseconds UTC.
        own: actions in the person's own name, which are no news unless an agent acted as them; at most 50 of
            ``own_total``.
    """

    person: str
    items: tuple[Changed, ...]
    totals: tuple[tuple[str, int], ...]
    seq: int
    looked_at: int | None
    asked_at: int
    own: tuple[Changed, ...] = ()
    own_total: int = 0


@dataclass(frozen=True, slots=True)
class MarkedSeen:
    """Changes marked as seen.

    Attributes:
        person: by whom.
        refs: which; empty for everything.
        seq: the last change included.
    """

    person: str
    refs: tuple[str, ...]
    seq: int


@dataclass(frozen=True, slots=True)
class Reached:
    """The cursor of a project, which changes with every change and event."""

    cursor: str


@dataclass(frozen=True, slots=True)
class Released:
    """A claim that a person ended.

    Attributes:
        path: the claimed path.
        agent: its holder.
        message: the short id of the message to them.
        ending: the number for restoring the claim within 10 minutes.
    """

    path: str
    agent: str
    message: str
    ending: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """A time at work, in milliseconds UTC: quarters of an hour, from its first to its last sign of life."""

    began_at: int
    ended_at: int


# The kinds of marks on a timeline: a commit, a test run that passed, a decision, a report of an error, a message and a
# refused claim.
MARKS = ("commit", "tests", "decision", "error", "message", "refusal")


@dataclass(frozen=True, slots=True)
class Mark:
    """One or more things of one kind that a session did within 5 minutes.

    Attributes:
        kind: one of :data:`MARKS`.
        at: of the first, in milliseconds UTC.
        text: of the last, in one line.
        ref: the short id of the last; None of a commit, a test run or a refusal.
        count: how many.
    """

    kind: str
    at: int
    text: str
    ref: str | None
    count: int = 1


@dataclass(frozen=True, slots=True)
class ClaimBar:
    """The time of a claim, from its beginning to its end.

    Attributes:
        worktree: the linked worktree, an absolute path; None is the main one, and for keys.
        began_at, ended_at: in milliseconds UTC; ``ended_at`` is None while it holds.
        expires_at: when it expires, or would have.
        end: held, released, expired, or ended (by another person).
        extended_at: when its holder has extended it.
    """

    path: str
    worktree: str | None
    began_at: int
    ended_at: int | None
    expires_at: int
    end: str
    reason: str | None = None
    extended_at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionDay:
    """The times at which a session was at work, and what it did.

    Attributes:
        uid: of the session, in hexadecimal.
        spans: in order, none touching another, without ``idle``.
        idle_at: since when it is at its prompt, or was until it ended; None if it was at work.
        marks: in order of time; at most 2,000 of each kind in the project are read, the newest.
        claims: in order of their beginning, with those that end, or ended, within the day.
        last_step: what it did last, as in "edited src/a.py".
        idle: the times at its prompt after which it went on, in order.
    """

    uid: str
    agent: str | None
    client: str | None
    spans: tuple[Span, ...]
    idle_at: int | None = None
    marks: tuple[Mark, ...] = ()
    claims: tuple[ClaimBar, ...] = ()
    last_step: str | None = None
    idle: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Where:
    """The sessions and their times at work.

    Attributes:
        team: the sessions.
        timeline: of at most 50 sessions of the last 24 hours, those seen last first.
        began_at: the start of the first of its 96 quarters of an hour, in milliseconds UTC.
        ended_at: the end of the last.
    """

    team: Team
    timeline: tuple[SessionDay, ...]
    began_at: int
    ended_at: int


@dataclass(frozen=True, slots=True)
class Party:
    """A session, or an agent without one, in a conflict over a file.

    Attributes:
        kind: claim, edit, waiting (for a claim) or refused (a claim, and not at work on something else since).
        path: what it claims, edited or wants: canonical; ``dir/**`` for a folder; or a key.
        session: the uid of the session, in hexadecimal; None without one.
        branch: the session's branch, or None.
        worktree: the linked worktree, an absolute path; None is the main one.
        exclusive: of a claim whether nobody else may claim what it covers.
        began_at: since when it claims, waits or was refused, or when it last edited, in milliseconds UTC.
        expires_at: the end of the claim; None of anything else.
    """

    kind: str
    path: str
    agent: str | None
    session: str | None
    branch: str | None
    worktree: str | None
    exclusive: bool
    began_at: int
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class FileConflict:
    """A file, folder or key that several work on or want.

    Attributes:
        path: the narrowest of their paths.
        same_tree: whether two of them are in one worktree; otherwise their branches will meet at a merge.
        parties: two or more, the earliest first.
    """

    path: str
    same_tree: bool
    parties: tuple[Party, ...]


@dataclass(frozen=True, slots=True)
class ItemVersion:
    """A version of a decision or rule; ``session`` is a uid in hexadecimal, ``at`` in milliseconds UTC."""

    text: str
    agent: str
    session: str | None
    at: int


@dataclass(frozen=True, slots=True)
class ItemConflict:
    """A decision or rule that two sessions or agents have set in the last day, with the last two versions."""

    ref: str
    title: str
    first: ItemVersion
    second: ItemVersion


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Conflicts over files: those in one worktree first, then the latest; and over decisions and rules.

    Attributes:
        files: at most 50 of ``total``.
        decided: decisions, then rules, the latest first, at most 20 of each.
    """

    files: tuple[FileConflict, ...]
    total: int
    decided: tuple[ItemConflict, ...]
    asked_at: int

    @property
    def count(self) -> int:
        return self.total + len(self.decided)


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a project at one time.

    Attributes:
        project: the name of the project.
        person: for whom.
    """

    project: str
    person: str
    needs: Needs
    team: Team
    conflicts: Conflicts
    since: Since
