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
from satchel.store.opening import Access
from satchel.store.postgres.address import Address, parse
from satchel.store.postgres.engine import PostgresEngine
from satchel.store.schema import MIGRATIONS

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
    def of_one_test(self) -> Iterator[Lent]:
        """Lend schemas until the block is left."""
        lent = Lent(self)
        try:
            yield lent
        finally:
            lent.give_back_all()

    def give_back(self, address: Address) -> None:
        """Let another test have a schema; it is emptied then."""
        self._free.append(address)

    def take(self) -> Address:
        """Return the address of a schema with an empty store, or with none yet."""
        if not self._free:
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

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
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
            self._of_files[place] = self._schemas.take()
        return self._of_files[place]

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
def instead_of_files() -> Iterator[Lent]:
    """Let every store that is opened in the block lie in PostgreSQL, each write at its project."""

    def workplace(*, engine: PostgresEngine, project_name: str | None, suggested_name: str, **others: Any) -> Workplace:
        bound = engine.of_project(project_name or suggested_name)
        return Workplace(engine=bound, project_name=project_name, suggested_name=suggested_name, **others)

    with schemas().of_one_test() as lent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "SqliteEngine", lent.engine)
        patch.setattr(client, "Workplace", workplace)
        yield lent


_FULL_TEXT = "it damages, or counts the rows of, the tables of SQLite's full-text index"
_FILE = "it names, copies or reads the file of the store"
_SQLITE = "it asks SQLite by statements of its own: plans of queries, pragmas, functions"
_TRANSACTION = "it watches or replaces the transactions of SQLite"
_SIZE = "it compares the size of the store, which PostgreSQL changes by itself"
_NO_TEXT = "PostgreSQL keeps no text that is not UTF-8"

LEFT_OUT: Mapping[str, str] = {
    "finding/test_index.py": _FULL_TEXT,
    "finding/test_filters.py": _FULL_TEXT,
    "test_the_index_of_changes_can_be_made_anew": _FULL_TEXT,
    "test_deleted_changes_leave_the_index_too": _FULL_TEXT,
    "test_a_rebuilt_index_finds_the_same": _FULL_TEXT,
    "test_a_sweep_takes_it_with_its_solutions_and_its_text": _FULL_TEXT,
    "test_what_was_swept_leaves_the_index_in_step": _FULL_TEXT,
    "keep/housekeeping/": _FILE,
    "keep/importing/": _FILE,
    "keep/test_housekeeping.py": _FILE,
    "keep/test_projects.py": _FILE,
    "test_processes_that_write_first_at_once_make_one_run": _FILE,
    "test_a_secret_is_nowhere_in_the_store": _FILE,
    "test_a_secret_in_content_is_redacted_and_said": _FILE,
    "test_a_preview_foresees_what_happens_and_writes_nothing": _FILE,
    "test_who_reads_elsewhere_compares_with_the_tree_there": _FILE,
    "test_what_belongs_to_another_project_is_unknown": _FILE,
    "test_only_a_person_pins": _FILE,
    "patterns/test_reporting.py::test_what_is_not_acceptable_is_refused_and_nothing_written": _FILE,
    "test_no_loop_is_looked_up_by_reading_its_run": _SQLITE,
    "test_what_lines_name_is_found_by_the_index_of_uids": _SQLITE,
    "test_an_error_of_another_project_is_not_shown": _SQLITE,
    "test_the_sum_over_days_is_that_of_what_was_recorded": _SQLITE,
    "test_what_hooks_and_briefings_put_in_is_counted_by_moment_and_agent": _SQLITE,
    "test_the_total_the_page_and_the_counter_are_of_one_moment": _TRANSACTION,
    "test_the_team_takes_as_many_statements_however_many_there_are": _TRANSACTION,
    "test_the_look_is_over_before_the_writers_turn": _TRANSACTION,
    "test_nothing_of_the_store_is_held_while_waiting": _TRANSACTION,
    "test_a_change_that_is_not_acceptable_is_refused_and_nothing_is_written": _SIZE,
    "test_asking_writes_and_registers_nothing": _SIZE,
    "keep/test_no_text.py": _NO_TEXT,
}
"""Why tests do not run on PostgreSQL, by a part of their ids; of the folders that ``make test-slow`` chooses and some
beside. What searches find is compared in ``find/test_both_databases.py``."""


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
    "[UPDATE context SET content = x'00'": _NO_TEXT,
    "[UPDATE context SET content = CAST(x'ff'": _NO_TEXT,
    "[UPDATE constraints SET text = x'00'": _NO_TEXT,
    "test_is_no_attempt_where_its_text_is_no_text": _NO_TEXT,
    "[UPDATE context SET created_at = 'now'": _TYPES,
    "test_conversations_that_go_on_are_not_looked_at": _SQLITE,
    "consult/test_conversation_size.py": _OF_SQLITE,
    "test_a_file_without_its_folder_is_found": _OF_SQLITE,
    "test_a_backup_holds_conversations_and_going_back_to_it_brings_them_back": _RESTORE,
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
    "hooks/test_working.py": _HOOKS,
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
