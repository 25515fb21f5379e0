"""Service for a project's shared texts; the implementation is imported on use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from satchel.base.config import YOUR_FILE
from satchel.base.errors import InvalidInput, Refused, unknown_name
from satchel.base.vocabulary import RESOLUTIONS, SHARING_RULES
from satchel.keep import projects
from satchel.keep.sessions.actors import is_by_person
from satchel.keep.shared.folder import Folder, Listing, Place, last_reading, may_be_news, place_of
from satchel.keep.shared.records import Synced

if TYPE_CHECKING:
    from satchel.base.config_keys import Config
    from satchel.keep.common_filters import CommonFilters
    from satchel.keep.projects import Workplace
    from satchel.keep.shared.exchange import Exchange
    from satchel.keep.shared.records import Accepted, Checked, Differences, SharedList, Sharing


class SharedTexts:
    """The shared texts of a project: ``.satchel/shared`` in its repository."""

    def __init__(self, workplace: Workplace, config: Config) -> None:
        self._workplace = workplace
        # an agent can set a variable of its shell, or an argument of its program
        self._accepts = config.share_accept and (
            config.setting("share.accept").source == YOUR_FILE or is_by_person(workplace, None)
        )
        self._branch = config.share_branch

    def share(self, refs: Sequence[str] = (), *, rule: Sequence[str] = (), dry_run: bool = False) -> Sharing:
        """Write files for items and keep them in step from now on; nothing is committed.

        Args:
            refs: short ids of decisions, rules, errors, strategies and notes.
            rule: names of :data:`satchel.base.vocabulary.SHARING_RULES`: every item of each.
            dry_run: write nothing.

        Returns:
            What was written, and what was not and why: it holds a secret, belongs to one task, or a text waits.

        Raises:
            InvalidInput: nothing is named, or no such rule.
            NotFound: the project has no such item.
            Refused: the files cannot be written.
        """
        unknown = next((one for one in rule if one not in SHARING_RULES), None)
        if unknown is not None:
            raise unknown_name("rule", unknown, SHARING_RULES)
        if not refs and not rule:
            raise InvalidInput("no item to share is named", "Give ids such as d12, or --rule decisions")
        return self._exchange(dry_run=dry_run).share(refs, rule)

    def unshare(self, refs: Sequence[str], *, dry_run: bool = False) -> Sharing:
        """Write tombstones into items' files; items that others accepted stay with them.

        Args:
            refs: short ids, names of files, or beginnings of uids.
            dry_run: write nothing.

        Raises:
            InvalidInput, NotFound: no such item is shared.
            Refused: the files cannot be written.
        """
        if not refs:
            raise InvalidInput("no item is named", "Give ids such as d12; satchel share --list --all has them")
        return self._exchange(dry_run=dry_run).unshare(refs)

    def sync(self, *, dry_run: bool = False, resolve: str | None = None) -> Synced:
        """Sync store and files both ways; nothing is committed, and texts by others wait.

        Args:
            dry_run: only report what would be done.
            resolve: how to resolve git's conflict markers: ``ours``, ``theirs``, or ``both``.

        Raises:
            InvalidInput: ``resolve`` is something else.
            Conflict: git's markers in a file are not whole, or not about a text of the item.
            Refused: the files cannot be written.
        """
        if resolve is not None and resolve not in RESOLUTIONS:
            raise unknown_name("way to resolve", resolve, RESOLUTIONS)
        place = place_of(self._root(), self._branch)
        files = Folder(place.root).list()
        quick = None if resolve is not None else self._nothing_new(place, files)
        if quick is not None:
            return quick
        return self._exchange(dry_run=dry_run).sync(place, files, resolve)

    def read_news(self) -> None:
        """Read the repository if it has changed: count waiting texts and accept those configured; write no file."""
        if may_be_news(self._workplace, self._branch):
            self._exchange().read_news()

    def standing(
        self,
        refs: Sequence[str] = (),
        *,
        all: bool = False,  # noqa: A002 -- the option's name
        **filters: Unpack[CommonFilters],
    ) -> SharedList:
        """Return the states of shared texts: waiting and differing ones, and with ``all`` the rest.

        Args:
            refs: short ids, names of files, or beginnings of uids; none for everything.
            filters: those of every list.
        """
        from satchel.keep.common_filters import check_common

        return self._exchange().standing(refs, check_common(filters, self._workplace.clock()), is_all=all)

    def accept(
        self,
        refs: Sequence[str] = (),
        *,
        all: bool = False,  # noqa: A002 -- the option's name
        seen: Sequence[str] = (),
    ) -> Accepted:
        """Accept waiting texts; the states they replace are kept.

        Args:
            refs: short ids, names of files, or beginnings of uids.
            all: select everything that waits.
            seen: the digests from :meth:`diff`, so that only texts that were read are decided on.

        Raises:
            Refused: an agent asks.
            InvalidInput, NotFound: nothing is named, or what is does not wait.
            Conflict: a text is another than the one that was seen.
        """
        return self._exchange().decide(refs, seen, is_all=all, is_accepted=True)

    def reject(
        self,
        refs: Sequence[str] = (),
        *,
        all: bool = False,  # noqa: A002 -- the option's name
        seen: Sequence[str] = (),
    ) -> Accepted:
        """Reject waiting texts until they change; arguments and errors are those of :meth:`accept`."""
        return self._exchange().decide(refs, seen, is_all=all, is_accepted=False)

    def diff(self, refs: Sequence[str] = (), *, all: bool = False) -> Differences:  # noqa: A002 -- the option's name
        """Return the waiting texts with their differences; arguments and errors are those of :meth:`accept`."""
        return self._exchange().diff(refs, is_all=all or not refs)

    def check(self) -> Checked:
        """Check that this worktree's files are formatted as the program writes them, for builds. No store is needed."""
        from satchel.keep.shared.records import Checked
        from satchel.keep.shared.repository import format_problems

        folder = Folder(self._root())
        files = folder.list()
        return Checked(len(files.names), tuple(format_problems(folder, files)))

    def _root(self) -> str:
        root = self._workplace.files_root
        if root is None:
            raise Refused("this store belongs to no folder, so there is no place for shared texts", "Work in a project")
        return root

    def _exchange(self, *, dry_run: bool = False) -> Exchange:
        from satchel.keep.shared.exchange import Exchange

        return Exchange(self._workplace, self._root(), self._branch, accepts=self._accepts, dry_run=dry_run)

    def _nothing_new(self, place: Place, files: Listing) -> Synced | None:
        # the cheap look suffices when nothing has changed since the last sync
        work = self._workplace
        if not work.engine.exists():
            return None
        with projects.reading(work) as (transaction, project):
            last = last_reading(transaction, project.id)
            now = (place.look, files.stamp, project.seq)
            if last is None or (last.look, last.stamp, last.seq) != now:
                return None
            row = transaction.one(
                "SELECT count(in_step), count(waiting) FROM shared_texts WHERE project_id = :project",
                {"project": project.id},
            )
        if row is None or row[1]:
            return None
        return Synced((), (), (), (), int(row[0]), (), (), (), done=True)
