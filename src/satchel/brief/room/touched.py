"""Which looks may have changed after a change or an event, so that nobody looks again at what has not."""

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
    "collisions": frozenset({"file_change", "forgotten"} | _CLAIMS),
}
"""The kinds of :data:`satchel.keep.following.KINDS` after which each look may show something else.

What nobody is told of, as that a message was read or that a session went silent, is in none: who keeps a look open
looks again every minute.
"""
