"""The records of what a person looks at."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.keep.decisions.records import Decision
from satchel.keep.sessions.team import Team

NEEDS = (
    "stuck",
    "blocked",
    "message",
    "waiting",
    "refusal",
    "overtaken",
    "draft",
    "verdict",
    "error",
    "shared",
    "hook",
    "proposal",
)
"""What may need a person: an agent that is stuck or blocked, a message, a claim that is waited for or was refused, a
decision that was overtaken or is a draft, a review that failed, an error that two agents met without a fix, shared
text that waits, a hook that fails, and a strategy that a run proposes which is over."""

ACTIONS = ("answer", "read", "release", "end_run", "decide", "accept", "reject", "solve", "see")
"""What may be done about it."""

CHANGES = ("action", "decision", "rule", "fix", "files", "correction")
"""What may have changed since a person looked; an action is one that only a person may do or that ends a protection."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that needs a person.

    Attributes:
        kind: one of :data:`NEEDS`.
        severity: one of :data:`satchel.base.vocabulary.PRIORITIES`.
        text: what it is, in one line.
        ref: the short id of the item; of a hook that fails, what marks it as seen; of a proposal, what
            accepts it; None of a claim.
        session: the uid of the session whose agent it is about, in hexadecimal; None without one.
        agent: who it is about, or None.
        began_at: since when it waits, in milliseconds UTC; None where that is not recorded.
        actions: those of :data:`ACTIONS` that deal with it.
        place: the path, key or file that it is about, or None.
        holder: who holds that, and ``holder_session`` in which session; None where it is held by name alone.
        run: the run that ends with ``end_run``, or that proposes something.
        remedy: what may be done beside the actions, in one sentence, or None.
        key: what names it as long as it waits, whatever else of it changes.
        held_path: what they claim, which may be a folder around it, and ``held_until`` until when, in milliseconds UTC.
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
    run: str | None = None
    remedy: str | None = None
    key: str = ""
    held_path: str | None = None
    held_until: int | None = None


@dataclass(frozen=True, slots=True)
class Needs:
    """What needs a person, the most urgent first, of equally urgent ones the one that waits longest.

    Attributes:
        person: whom.
        items: at most 50 of ``total``.
        total: how many there are; of the kinds that ``more`` names at least.
        quiet_since_at: where nothing needs them, since when at the latest; None where something does, or nothing is
            recorded that says so.
        asked_at: in milliseconds UTC.
        more: the kinds of which there may be more, since the newest alone are looked at: mostly 200.
    """

    person: str
    items: tuple[Need, ...]
    total: int
    quiet_since_at: int | None
    asked_at: int
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changed:
    """One thing that has changed since a person looked.

    Attributes:
        kind: one of :data:`CHANGES`.
        ref: what marks it as seen: a short id, ``files:AGENT``, ``correction:NUMBER`` or ``action:NUMBER``.
        action: what happened, in a word or two.
        text: what it is, in one line.
        agent: by whom, or None.
        changed_at: when, in milliseconds UTC.
        seq: the number of the change; of an action that of its event.
        before: of a decision the value as the person knew it; None where it is new to them.
        after: of a decision the value as it stands.
        fields: what of a decision differs from what they knew.
        item: of a correction the short id of what was corrected.
        files: of an agent's edits the files, the newest first, at most 5.
        counts: of an agent's edits how many files there are, and how many edits of each sort.
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
    fields: tuple[str, ...] = ()
    item: str | None = None
    files: tuple[str, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Since:
    """What a person has not seen, the newest first, but for what they did themselves; of actions also that.

    Attributes:
        person: who.
        items: at most 50 of each kind.
        totals: how many there are of each kind among its 1,000 newest changes.
        seq: up to which change it was looked; what marks it all as seen names it, so that nothing is passed over.
        looked_at: when the person marked everything as seen last, in milliseconds UTC; None for never.
        asked_at: in milliseconds UTC.
        older: of each kind how many changes are older than those, at most 10,000: they are neither listed nor counted
            in ``totals``, may be the person's own or seen, and are marked as seen with all of the kind.
    """

    person: str
    items: tuple[Changed, ...]
    totals: tuple[tuple[str, int], ...]
    seq: int
    looked_at: int | None
    asked_at: int
    older: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was marked as seen.

    Attributes:
        person: by whom.
        refs: what; empty where it is everything.
        seq: up to which change.
    """

    person: str
    refs: tuple[str, ...]
    seq: int


@dataclass(frozen=True, slots=True)
class Promoted:
    """A decision that was made of a note.

    Attributes:
        decision: as it stands.
        note: the short id of the note, which holds no more.
        correction: the number of its retraction, for what takes it back.
    """

    decision: Decision
    note: str
    correction: int


@dataclass(frozen=True, slots=True)
class PromotionUndone:
    """A promotion that was taken back: the decision as it was before, or deprecated, and the note that holds again."""

    decision: Decision
    note: str


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a project has come: after every change, and all that happens, the cursor is another."""

    cursor: str


@dataclass(frozen=True, slots=True)
class Released:
    """A claim that a person ended.

    Attributes:
        path: what was claimed.
        agent: who held it.
        told: the short id of the message that tells them.
    """

    path: str
    agent: str
    told: str


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a session was at work, in whole quarters of an hour, in milliseconds UTC."""

    began_at: int
    ended_at: int


@dataclass(frozen=True, slots=True)
class SessionDay:
    """When a session was at work.

    Attributes:
        uid: of the session, in hexadecimal.
        agent: whose it is, or None.
        spans: in order, none touching another.
    """

    uid: str
    agent: str | None
    client: str | None
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """Who is where, and when they were at work.

    Attributes:
        team: the sessions.
        timeline: of those at work in the last 24 hours, at most 50, those seen last first.
        began_at: when the first of its 96 quarters of an hour begins, in milliseconds UTC.
        ended_at: when the last ends.
    """

    team: Team
    timeline: tuple[SessionDay, ...]
    began_at: int
    ended_at: int


@dataclass(frozen=True, slots=True)
class Touch:
    """What one of two does with a file.

    Attributes:
        kind: claim or edit.
        path: canonical; ``dir/**`` for a folder; or a key.
        session: the uid of the session, in hexadecimal; None without one.
        worktree: the linked worktree, an absolute path; None is the main one.
        exclusive: of a claim whether nobody else may claim what it covers.
        began_at: since when it is claimed, or when it was edited last, in milliseconds UTC.
        expires_at: until when it is claimed; None of an edit.
    """

    kind: str
    path: str
    agent: str | None
    session: str | None
    worktree: str | None
    exclusive: bool
    began_at: int
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Collision:
    """That two work at the same.

    Attributes:
        path: what both have to do with: the narrower of their two paths.
        first, second: what each does with it, the earlier first; of several things the claim, else the last edit.
        same_tree: whether they do it in one worktree.
    """

    path: str
    first: Touch
    second: Touch
    same_tree: bool


@dataclass(frozen=True, slots=True)
class Collisions:
    """Where two work at the same, the latest first.

    Attributes:
        items: at most 50 of ``total``, which counts at most 1,000.
        asked_at: in milliseconds UTC.
    """

    items: tuple[Collision, ...]
    total: int
    asked_at: int


@dataclass(frozen=True, slots=True)
class Status:
    """What a person looks at first, as it was at one time.

    Attributes:
        project: the name of the project.
        person: who looks.
    """

    project: str
    person: str
    needs: Needs
    team: Team
    collisions: Collisions
    since: Since
