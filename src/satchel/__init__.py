"""Satchel: one local-first context server for teams of coding agents.

``open_satchel()`` opens the store of the project you stand in; everything else hangs off what it returns.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes 4 ms

__version__ = "0.3.0"

if TYPE_CHECKING:
    from satchel.base.errors import (
        AssistantFailed,
        Busy,
        Conflict,
        Incomplete,
        Interrupted,
        InvalidInput,
        IoError,
        NotFound,
        ReadOnly,
        Refused,
        SatchelError,
        StoreDamaged,
        StoreForeign,
        StoreFull,
        StoreMissing,
        StoreNewer,
        StoreOlder,
        TimedOut,
        TooLarge,
        Unavailable,
        Unconfirmed,
        Unreachable,
    )
    from satchel.brief.briefing.records import Briefed, Briefing, LeftOut
    from satchel.brief.extraction import StrategyProposal
    from satchel.client import Satchel, open_satchel
    from satchel.keep.constraints import Constraint
    from satchel.keep.decisions.records import (
        KEEP,
        Decision,
        DecisionHistory,
        DecisionState,
        NewDecision,
        Similar,
    )
    from satchel.keep.entries.records import Entry, EntryPage, NewEntry, PruneResult
    from satchel.keep.entries.structured import RunState
    from satchel.keep.files.records import (
        Claim,
        Claimed,
        FileChange,
        FileCheck,
        FilesChecked,
        PendingClaim,
        RecentActivity,
        Released,
    )
    from satchel.keep.finding import Found, FoundPage
    from satchel.keep.messages.records import MarkedRead, Message, MessagePage
    from satchel.keep.packages.records import Package, PackageContent, PackagePage
    from satchel.keep.patterns.records import ErrorPattern, Reported, SimilarError, Solution
    from satchel.keep.runs import Run
    from satchel.keep.sessions.team import AgentState, LastScratchpad, Team, TeamClaim, TeamSession
    from satchel.keep.strategies import Strategy

_HOMES = {
    "satchel.base.errors": (
        "AssistantFailed",
        "Busy",
        "Conflict",
        "Incomplete",
        "Interrupted",
        "InvalidInput",
        "IoError",
        "NotFound",
        "ReadOnly",
        "Refused",
        "SatchelError",
        "StoreDamaged",
        "StoreForeign",
        "StoreFull",
        "StoreMissing",
        "StoreNewer",
        "StoreOlder",
        "TimedOut",
        "TooLarge",
        "Unavailable",
        "Unconfirmed",
        "Unreachable",
    ),
    "satchel.client": ("Satchel", "open_satchel"),
    "satchel.keep.constraints": ("Constraint",),
    "satchel.keep.decisions.records": (
        "KEEP",
        "Decision",
        "DecisionHistory",
        "DecisionState",
        "NewDecision",
        "Similar",
    ),
    "satchel.keep.entries.records": ("Entry", "EntryPage", "NewEntry", "PruneResult"),
    "satchel.keep.entries.structured": ("RunState",),
    "satchel.keep.files.records": (
        "Claim",
        "Claimed",
        "FileChange",
        "FileCheck",
        "FilesChecked",
        "RecentActivity",
        "Released",
        "PendingClaim",
    ),
    "satchel.keep.finding": ("Found", "FoundPage"),
    "satchel.keep.messages.records": ("MarkedRead", "Message", "MessagePage"),
    "satchel.keep.packages.records": ("Package", "PackageContent", "PackagePage"),
    "satchel.keep.patterns.records": ("ErrorPattern", "Reported", "SimilarError", "Solution"),
    "satchel.keep.runs": ("Run",),
    "satchel.keep.sessions.team": ("AgentState", "LastScratchpad", "Team", "TeamClaim", "TeamSession"),
    "satchel.keep.strategies": ("Strategy",),
    "satchel.brief.briefing.records": ("Briefed", "Briefing", "LeftOut"),
    "satchel.brief.extraction": ("StrategyProposal",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "KEEP",
    "AgentState",
    "AssistantFailed",
    "Briefed",
    "Briefing",
    "Busy",
    "Claim",
    "Claimed",
    "Conflict",
    "Constraint",
    "Decision",
    "DecisionHistory",
    "DecisionState",
    "Entry",
    "EntryPage",
    "ErrorPattern",
    "FileChange",
    "FileCheck",
    "FilesChecked",
    "Found",
    "FoundPage",
    "Incomplete",
    "Interrupted",
    "InvalidInput",
    "IoError",
    "LastScratchpad",
    "LeftOut",
    "MarkedRead",
    "Message",
    "MessagePage",
    "NewDecision",
    "NewEntry",
    "NotFound",
    "Package",
    "PackageContent",
    "PackagePage",
    "PendingClaim",
    "PruneResult",
    "ReadOnly",
    "RecentActivity",
    "Refused",
    "Released",
    "Reported",
    "Run",
    "RunState",
    "Satchel",
    "SatchelError",
    "Similar",
    "SimilarError",
    "Solution",
    "StoreDamaged",
    "StoreForeign",
    "StoreFull",
    "StoreMissing",
    "StoreNewer",
    "StoreOlder",
    "Strategy",
    "StrategyProposal",
    "Team",
    "TeamClaim",
    "TeamSession",
    "TimedOut",
    "TooLarge",
    "Unavailable",
    "Unconfirmed",
    "Unreachable",
    "__version__",
    "open_satchel",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use: `import satchel` itself loads nothing."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'satchel' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
