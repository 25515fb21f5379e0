"""What a token does not get: other projects, the store itself, the server's machine, and malformed calls."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock
from interfaces.http.twins import TOKENS, Step, Twin
from satchel import __version__
from satchel.base import wire
from satchel.base.errors import SatchelError
from satchel.brief.moments import MOMENTS
from satchel.interfaces.http.calls import Calls
from satchel.interfaces.http.public import run_public
from tables import in_one_test


@pytest.fixture
def shared(twins: Callable[[], tuple[Twin, Twin, ManualClock]]) -> Twin:
    """A store with both projects."""
    return twins()[0]


def asked(stores: Twin, name: str, project: str = "one", **given: Any) -> Mapping[str, Any]:
    access = TOKENS[project]
    return run_public(stores, access, name, given, lambda _: None, callers=stores.callers, reads_only=False)


def called(stores: Twin, name: str, project: str = "one", **fields: Any) -> Mapping[str, Any]:
    told = {"wire": wire.VERSION, "version": __version__, **fields}
    return stores.calls.run(TOKENS[project], name, told, lambda _: None)


def test_statistics_tell_nothing_of_the_store_itself(shared: Twin) -> None:
    asked(shared, "write_context", "two", type="discovery", content="of two")
    told = asked(shared, "get_stats")
    assert [
        told[name] for name in ("location", "size_bytes", "bytes_per_item", "other_projects", "schema_version")
    ] == [None] * 5
    assert Path(shared.where).name not in json.dumps(told)


def test_settings_tell_nothing_of_the_servers_machine(shared: Twin) -> None:
    told = asked(shared, "get_config")
    groups = {name.partition(".")[0] for name in told["settings"]}
    assert groups == {"context", "layers", "claims", "retention", "brief", "tokens"}
    assert told["warnings"] == []
    with pytest.raises(SatchelError, match="asks the program itself"):
        _raised(called(shared, "get_config"))


def test_what_rewrites_the_whole_store_is_refused(shared: Twin) -> None:
    asked(shared, "write_context", type="discovery", content="mine")
    with pytest.raises(SatchelError, match="does not work over a server"):
        asked(shared, "forget", id="e1", dry_run=False)
    with pytest.raises(SatchelError, match="does not work over a server"):
        _raised(called(shared, "forget", named={"ref": "e1"}))


@pytest.mark.parametrize("name", ["housekeeping.backup", "moving.export", "entries.write", "workplace.engine.close"])
def test_services_that_no_local_program_needs_are_none_of_the_server(shared: Twin, name: str) -> None:
    with pytest.raises(SatchelError, match="works only where the store is"):
        _raised(called(shared, name))


def test_another_project_is_refused_whoever_claims_it(shared: Twin) -> None:
    with pytest.raises(SatchelError, match="leads to the project 'one'"):
        called(shared, "write_context", standing={"project": "two"}, named={"type": "discovery", "content": "x"})


def test_a_key_tells_nothing_of_the_calls_of_another_token(shared: Twin) -> None:
    note = {"type": "discovery", "content": "of two"}
    assert called(shared, "write_context", "two", key="k", named=note)["kept"]
    shared.calls = Calls(shared)  # as after a start of the server
    assert called(shared, "write_context", "two", key="k", again=True, named=note) == {"kept": True}
    said = called(shared, "write_context", key="k", again=True, named={**note, "content": "of one"})
    assert said["kept"]
    assert "answer" in said


def test_a_receipt_counts_for_its_token_alone(shared: Twin) -> None:
    asked(shared, "add_constraint", "two", text="Never log a token", priority="critical")
    dice = random.Random(0)
    fields = Step(dice, 0, [])._envelope({}) | {"again": False, "key": "", "standing": {}}
    fields["caller"] = {"kind": "hook", "environ": {}, "client": "claude", "host_id": "h", "connection": "1"}
    receipt = called(shared, "moments.make", "two", **(fields | {"arguments": wire.packed([MOMENTS[0]])}))["receipt"]

    def deliveries() -> int:
        return int(shared.satchel(TOKENS["two"]).housekeeping.statistics().deliveries)

    called(shared, "hooks.record", arguments=[receipt])
    assert deliveries() == 0
    called(shared, "hooks.record", "two", arguments=[receipt])
    assert deliveries() == 1


MALFORMED: Mapping[str, Any] = {
    "facts": [[1], ["machine"], ["machine", [], "m"], {}],
    "standing": [{"agent": 5}, {"run": True}, {"host": ["h"]}, []],
    "caller": [{"kind": "person"}, {"kind": "hook", "environ": {"SATCHEL_SESSION": 5}}, {"kind": "server"}, "me"],
    "key": [5, "k" * 65, "é", {}],
    "named": [[], {"query": {"$r": "client:Satchel"}}, {"query": {"$e": ["x"]}}, {"nonsense": 1}],
    "arguments": [{}, [{"$b": 5}], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
}


@in_one_test("name", MALFORMED)
def test_a_malformed_call_is_refused_as_such(shared: Twin, name: str) -> None:
    for value in MALFORMED[name]:
        fields = {"facts": [value]} if name == "facts" else {name: value}
        with pytest.raises(SatchelError) as refused:
            _raised(called(shared, "search", **fields))
        assert refused.value.code == "invalid_input"


def _raised(said: Mapping[str, Any]) -> None:
    if "error" in said:
        raise wire.error_of(said["error"])
