"""What calls that wait have in common, whatever they wait for."""

from __future__ import annotations

MAX_SECONDS = 45
"""How long a call may wait: clients give one up after a minute."""

SEATS = 4
"""How many calls of one opened store wait at once for one kind of thing; the others of its connection go on."""

POLL_SECONDS = 0.1
"""The store is asked so often whether anything was written; measured, a waiter takes 0.25 % of a processor."""
