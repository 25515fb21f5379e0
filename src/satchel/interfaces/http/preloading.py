"""Loading what calls need before the first one comes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from contextlib import suppress

import satchel
from satchel.base.errors import SatchelError
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import START
from satchel.interfaces.http.access import AGENT, Access, Store
from satchel.interfaces.http.room import rendering
from satchel.interfaces.http.stores import Stores

_INTERFACES = ("operations", "briefing", "ledger")
_PACKAGES = ("base", "store", "find", "keep", "brief", *(f"interfaces.{name}" for name in _INTERFACES))
_NOT_SERVED = ("satchel.keep.importing", "satchel.keep.moving", "satchel.keep.shared")
_MOST_STORES = 8
_BRIEFING_MS = 1_000


def preload() -> None:
    """Load the modules of all operations: measured, a first call takes 200 ms for that, half of what a hook has.

    A module that needs an extra which is not installed is left to the call that needs it, which names the extra.
    """
    for package in _PACKAGES:
        name = f"{satchel.__name__}.{package}"
        paths = importlib.import_module(name).__path__
        for found in pkgutil.walk_packages(paths, f"{name}."):
            if not found.name.startswith(_NOT_SERVED):
                with suppress(ImportError):
                    importlib.import_module(found.name)
    rendering.prepare()


def warm(stores: Stores, projects: Iterable[tuple[Store, str]]) -> None:
    """Open the stores that tokens lead to, and brief and search once.

    The vocabulary that counts tokens is left out: it takes 43 MB, and hooks do without. What cannot be opened now says
    so to whom it concerns, when it is asked for.

    Args:
        projects: a store with the name of a project in it.
    """
    by_store = dict(projects)
    for store, project in list(by_store.items())[:_MOST_STORES]:
        with suppress(SatchelError, OSError):
            opened = stores.satchel(Access("", "", AGENT, store, project, read_only=True))
            opened.moments.make(START, Deadline(_BRIEFING_MS), dry_run=True)  # as hooks do, without the vocabulary
            opened.finding.search("what is kept here")
