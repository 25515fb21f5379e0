"""Search over all items, with readable results, and maintenance of the index."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from satchel.base.errors import InvalidInput, NotFound, unknown_name
from satchel.base.paging import DEFAULT_LIMIT, check_page, next_offset
from satchel.base.records import dataclass, replace
from satchel.base.text import check_name, fold
from satchel.base.vocabulary import LIVENESS
from satchel.find import documents, meaning, scopes, search
from satchel.find.kind import KIND_OF, Kind
from satchel.find.query import SYNTAXES, Query, parse
from satchel.find.scopes import Scope
from satchel.find.search import SHORTENED, Ranking, SearchTime
from satchel.find.snippets import Snipper, Snippet
from satchel.keep import binding, citations, kept, names, projects, runs
from satchel.keep.citations import Citation
from satchel.keep.kinds import KINDS, check_kinds, check_types, meaning_for, read_ref, texts_of
from satchel.keep.listing import hidden_note
from satchel.keep.paths import check_place, inside, is_folder, meant_note
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import ME, UNKNOWN, find_authors
from satchel.store.transaction import Row, Transaction, grouped, set_of

if TYPE_CHECKING:
    from typing import Unpack

    from satchel.keep.common_filters import CommonFilters

JOINT = " | "  # separator of an item's parts in its snippet
_CHARS_IN_HASTE = 2_000  # how much of each text is searched for an excerpt when the time is over

_ONE_TEXT = frozenset({Kind.ENTRY, Kind.MESSAGE})  # kinds whose lines are one text instead of parts


@dataclass(frozen=True, slots=True)
class TermShare:
    """A term's contribution to a score; ``around`` is the part from neighbors instead of the item itself."""

    term: str
    idf: float
    own: float
    around: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a score.

    Attributes:
        segment: the bonus for the best matches of the item's loop or task.
        author: the bonus for naming the author, or penalty for naming another.
        meaning: the gain or loss by the meaning of the text, if the extra ``meaning`` is installed.
    """

    shares: tuple[TermShare, ...]
    segment: float
    author: float
    meaning: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """A search result.

    Attributes:
        ref: its short id.
        by_surroundings: whether only its neighbors contain words of the query.
        status: its kind's status, such as live or superseded.
        created_at: milliseconds UTC.
        text: the whole text that the snippet is from.
        citation: of an entry, the state of its file, if known.
    """

    kind: str
    ref: str
    type: str | None
    snippet: Snippet
    score: float
    by_surroundings: bool
    agent: str | None
    run_id: str | None
    task_id: str | None
    loop_id: str | None
    file: str | None
    line: int | None
    last_line: int | None
    status: str
    created_at: int
    explanation: Explanation | None = None
    text: str = ""
    citation: Citation | None = None


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of results, ranked and counted in one snapshot.

    Attributes:
        notes: remarks for the reader, such as common words left out.
    """

    results: tuple[Found, ...]
    total: int
    offset: int
    limit: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.results)

    @property
    def next_offset(self) -> int | None:
        return next_offset(self.offset, len(self), self.total)

    @property
    def is_ranked(self) -> bool:
        """Return whether results are ranked; without a query, the newest come first."""
        return any(result.score for result in self.results)


class Finding(Service):
    """Search over everything in the project."""

    def search(
        self,
        text: str | None = None,
        *,
        like: str | None = None,
        syntax: str = "natural",
        run_id: str | None = None,
        kinds: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        author: str | None = None,
        task_id: str | None = None,
        loop_id: str | None = None,
        file: str | None = None,
        status: str = "live",
        among: Sequence[str] | None = None,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        explain: bool = False,
        **common: Unpack[CommonFilters],
    ) -> FoundPage:
        """Search all items of the project; without a query, list them, newest first.

        Args:
            text: words in any form; any text is valid. A lookup (a few words, an identifier, a path, a version, a
                number, a flag, a "quoted phrase") finds items that contain all of it; a question also finds items with
                some of its words, and their neighbors.
            like: the short id of an item, to find more like it, instead of text.
            syntax: natural, or operators for AND, OR, NOT or -, prefix*, phrases and parentheses.
            run_id: only this run; None searches all runs, and so does ``*``.
            kinds, types, author, task_id, loop_id, file: only items of these; rules and decisions are of the files that
                their paths match.
            status: live, superseded (by another, or retracted), or all; superseded items rank below live ones then.
            among: only these items, by their short ids; None is all.
            limit: 0 to 500; 0 gives the total alone.
            offset: how many to skip.
            explain: add an explanation of each score.
            common: the filters of every list.

        Raises:
            InvalidInput: a filter is empty, unknown or out of range, or operator syntax is wrong, with the position.
            NotFound: there is no such run, or nothing with the id given in ``like``.
            StoreDamaged: index and documents disagree.
        """
        from satchel.keep.common_filters import check_common

        if text is not None and like is not None:
            raise InvalidInput("give either words to search for or an item in like", "Or neither, for what is newest")
        if text is not None and not text.strip():
            raise InvalidInput("the search is empty", "Say what to look for")
        if syntax not in SYNTAXES:
            raise unknown_name("syntax", syntax, SYNTAXES)
        if status not in LIVENESS:
            raise unknown_name("status", status, LIVENESS)
        check_page(limit, offset)
        work = self._workplace
        selected = check_kinds(kinds)
        wanted = check_types(selected, types)
        author = None if author is None else check_name(author, "author")
        file = None if file is None else check_place(file, work.files_root)[0]
        task_id = None if task_id is None else check_name(task_id, "task_id")
        loop_id = None if loop_id is None else check_name(loop_id, "loop_id")
        common_filters = check_common(common, work.clock())
        query = parse(text, syntax) if text is not None else None
        with projects.reading(work) as (transaction, project):
            choice = None if run_id is None else runs.choose(transaction, work, project.id, run_id)
            run = chosen_run = None if choice is None else choice.id
            if not project.id:
                return FoundPage((), 0, offset, limit, (projects.NOTHING_YET,))
            itself: int | None = None
            candidates: int | None = None
            if like is not None:
                itself, query, candidates = _query_like(transaction, project.id, like, work.clock())
            if query is not None and not query.terms:
                note = f"{(text or '').strip()[:80]!r} holds no word to search for"
                if itself is not None:
                    note = f"no other item holds a telling word of {(like or '').strip()}"
                return FoundPage((), 0, offset, limit, (note,))
            writers = () if author is None else find_authors(transaction, work, project.id, author)
            on_file, values = ("", {}) if file is None else _on_file(transaction, project.id, file)
            where = [on_file]
            if among is not None:
                where.append(f"({' OR '.join(_items(grouped(map(read_ref, among)))) or '0 = 1'})")
            by = () if author is None else writers or (UNKNOWN,)
            for column, one_of in (("agent_id", by), ("task_id", (task_id,)), ("loop_id", (loop_id,))):
                if one_of and one_of[0] is not None:
                    where.append(_written_with(transaction, project.id, column, one_of, values)[0])
            if run is not None:
                in_run, is_seen = _written_with(transaction, project.id, "run_id", (run,), values)
                # the index has the run where an entry was first written, and is faster
                where += [in_run] * is_seen
                run = None if is_seen else run
            where.append(common_filters.where("d.created_at").removeprefix(" AND "))
            values |= common_filters.values
            scope = Scope(
                project.id,
                run,
                selected,
                wanted,
                status=status,
                now=work.clock(),
                condition=" AND ".join(filter(None, where)),
                values=values,
            )
            sinking = citations.Sinking(transaction, work.files_root)
            # as in lists, before the time of the search begins
            by_meaning = None if query is None else meaning_for(work, query)
            time = SearchTime(transaction)
            if query is None:
                ranking, total = search.newest(transaction, scope, offset, limit)
                page = ranking.hits
                sinking([hit.document for hit in page])
            else:
                reach = offset + limit + (itself is not None)
                ranking = time.rank(
                    query,
                    scope,
                    candidates=candidates,
                    sink=sinking,
                    texts=texts_of,
                    reach=reach,
                    meaning=by_meaning,
                )
                hits = tuple(hit for hit in ranking.hits if hit.document != itself)
                page, total = hits[offset : offset + limit], ranking.total - len(ranking.hits) + len(hits)
                if not total and text is not None and (name := text.strip().lower()).isprintable() and " " not in name:
                    in_stacks, total = search.newest(transaction, _in_stacks(scope, name), offset, limit)
                    ranking, page = (in_stacks, in_stacks.hits) if total else (ranking, page)
            results = _results(transaction, ranking, page, sinking.citations, time, explain=explain)
            shortened = (SHORTENED,) * (bool(results) and time.is_over())
            notes_of_search = ranking.notes + meaning.problems(work.meaning) + shortened
            results_page = FoundPage(results, total, offset, limit, notes_of_search)
            filters = {
                "run_id": run_id if chosen_run is not None else None,
                "kinds": kinds,
                "types": types,
                "author": author,
                "task_id": task_id,
                "loop_id": loop_id,
                "file": file,
                **common,
                "status": status if status == "superseded" else None,
            }
            narrowing = {name: value for name, value in filters.items() if value is not None}
            if results_page.total:
                return results_page
            ended = _ended_note(transaction, query, scope, time)
            if ended or not narrowing:
                return replace(results_page, notes=(*results_page.notes, *ended))
            everywhere = Scope(project.id, now=work.clock())
            hidden = _count(transaction, query, everywhere, time)
            is_unknown = author is not None and not writers and fold(author) != ME
            notes = [names.unknown_agent(transaction, project.id, author or "")] if is_unknown else []
            notes += meant_note(transaction, project.id, file) if file is not None else ()
            notes += [hidden_note(narrowing, hidden)] if hidden else []
            return replace(results_page, notes=(*results_page.notes, *notes))

    def rebuild(self, progress: documents.Progress) -> int:
        """Rebuild the search index while others write, and return the number of indexed items.

        Args:
            progress: called with the number of items done and about how many there are.
        """
        loaders = [(kind, partial(kept.load_documents, thing)) for kind, thing in KINDS.items()]
        return documents.rebuild(self._workplace.engine, loaders, progress)


def _in_stacks(scope: Scope, name: str) -> Scope:
    # the errors with a name in their stacks, which are not indexed
    stacks = (
        f"d.kind = {Kind.ERROR_PATTERN.number} AND d.item_id IN (SELECT id FROM error_patterns "
        "WHERE project_id = :project AND lower(example) LIKE :stack_name ESCAPE '!')"
    )
    pattern = re.sub(r"([!%_])", r"!\1", name)
    condition = " AND ".join(filter(None, (scope.condition, stacks)))
    values = {**scope.values, "stack_name": f"%{pattern}%", "project": scope.project_id}
    return replace(scope, condition=condition, values=values)


def _items(numbers: Mapping[Kind, Sequence[int]]) -> list[str]:
    return [f"d.kind = {kind.number} AND d.item_id IN {set_of(some)}" for kind, some in numbers.items() if some]


def _on_file(transaction: Transaction, project_id: int, file: str) -> tuple[str, dict[str, object]]:
    condition, values = inside(file, "d.file") if is_folder(file) else ("d.file = :file", dict[str, object](file=file))
    parts = _items(binding.matching_paths(transaction, project_id, file))
    return f"({' OR '.join([condition, *parts])})", values


def _written_with(
    transaction: Transaction, project_id: int, column: str, one_of: Sequence[object], values: dict[str, object]
) -> tuple[str, bool]:
    bound = {f"{column}{place}": value for place, value in enumerate(one_of)}
    own = f"d.{column} IN ({', '.join(f':{name}' for name in bound)})"
    from satchel.keep.entries.kind import seen_with  # imported here: few searches are by author, task or run

    sightings, parameters = seen_with(transaction, project_id, column, one_of)
    values |= bound | parameters | {"project": project_id}
    return f"({own} OR (d.kind = {Kind.ENTRY.number} AND d.item_id IN ({sightings})))" if sightings else own, bool(
        sightings
    )


def _count(transaction: Transaction, query: Query | None, scope: Scope, time: SearchTime) -> int:
    if query is None:
        return scopes.count(transaction, scope)
    return time.rank(query, scope, texts=texts_of, reach=0).total


def _ended_note(transaction: Transaction, query: Query | None, scope: Scope, time: SearchTime) -> list[str]:
    if scope.status != "live":
        return []
    ended = _count(transaction, query, replace(scope, status="superseded"), time)
    are = "is" if ended == 1 else "are"
    return [f"{ended} that {are} closed, replaced or retracted: status=superseded"] * (ended > 0)


def _query_like(transaction: Transaction, project_id: int, ref: str, now: int) -> tuple[int, Query, int]:
    from satchel.find.about import LIKE_COMMON, query_like

    kind, item = read_ref(ref)
    row = transaction.one(
        """
        SELECT id FROM documents
        WHERE kind = :kind AND item_id = :item AND project_id = :project AND (expires_at IS NULL OR expires_at > :now)
        """,
        {"kind": kind.number, "item": item, "project": project_id, "now": now},
    )
    if row is None:
        raise NotFound(f"there is no {ref.strip()} in this project", "Results of a search show the ids")
    text = kept.texts(KINDS[kind], transaction, [item]).get(item, "")
    return row[0], query_like(transaction, project_id, text), LIKE_COMMON


def _results(
    transaction: Transaction,
    ranking: Ranking,
    page: Sequence[search.Hit],
    cited: Mapping[int, Citation],
    time: SearchTime,
    *,
    explain: bool,
) -> tuple[Found, ...]:
    if not page:
        return ()
    rows = transaction.all(
        f"""
        SELECT d.id, d.kind, d.item_id, d.type, a.name, r.run_id, d.task_id, d.loop_id, d.file, c.line, c.last_line,
            d.status, d.created_at
        FROM documents d LEFT JOIN agents a ON a.id = d.agent_id LEFT JOIN runs r ON r.id = d.run_id
            LEFT JOIN context c ON d.kind = {Kind.ENTRY.number} AND c.id = d.item_id
        WHERE d.id IN {set_of(hit.document for hit in page)}
        """
    )
    by_document = {row[0]: row for row in rows}
    if len(rows) < len(page):
        raise search.disagreement()
    texts = _texts(transaction, rows)
    snipper = Snipper(ranking.terms, ranking.idf)
    results = []
    for hit in page:
        if hit.document not in texts:
            continue
        text, row = texts[hit.document], by_document[hit.document]
        _, number, item, kind_type, agent, run, task, loop, file, line, last_line, status, created = row
        kind, searched = KIND_OF[number], text[:_CHARS_IN_HASTE] if time.is_over() else text
        thing = KINDS[kind]
        result = Found(
            kind=thing.name,
            ref=kind.ref(item),
            type=None if kind_type is None else thing.types[kind_type - 1],
            # other kinds have one part per line
            snippet=snipper.cut(searched if kind in _ONE_TEXT else searched.replace("\n", JOINT)),
            score=round(hit.score, 4),
            by_surroundings=hit.by_surroundings,
            agent=agent,
            run_id=run,
            task_id=task,
            loop_id=loop,
            file=file,
            line=line,
            last_line=last_line,
            status=thing.statuses[status - 1],
            created_at=created,
            explanation=_explained(hit.document, ranking) if explain else None,
            text=text,
            citation=cited.get(hit.document),
        )
        results.append(result)
    return tuple(results)


def _texts(transaction: Transaction, rows: Sequence[Row]) -> Mapping[int, str]:
    texts: dict[int, str] = {}
    for kind in KINDS:
        items = {row[2]: row[0] for row in rows if row[1] == kind.number}
        if not items:
            continue
        loaded = kept.display_texts(KINDS[kind], transaction, list(items))
        texts |= {document: loaded[item] for item, document in items.items() if item in loaded}
    return texts


def _explained(document: int, ranking: Ranking) -> Explanation:
    size = len(ranking.terms)
    own = ranking.own.get(document, [0.0] * size)
    evidence = ranking.evidence.get(document, [*own, 0.0])
    return Explanation(
        shares=tuple(
            TermShare(
                " ".join(term.words) + ("*" if term.prefix else ""),
                round(idf, 3),
                round(mine, 3),
                round(best - mine, 3),
            )
            for term, idf, mine, best in zip(ranking.terms, ranking.idf, own, evidence[:size], strict=True)
        ),
        segment=round(evidence[size], 3),
        author=ranking.bonus.get(document, 0.0),
        meaning=round(ranking.meaning.get(document, 0.0), 3),
    )
