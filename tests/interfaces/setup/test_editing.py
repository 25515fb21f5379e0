"""Editing configuration texts: where what is put in goes, and what is refused."""

from __future__ import annotations

from functools import partial

import pytest

from satchel.base.errors import InvalidInput, Refused
from satchel.interfaces.setup.editing import Append, Change, Drop, Prune, Put, Remove, Syntax, edited, is_same, parse
from tables import in_one_test

SYNTAXES = pytest.mark.parametrize("syntax", Syntax)
SATCHEL = {"command": "/opt/satchel", "args": ["mcp"], "env": {"A": "1"}}
PUT_SATCHEL = Put(("mcpServers", "satchel"), SATCHEL)


def test_a_new_key_follows_the_indent_the_line_ends_and_the_trailing_comma() -> None:
    text = '{\r\n\t"a": 1, // about a\r\n\t// "old": 2\r\n}\r\n'
    assert edited(text, Syntax.JSONC, [Put(("b",), {"c": [1]})]) == (
        '{\r\n\t"a": 1, // about a\r\n\t"b": {\r\n\t\t"c": [\r\n\t\t\t1\r\n\t\t]\r\n\t},\r\n\t// "old": 2\r\n}\r\n'
    )


def test_a_comma_goes_before_the_comment_of_the_last_key() -> None:
    text = '{\n  "a": 1 // about a\n}\n'
    assert edited(text, Syntax.JSONC, [Put(("b",), 2)]) == '{\n  "a": 1, // about a\n  "b": 2\n}\n'


def test_an_empty_file_gets_what_programs_write() -> None:
    assert edited("", Syntax.JSON, [Put(("a", "b"), True)]) == '{\n  "a": {\n    "b": true\n  }\n}\n'


def test_a_text_of_one_line_stays_one() -> None:
    assert edited('{"a":{"b":1}}', Syntax.JSON, [Append(("a", "c"), "d")]) == '{"a":{"b":1, "c":["d"]}}'


def test_a_key_that_stands_twice_is_refused_where_it_matters() -> None:
    text = '{"mcpServers": {}, "mcpServers": {"x": 1}, "b": 1}'
    assert parse(text, Syntax.JSON)["mcpServers"] == {"x": 1}
    with pytest.raises(Refused, match="mcpServers stands 2 times"):
        edited(text, Syntax.JSON, [PUT_SATCHEL])
    assert edited(text, Syntax.JSON, [Put(("b",), 2)]) == text.replace('"b": 1', '"b": 2')


def test_an_edit_that_would_hide_a_key_that_stands_twice_is_refused_with_the_change_to_make() -> None:
    text = '{"a": {"b": 1, "b": 2}}'
    with pytest.raises(Refused, match=r"the key a\.b stands 2 times"):
        edited(text, Syntax.JSON, [Drop(("a", "b"))])


def test_a_toml_server_gets_a_table_of_its_own_beside_others() -> None:
    text = "model = 'x'\n\n[mcp_servers]\n[mcp_servers.other] # mine\ncommand = 'o'\n\n[tools]\n# none\n"
    now = edited(text, Syntax.TOML, [Put(("mcp_servers", "satchel"), SATCHEL)])
    assert now == text + ('\n[mcp_servers.satchel]\ncommand = "/opt/satchel"\nargs = ["mcp"]\nenv = { A = "1" }\n')
    assert edited(now, Syntax.TOML, [Drop(("mcp_servers", "satchel"))]) == text


@in_one_test(
    ("text", "now"),
    [
        ("[a]\nx = 1 # x\n\n[b]\n", "[a]\nx = 1 # x\nc = 2\n\n[b]\n"),
        ("[a]\nx = 1\n# about b\n[[b]]\n", "[a]\nx = 1\nc = 2\n# about b\n[[b]]\n"),
        ("[a]\nx = [\n  1,\n  # [b]\n]\n[b]\n", "[a]\nx = [\n  1,\n  # [b]\n]\nc = 2\n[b]\n"),
        ("[t]\na.x = 1\n", "[t]\na.x = 1\n\n[a]\nc = 2\n"),
        ("[z]\n", "[z]\n\n[a]\nc = 2\n"),
    ],
)
def test_a_toml_key_goes_where_its_table_is(text: str, now: str) -> None:
    assert edited(text, Syntax.TOML, [Put(("a", "c"), 2)]) == now
    assert (
        edited(now, Syntax.TOML, [Drop(("a", "c")), *[Prune(("a",))] * ("a" not in parse(text, Syntax.TOML))]) == text
    )


def test_a_toml_key_of_no_table_goes_above_all_tables() -> None:
    text = "# about a\n[a]\nx = 1\n"
    now = edited(text, Syntax.TOML, [Put(("c",), 2)])
    assert now == "c = 2\n" + text
    assert edited(now, Syntax.TOML, [Drop(("c",))]) == text


def test_a_changed_toml_value_keeps_its_comment() -> None:
    text = '[a]\nx = "# no" # why\n'
    assert edited(text, Syntax.TOML, [Put(("a", "x"), 2)]) == "[a]\nx = 2 # why\n"


def test_a_table_before_an_array_of_tables_of_others_is_removed_alone() -> None:
    others = "[[hooks.stop]]\nx = 1\n[[hooks.stop.inner]]\ny = 2\n"
    text = f"[mcp_servers.satchel]\ncommand = 's'\n\n# mine\n{others}"
    assert edited(text, Syntax.TOML, [Drop(("mcp_servers", "satchel"))]) == f"\n# mine\n{others}"


@in_one_test(
    ("text", "change", "by_hand"),
    [
        ("a.x = 1\ny = 2\n", Put(("a", "c"), 2), "set a.c to 2"),
        ("a = { x = 1 }", Put(("a", "c"), 2), "set a.c to 2"),
        ("a = { x = 1 }", Drop(("a", "x")), "remove a.x"),
        ("[[a]]\nb = 1\n", Append(("a",), {"b": 2}), r"Add \{ b = 2 \} to it by hand"),
        ("a = [1]\n", Remove(("a",), partial(is_same, 1)), "Remove its element 1 by hand"),
    ],
)
def test_other_forms_of_toml_are_printed_as_a_change_to_make_by_hand(text: str, change: Change, by_hand: str) -> None:
    with pytest.raises(Refused, match=by_hand):
        edited(text, Syntax.TOML, [change])


ALL_FORMS = r'''#:schema ./config.json
"quoted = key" = "a # no \"comment\" = ]"
'literal' = 'C:\path' # comment
dotted."key.in".'parts' = 0xff
many = """
[not.a.table]
key = "no \
  key" \\"""""
raw = @@@
[[not.tables]] \@@@
when = 1979-05-27 07:32:00.5-07:00
day = [1979-05-27, 07:32:00, # ]
  1979-05-27T07:32:00Z,]
numbers = [+1_000, -0.5e+10, inf, -nan, 0o7, 0b1,]
point = { x.y = [1,{ z = "}" }], "w" = true }

  [ spaced . "out" ]  # comment
  inside = false
[[fruit]]
name = "apple"
  [fruit.physical]
  color = "red"
  [[fruit.variety]]
  name = "delicious"
[[fruit]]
[spaced]
last = {}'''.replace("@@@", "'''")


@pytest.mark.parametrize("text", ['a.x = "1"\n', 'a = { x = "1" }\n'])
def test_a_toml_key_without_a_line_of_its_own_is_refused_with_the_change_to_make(text: str) -> None:
    with pytest.raises(Refused) as refusal:
        edited(text, Syntax.TOML, [Put(("a", "x"), "2")])
    assert refusal.value.remedy == 'Make the change by hand: set a.x to "2"'


@in_one_test(
    ("text", "now"),
    [
        ("[a] # a\n# about x\nx = 1 # x\n\n[b]\ny = 2\n", "[a] # a\n# about x\n# x\n\n[b]\ny = 2\n"),
        ("# about a\n[a]\nx = 1\n", "# about a\n[a]\n"),
        ("[a]\n# about x\nx = 1\n[b]\n", "[a]\n# about x\n[b]\n"),
        ("[c]\n\n[a]\nx = 1\n\n# about b\n[b]\n", "[c]\n\n# about b\n[b]\n"),
    ],
)
def test_an_empty_toml_table_stays_if_comments_belong_to_it(text: str, now: str) -> None:
    assert edited(text, Syntax.TOML, [Drop(("a", "x")), Prune(("a",))]) == now


@in_one_test("newline", ["\n", "\r\n"])
@in_one_test("path", [("z",), ("spaced", "out", "z"), ("z", "z")])
def test_every_form_of_toml_is_passed_over(path: tuple[str, ...], newline: str) -> None:
    text = ALL_FORMS.replace("\n", newline)
    for value in (1, {"a": [1]}):
        now = edited(text, Syntax.TOML, [Put(path, value)])
        assert now != text
        assert edited(now, Syntax.TOML, [Drop(path), Prune(("z",))]) == text


@in_one_test("key", sorted(parse(ALL_FORMS, Syntax.TOML)))
def test_every_form_of_toml_is_replaced_and_removed(key: str) -> None:
    for change in (Put((key,), "new"), Put((key,), {"a": {"b": 1}}), Drop((key,))):
        now = edited(ALL_FORMS, Syntax.TOML, [change])
        assert parse(now, Syntax.TOML).get(key) == (change.value if isinstance(change, Put) else None)


def test_comments_of_others_outlive_what_they_stood_beside() -> None:
    text = "[a]\nx = 1 # why\ny = 2\n"
    assert edited(text, Syntax.TOML, [Drop(("a", "x"))]) == "[a]\n# why\ny = 2\n"
    text = '{\n  // about x\n  "x": 1, // why\n  "y": 2\n}'
    assert edited(text, Syntax.JSONC, [Drop(("x",))]) == '{\n  // about x\n   // why\n  "y": 2\n}'


@in_one_test(
    ("text", "syntax", "where"),
    [
        ('{"a": 1,}', Syntax.JSON, "line 1, column 9"),
        ('{\n  "a": 1 // c\n}', Syntax.JSON, "line 2, column 10"),
        ('{\n  "a" 1}', Syntax.JSONC, "line 2, column 7"),
        ('{"a": "b\nc"}', Syntax.JSON, "line 1, column 9"),
        ('{"a": NaN}', Syntax.JSON, "line 1, column 7"),
        ('{"a": 01}', Syntax.JSONC, "line 1, column 7"),
        ('{"a": /* 1}', Syntax.JSONC, "line 1, column 7"),
        ("[1]", Syntax.JSON, "line 1, column 1"),
        ("{} {}", Syntax.JSON, "line 1, column 4"),
        ("// c", Syntax.JSON, "line 1, column 1"),
        ('{"a": ' + "9" * 5000 + "}", Syntax.JSON, "line 1, column 7"),
        ("\ufeff{}", Syntax.JSON, "line 1, column 1"),
        ("{", Syntax.JSON, "line 1, column 2"),
        ("a = 1\nb = \n", Syntax.TOML, "line 2, column 5"),
        ("a = 1\na = 2\n", Syntax.TOML, "line 2, column 6"),
    ],
)
def test_a_broken_text_is_refused_with_its_place(text: str, syntax: Syntax, where: str) -> None:
    with pytest.raises(InvalidInput, match=f"{where}\\b"):
        parse(text, syntax)


@pytest.mark.parametrize("syntax", [Syntax.JSON, Syntax.JSONC])
def test_what_is_nested_too_deep_is_refused(syntax: Syntax) -> None:
    with pytest.raises(InvalidInput, match="nested deeper"):
        parse('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", syntax)


def test_toml_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nested too deep"):
        parse("a = " + "[" * 100_000 + "]" * 100_000, Syntax.TOML)


@pytest.mark.parametrize("text", ["", " \n", "\t\r\n"])
@SYNTAXES
def test_blanks_hold_nothing(text: str, syntax: Syntax) -> None:
    assert parse(text, syntax) == {}


@pytest.mark.parametrize(("text", "syntax"), [("// c\n/* d */", Syntax.JSONC), ("# c\n# d", Syntax.TOML)])
def test_comments_hold_nothing(text: str, syntax: Syntax) -> None:
    assert parse(text, syntax) == {}


@pytest.mark.parametrize("change", [Put(("a", "b"), 1), Append(("a",), 1)])
def test_a_parent_of_another_kind_is_not_replaced(change: Change) -> None:
    with pytest.raises(InvalidInput, match=r"^a in this file is no (list|table of names)"):
        edited('{"a": null}', Syntax.JSON, [change])


@SYNTAXES
def test_a_path_that_is_no_unicode_is_refused(syntax: Syntax) -> None:
    with pytest.raises(InvalidInput, match="no Unicode text"):
        edited("", syntax, [Put(("a",), {"command": ["\udc80"]})])


def test_toml_has_no_null() -> None:
    with pytest.raises(InvalidInput, match="no null"):
        edited("", Syntax.TOML, [Put(("a",), None)])


def test_an_edit_whose_result_is_wrong_is_refused_with_the_change_to_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.interfaces.setup.jsonc_text.JsonText.put", lambda *_: '{"a": 1}')
    with pytest.raises(
        Refused, match=r'cannot be edited safely.*set mcpServers\.satchel to {"command": "/opt/satchel"'
    ):
        edited("{}", Syntax.JSON, [PUT_SATCHEL])
