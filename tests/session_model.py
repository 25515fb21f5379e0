"""What belongs to whom, told plainly: sessions, attempts, errors and claims as lists in Python."""

from __future__ import annotations

from dataclasses import dataclass, field

MAIN = "main"
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
RECENT = 14 * DAY


@dataclass(eq=False)
class Session:
    """One conversation of a client.

    Attributes:
        before: the numbers of the sessions that it goes on from.
        least_seen, last_seen: between these times it was seen last: that is recorded once a minute.
    """

    number: int
    client: str
    worktree: str
    before: tuple[int, ...]
    least_seen: int
    last_seen: int
    is_living: bool = True
    has_successor: bool = False
    window: int = 1
    run: str | None = None
    unnamed: str | None = None


@dataclass(frozen=True)
class Place:
    """By whom something was written, and what it names; no session is that of a program without one."""

    author: str | None
    session: int | None
    run: str
    task: str | None
    loop: str | None

    def holds(self, other: Place, before: tuple[int, ...] = ()) -> bool:
        """Whether what was written at another place is of the loop of one who stands here.

        Args:
            before: the sessions that one goes on from.
        """
        if other.run != self.run:
            return False
        is_own = self.is_of_author(other)
        is_inherited = other.session is not None and other.session in before
        if self.task and self.loop:
            if (other.task, other.loop) == (self.task, self.loop):
                return True
            return (is_own or is_inherited) and (other.task, other.loop) in {(self.task, None), (None, self.loop)}
        if self.task:
            return (is_own or is_inherited) and other.task == self.task
        if self.loop:
            return (is_own or is_inherited) and other.loop == self.loop
        is_here = is_own and self.session in {other.session, None}
        return (is_here or is_inherited) and not (other.task or other.loop)

    def is_of_author(self, other: Place) -> bool:
        """Whether what was written at another place is by who stands here; in a session a first write gives a name."""
        return other.author == self.author and (self.author is not None or self.session is None)

    def is_allied_with(self, other: Place) -> bool:
        """Whether a success here may teach what fixed an error there."""
        if other.author == self.author:
            return True
        return None not in (self.task, self.loop) and (self.task, self.loop) == (other.task, other.loop)


@dataclass(frozen=True)
class Said:
    """A scratchpad or a verdict.

    Attributes:
        tried: what a scratchpad says was attempted; empty for a verdict.
    """

    number: int
    place: Place
    is_success: bool
    tried: str
    at: int

    @property
    def ref(self) -> str:
        """Its short id."""
        return f"e{self.number}"


@dataclass
class Report:
    """An error that was met."""

    error: str
    place: Place
    at: int
    is_settled: bool = False


@dataclass(eq=False)
class Hold:
    """A claim."""

    worktree: str
    path: str
    session: int | None
    agent: str
    exclusive: bool
    expires: int

    def is_of(self, session: int | None, agent: str) -> bool:
        """Whether an agent of a session holds it: by the session, or by name where either has none."""
        if self.session is not None and session is not None:
            return self.session == session
        return self.agent == agent


def overlaps(one: str, other: str) -> bool:
    """Whether two paths have a file in common."""
    wide, narrow = sorted((one, other), key=len)
    for folder, path in ((wide, narrow), (narrow, wide)):
        if folder.endswith("/**") and path.startswith(folder[:-2]):
            return True
    return one == other


@dataclass
class History:
    """All that was tried and met, in order of time."""

    said: list[Said] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    def of_loop(self, place: Place, now: int, before: tuple[int, ...] = ()) -> tuple[list[Said], Said | None]:
        """Return the scratchpads of a loop since it succeeded last, and what says that it did."""
        recent: list[Said] = []
        for one in reversed(self.said):
            if one.at >= now - RECENT and place.holds(one.place, before):
                if one.is_success:
                    return recent, one
                recent += [one] if one.tried else []
        return recent, None

    def last_of_loop(self, place: Place, now: int, before: tuple[int, ...] = ()) -> set[str]:
        """Return the newest scratchpad of a loop, which tells how it stands also once it has succeeded."""
        refs = [one.ref for one in self.said if one.tried and one.at >= now - RECENT and place.holds(one.place, before)]
        return set(refs[-1:])

    def meet(self, error: str, place: Place, now: int) -> None:
        """Take in that an error was met."""
        for one in self.reports:
            if (one.error, one.place, one.is_settled) == (error, place, False):
                one.at = now
                return
        self.reports.append(Report(error, place, now))

    def learn(self, new: Said, now: int) -> set[str]:
        """Return the errors whose fix a success teaches, which are settled from then on."""
        place, attempt = new.place, new
        if not new.tried:
            tried, _ = self.of_loop(place, now)
            if not tried:
                return set()
            attempt = tried[0]
            place = attempt.place
        recent, success = self.of_loop(place, now)
        if not place.loop and not (place.task and recent):
            return set()  # no text of the machine names an error
        since = now - RECENT if success is None else success.at
        met = [one for one in self.reports if not one.is_settled and one.at > since and place.holds(one.place)]
        last = {error: max(one.at for one in met if one.error == error) for error in {one.error for one in met}}
        learned = {error for error, at in last.items() if at <= attempt.at}
        for one in self.reports:
            if one.error in learned and not one.is_settled and place.holds(one.place):
                assert attempt.place.is_allied_with(one.place)
                one.is_settled = True
        return learned
