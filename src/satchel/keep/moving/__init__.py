"""Moving what is kept from store to store, as lines of JSON."""

from satchel.keep.moving.records import Exported, ImportConflict, Imported, KindImported, Trouble

__all__ = ["Exported", "ImportConflict", "Imported", "KindImported", "Trouble"]
