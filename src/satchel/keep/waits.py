"""Limits of waiting calls."""

from __future__ import annotations

MAX_SECONDS = 45
"""Maximum wait of a call: clients give up after a minute."""

SEATS = 4
"""Maximum number of concurrent waits per kind and opened store, so that other calls continue."""

POLL_SECONDS = 0.1
"""Interval of checks for new writes; a waiter takes 0.25 % of a processor."""
