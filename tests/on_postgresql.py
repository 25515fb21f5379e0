"""Stores of tests in PostgreSQL: ``pytest --postgresql`` opens them there, a schema for each file that a test names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

import postgres_cluster
from satchel import client
from satchel.keep.projects import Workplace
from satchel.store.engine import Engine
from satchel.store.opening import Access
from satchel.store.postgres import Address, parse
from satchel.store.postgres.engine import PostgresEngine
from satchel.store.schema import MIGRATIONS
from satchel.store.sqlite import SqliteEngine

_EMPTY = f"""
DO $$
DECLARE
    place text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR place IN SELECT tablename FROM pg_tables
        WHERE schemaname = current_schema() AND tablename NOT IN ('store', 'migrations')
    LOOP
        EXECUTE format('DELETE FROM %I', place);
    END LOOP;
    PERFORM setval(format('%I', sequencename)::regclass, 1, false)
        FROM pg_sequences
        WHERE schemaname = current_schema() AND last_value IS NOT NULL AND sequencename <> 'store_id_seq';
    UPDATE store SET uid = uuid_send(gen_random_uuid()),
        min_reader = {max(one.min_reader for one in MIGRATIONS)},
        min_writer = {max(one.min_writer for one in MIGRATIONS)};
END $$
"""
"""Removes the rows of a store but for those of its migrations; that takes a hundredth of the time of making one."""


class Schemas:
    """The schemas of this process: what a test has left is emptied for the next one."""

    def __init__(self) -> None:
        self._free: list[Address] = []
        self._made = 0

    @contextmanager
    def of_one_test(self, *, has_store: bool = True) -> Iterator[Lent]:
        """Lend schemas until the block is left.

        Args:
            has_store: whether there may be a store in a schema already, an empty one.
        """
        lent = Lent(self, has_store=has_store)
        try:
            yield lent
        finally:
            lent.give_back_all()

    def give_back(self, address: Address) -> None:
        """Let another test have a schema; it is emptied then."""
        self._free.append(address)

    def take(self, *, has_store: bool) -> Address:
        """Return the address of a schema with an empty store, or with none yet."""
        if not has_store or not self._free:
            self._made += 1
            return parse(postgres_cluster.url(), schema=f"tests_{os.getpid()}_{self._made}")
        address = self._free.pop()
        with psycopg.connect(address.url, autocommit=True, options="-c synchronous_commit=off") as connection:
            connection.execute(f'SET search_path = "{address.schema}"'.encode())
            if connection.execute("SELECT to_regclass('store')").fetchone() != (None,):
                connection.execute(_EMPTY)
        return address


_MOST = 8
"""A test that opens stores under more paths, as one of many examples does, has left the first of them behind."""


class Lent:
    """The schemas that one test uses, by the file that stands for each."""

    def __init__(self, schemas: Schemas, *, has_store: bool) -> None:
        self._schemas = schemas
        self._has_store = has_store
        self._of_files: dict[Path, Address] = {}
        self._engines: dict[Address, list[PostgresEngine]] = {}

    def give_back_all(self) -> None:
        """Let other tests have all of them, with no connection left."""
        while self._of_files:
            self._give_back_first()

    def _give_back_first(self) -> None:
        address = self._of_files.pop(next(iter(self._of_files)))
        for engine in self._engines.pop(address, ()):
            engine.close()
        self._schemas.give_back(address)

    def address_of(self, file: Path) -> Address:
        """Return where the store of a file lies instead."""
        place = file.resolve()
        if place not in self._of_files:
            if len(self._of_files) >= _MOST:
                self._give_back_first()
            self._of_files[place] = self._schemas.take(has_store=self._has_store)
        return self._of_files[place]

    def engine_or_file(self, access: Access, **options: Any) -> PostgresEngine | SqliteEngine:
        """Make an engine as :meth:`engine` does; a file that is there, such as a backup, is opened as it is."""
        return SqliteEngine(access, **options) if access.file.is_file() else self.engine(access, **options)

    def engine(self, access: Access, **options: Any) -> PostgresEngine:
        """Make an engine as :class:`satchel.store.sqlite.SqliteEngine` is made, without what is about files."""
        taken = {name: options[name] for name in ("read_only", "clock") if name in options}
        address = self.address_of(access.file)
        engine = PostgresEngine(address, wait_ms=access.wait_ms, durability=access.durability, **taken)
        self._engines.setdefault(address, []).append(engine)
        return engine


@cache
def schemas() -> Schemas:
    """Return the schemas of this process."""
    return Schemas()


@contextmanager
def instead_of_files(*, has_store: bool = True) -> Iterator[Lent]:
    """Let every store that is opened in the block lie in PostgreSQL, each write at its project.

    Args:
        has_store: whether a store may begin as an empty one.
    """

    def workplace(*, engine: Engine, project_name: str | None, suggested_name: str, **others: Any) -> Workplace:
        bound = engine.of_project(project_name or suggested_name)
        return Workplace(engine=bound, project_name=project_name, suggested_name=suggested_name, **others)

    with schemas().of_one_test(has_store=has_store) as lent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "SqliteEngine", lent.engine_or_file)
        patch.setattr(client, "Workplace", workplace)
        yield lent


_FULL_TEXT = "it damages, or counts the rows of, the tables of SQLite's full-text index"
_FILE = "it names, copies or reads the file of the store"
_SQLITE = "it asks SQLite by statements of its own: plans of queries, pragmas, functions"
_NO_TEXT = "PostgreSQL keeps no text that is not UTF-8"
_PROCESSES = "its processes keep a store in a file; what they ask of a store runs elsewhere with threads and services"
_NAMES = "in a database, which many machines share, a project is told by its name and not by its folder"

_OF_KEEP: Mapping[str, str] = {
    "keep/finding/test_filters.py::test_the_project_is_left_out_of_the_scope_where_it_is_nearly_everything": _FULL_TEXT,
    "keep/test_housekeeping.py::test_a_damaged_index_is_to_be_made_anew_not_restored_from_a_backup": _FULL_TEXT,
    "keep/housekeeping/test_way_back.py": _FILE,
    "keep/importing/test_reading_bazinga_choice.py::test_a_store_of_our_own_is_refused": _FILE,
    "keep/test_housekeeping.py::test_statistics_name_the_file_and_count_all_of_it": _FILE,
    "keep/test_housekeeping.py::test_a_store_that_others_can_read_is_a_warning": _FILE,
    "keep/test_housekeeping.py::test_a_damaged_store_set_aside_is_searched_too": _FILE,
    "keep/test_projects.py::test_a_name_taken_by_another_root_is_refused_with_the_way_out": _NAMES,
    "keep/test_projects.py::test_a_project_whose_folder_was_moved_is_found_again": _NAMES,
    "keep/test_loop_scope.py": _SQLITE,
    "keep/entries/test_plans.py": _SQLITE,
    "keep/sessions/test_joining_processes.py": _PROCESSES,
    "keep/moving/test_taking.py::test_what_lines_name_is_found_by_the_index_of_uids": _SQLITE,
    "keep/test_damaged_texts.py": _NO_TEXT,
}
"""The tests of ``tests/keep``, each of which runs or stands here."""

LEFT_OUT: Mapping[str, str] = {
    "test_the_sum_over_days_is_that_of_what_was_recorded": _SQLITE,
    "test_what_hooks_and_briefings_put_in_is_counted_by_moment_and_agent": _SQLITE,
    "test_a_look_is_held_until_a_commit_or_an_expiry": _SQLITE,
    **_OF_KEEP,
}
"""Why tests do not run on PostgreSQL, by a part of their ids. What searches find is compared in
``find/test_both_databases.py``."""


_MATCH = "it reads what SQLite's full-text index is asked for"
_TOGETHER = "what a briefing draws on is asked of PostgreSQL at once, and one slow statement ends all of it"
_TYPES = "PostgreSQL keeps no value of another type than the column's"
_OF_SQLITE = "it measures or damages what SQLite alone has: pages of the file, foreign keys that are off"
_RESTORE = "it goes back to a backup in the store itself, for which PostgreSQL takes an empty schema"

OF_BRIEF_FIND_CONSULT: Mapping[str, str] = {
    "test_where_nearly_everything_is_of_the_kinds_the_documents_are_asked": _MATCH,
    "test_kinds_that_are_as_many_as_others_stay_in_the_index": _MATCH,
    "test_types_stay_in_the_index_even_where_nearly_everything_is_of_their_kind": _MATCH,
    "test_project_and_kinds_are_left_to_the_documents_where_nearly_everything_is_of_both": _MATCH,
    "test_a_run_that_nearly_everything_is_of_is_left_to_the_spine_only_in_a_large_store": _MATCH,
    "test_kinds_are_asked_of_the_documents_beside_others": _MATCH,
    "test_an_index_whose_structure_is_damaged_is_made_from_nothing": _FULL_TEXT,
    "test_leaves_out_what_was_not_reached_and_says_so": _TOGETHER,
    "test_is_no_attempt_where_its_text_is_damaged": _NO_TEXT,
    "[UPDATE context SET created_at = 'now'": _TYPES,
    "test_conversations_that_go_on_are_not_looked_at": _SQLITE,
    "consult/test_conversation_size.py": _OF_SQLITE,
    "test_a_file_without_its_folder_is_found": _OF_SQLITE,
    "test_a_backup_holds_conversations_and_going_back_to_it_brings_them_back": _RESTORE,
    "test_pages_of_one_state_of_the_store_compare_its_claims_once": "a transaction there keeps no reads for the next",
}
"""The same of the folders ``brief``, ``find`` and ``consult``."""


_PROCESS = "a process of its own, which knows nothing of these schemas, opens the store of the folder"
_HOOKS = "a hook reaches a store in a file or a server, never a database"

OF_INTERFACES: Mapping[str, str] = {
    "test_client.py::test_the_first_write_makes_a_private_store_that_git_ignores": _FILE,
    "test_client.py::test_outside_a_project_opening_is_refused_and_here_makes_one": _FILE,
    "cli/test_commands_trust.py": _FILE,
    "cli/test_move.py": _FILE,
    "test_an_option_of_a_write_counts": _FILE,
    "test_the_command_beside_a_proposal_saves_it[options1]": _FILE,
    "test_a_foreign_file_is_refused_and_left_as_it_is": _FILE,
    "test_a_foreign_database_is_refused_and_left_as_it_is": _FILE,
    "test_a_store_that_is_there_is_not_offered": _FILE,
    "test_yes_sets_up_all_that_are_found_and_the_store_but_gives_no_permission": _FILE,
    "test_answers_give_permissions_each_to_its_client_and_make_the_store": _FILE,
    "test_for_a_store_that_is_not_trusted_no_token_is_made": _FILE,
    "test_the_project_is_the_one_that_the_store_knows_the_folder_by": _FILE,
    "test_a_damaged_store_": _FILE,
    "test_the_doctor_reports_json": "the doctor has other checks of PostgreSQL",
    "test_yes_does_it[--yes-restore": _RESTORE,
    "test_yes_does_it[--yes --json-restore": _RESTORE,
    "test_yes_does_it[asked-restore": _RESTORE,
    "test_restore_says_where_the_state_before_it_is": _RESTORE,
    "test_a_revoked_token_gives_no_access_also_after_a_backup_is_restored": _RESTORE,
    "hooks/test_command.py": _HOOKS,
    "hooks/test_explaining.py": _HOOKS,
    "test_odd_events_are_answered_in_the_clients_form_or_not_at_all": _HOOKS,
    "hooks/test_prompts.py": _HOOKS,
    "test_a_store_that_could_not_be_written_is_told_by_the_next_hook_that_works": _HOOKS,
    "test_a_hook_that_fails_again_and_again_is_seldom_told": _HOOKS,
    "test_a_hook_that_fails_needs_a_person_until_it_works": _HOOKS,
    "hooks/test_working": _HOOKS,
    "test_who_is_alone_is_told_how_one_comes_to_be_listed": "it begins where no store is, which no later schema is",
    "test_a_reader_of_another_encoding_gets_escapes": _PROCESS,
    "test_on_a_terminal_what_matched_is_coloured": _PROCESS,
    "test_json_is_never_coloured": _PROCESS,
}
"""The same of ``interfaces``, but for ``interfaces/http``, and of ``test_client.py``."""

ALL_LEFT_OUT = {**LEFT_OUT, **OF_BRIEF_FIND_CONSULT, **OF_INTERFACES}


def left_out(nodeid: str) -> str | None:
    """Return why a test does not run on PostgreSQL, or None."""
    return next((reason for part, reason in ALL_LEFT_OUT.items() if part in nodeid), None)
