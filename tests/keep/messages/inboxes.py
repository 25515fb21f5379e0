"""What stands in an inbox."""

from __future__ import annotations

from satchel import MessagePage

HOUR = 3_600_000


def texts(page: MessagePage) -> list[str]:
    """Return the texts of messages, in the order of their page."""
    return [message.message for message in page]
