"""The parts of the overview that may change after a change or an event."""

from __future__ import annotations

from collections.abc import Mapping

_CLAIMS = {"claim", "release", "expiry", "session_ended"}
_SESSIONS = {"session_started", "session_ended"}
_RUNS = {"run", "run_ended"}
_CORRECTIONS = {"retraction", "confirmation", "taken_back", "acceptance", "confidence", "forgotten"}

TOUCHED_BY: Mapping[str, frozenset[str]] = {
    "needs": frozenset(
        {"entry", "decision", "message", "error_pattern", "strategy", "refusal", "hook_failed", "progress"}
        | _CORRECTIONS
        | _RUNS
        | _CLAIMS
        | _SESSIONS
    ),
    "since": frozenset({"entry", "decision", "constraint", "error_pattern", "strategy", "file_change"} | _CORRECTIONS),
    "where": frozenset(
        {"entry", "delivery", "forgotten", "message", "refusal", "file_change", "progress"}
        | _RUNS
        | _CLAIMS
        | _SESSIONS
    ),
    "conflicts": frozenset({"file_change", "forgotten", "refusal", "decision", "constraint"} | _CLAIMS),
}
"""The kinds of :data:`satchel.keep.following.KINDS` after which each part may differ.

Some changes have no event, as when a message is read or a session falls silent: open pages reload every minute.
"""
