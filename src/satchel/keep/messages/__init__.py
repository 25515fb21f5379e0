"""Messages: what agents tell each other."""

from satchel.keep.messages.records import MESSAGE_TYPES, MarkedRead, Message, MessagePage
from satchel.keep.messages.service import EVERYONE, Messages
from satchel.keep.messages.visibility import unread_critical
from satchel.keep.messages.writing import delete, load_documents, post, searchable_texts

__all__ = [
    "EVERYONE",
    "MESSAGE_TYPES",
    "MarkedRead",
    "Message",
    "MessagePage",
    "Messages",
    "delete",
    "load_documents",
    "post",
    "searchable_texts",
    "unread_critical",
]
