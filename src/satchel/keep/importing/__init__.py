"""Importing the stores of other tools."""

from satchel.keep.importing.records import ImportConflict, Imported, KindImported, Trouble
from satchel.keep.importing.service import Importing

__all__ = ["ImportConflict", "Imported", "Importing", "KindImported", "Trouble"]
