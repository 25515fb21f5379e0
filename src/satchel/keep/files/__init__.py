"""Files: recorded edits, and claims on paths and folders."""

from satchel.keep.files.changes import NewChange, delete, insert, load_documents, searchable_texts
from satchel.keep.files.claims import claims_of_others
from satchel.keep.files.records import (
    CHANGES,
    Claim,
    Claimed,
    FileChange,
    FileChangePage,
    FileLock,
    Released,
)
from satchel.keep.files.service import Files

__all__ = [
    "CHANGES",
    "Claim",
    "Claimed",
    "FileChange",
    "FileChangePage",
    "FileLock",
    "Files",
    "NewChange",
    "Released",
    "claims_of_others",
    "delete",
    "insert",
    "load_documents",
    "searchable_texts",
]
