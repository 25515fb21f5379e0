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

__all__ = [
    "EVENTS",
    "STATUSES",
    "TYPES",
    "Package",
    "PackageContent",
    "PackagePage",
    "Packages",
]
