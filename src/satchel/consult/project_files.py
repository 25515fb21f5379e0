"""The files of a project, as consultations look at them."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from satchel.base.errors import Refused
from satchel.consult.cancelling import IsCancelled
from satchel.consult.gathering import gather
from satchel.consult.records import Gathering


class ProjectFiles:
    """The files of one project; nothing else is looked at but what the caller allows."""

    def __init__(self, root: str | None) -> None:
        """Name the folder.

        Args:
            root: absolute; None where there is no project, and so no files.
        """
        self._root = root

    def gather(
        self,
        paths: Sequence[str],
        known: Collection[str],
        *,
        allow_roots: Sequence[str] = (),
        force: bool,
        is_cancelled: IsCancelled,
    ) -> Gathering:
        """Look at what paths name; one that the conversation knows and that is gone is a removal, not an error.

        Args:
            paths: relative to the project's folder, or absolute.
            known: the paths that the conversation knows; a folder is known by the files that were in it.
            allow_roots: folders outside the project that may be looked at too, absolute.
            force: whether files are sent whose names say that they hold secrets.
            is_cancelled: asked again and again; True ends it.

        Raises:
            InvalidInput, NotFound, Refused, TooLarge: a path is not acceptable.
            Interrupted: it was cancelled.
        """
        if not paths:
            return Gathering((), ())
        if self._root is None:
            raise Refused("there is no project here to take files from", "Call it in a project, or give no paths")
        there = [path for path in paths if not (self.is_gone(path) and _knows(known, self._known_as(path)))]
        return gather(there, [self._root, *allow_roots], base=self._root, force=force, is_cancelled=is_cancelled)

    def is_gone(self, path: str) -> bool:
        """Tell whether a path is there no more; one that cannot be looked at is not known to be gone."""
        if self._root is None:
            return False
        try:
            Path(self._root, path).lstat()
        except OSError as error:
            return error.errno in {errno.ENOENT, errno.ENOTDIR}
        except ValueError:
            # a name that no file can have, such as one with a zero byte; gathering refuses it
            return False
        return False

    def _known_as(self, path: str) -> str:
        """Return what a path that is gone was called in the conversation."""
        root = self._root or "/"
        # a link to the folder itself is resolved in the names that gathering gives
        for base in (root, os.path.realpath(root)):
            name = os.path.relpath(os.path.join(base, path), base)  # noqa: PTH118 -- a Path keeps `..`
            if not name.startswith(".."):
                return name
        return path


def _knows(known: Collection[str], path: str) -> bool:
    """Tell whether a path is among those that are known, or a folder of them."""
    return path in known or any(one.startswith(f"{path}/") for one in known)
