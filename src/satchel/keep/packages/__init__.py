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
from satchel.keep.packages.updates import DOCUMENTS, delete

__all__ = [
    "DOCUMENTS",
    "EVENTS",
    "STATUSES",
    "TYPES",
    "Package",
    "PackageContent",
    "PackagePage",
    "Packages",
    "delete",
]
