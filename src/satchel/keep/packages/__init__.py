"""Packages: files and texts handed to other agents."""

from __future__ import annotations

from satchel.base.lazy import exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.keep.packages.records import EVENTS, STATUSES, TYPES, Consumption, Package, PackageContent, PackagePage
    from satchel.keep.packages.service import Packages

__all__ = ["EVENTS", "STATUSES", "TYPES", "Consumption", "Package", "PackageContent", "PackagePage", "Packages"]

__getattr__ = exported(__name__, "records", "service")
