"""Packages: files and texts worth handing to other agents."""

from satchel.keep.packages.records import (
    EVENTS,
    STATUSES,
    TYPES,
    Package,
    PackageContent,
    PackagePage,
)
from satchel.keep.packages.service import Packages
from satchel.keep.packages.updates import delete, load_documents, searchable_texts

__all__ = [
    "EVENTS",
    "STATUSES",
    "TYPES",
    "Package",
    "PackageContent",
    "PackagePage",
    "Packages",
    "delete",
    "load_documents",
    "searchable_texts",
]
