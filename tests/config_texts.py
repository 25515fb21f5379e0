"""Configuration texts as people and programs write them, for property tests, each with what it holds."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping

from hypothesis import assume
from hypothesis import strategies as st

Drawn = tuple[str, dict[str, object]]

KEYS = st.sampled_from(["a", "a", "b", "b", "satchel", "x.y", "", 'ü "'])
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["// no", "/* no */", "# no", "]}"]
)
_NUMBERS = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.booleans() | _NUMBERS | _TEXTS
_BLANKS: st.SearchStrategy[str] = st.sampled_from(["", "", " ", "\n", "\r\n", "\n  ", "\t", "\r\n\t", " \n\n ", "  "])
_COMMENTS = st.sampled_from(["// c\n", "// , ] } \r\n", "/* c */", "/**/", '/*\n " {\n*/', "//\n", "// end  \n"])


def values(leaves: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Make nested values."""
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
    )


@st.composite
def json_texts(draw: st.DrawFn, *, comments: bool) -> Drawn:
    """Make JSON texts: tidy ones, and ones with any whitespace, in JSONC with comments and trailing commas."""
    data = draw(st.dictionaries(KEYS, values(SCALARS | st.none()), max_size=4))
    if draw(st.booleans()):
        text = json.dumps(data, indent=draw(st.sampled_from([None, 2, 4, "\t"])), ensure_ascii=draw(st.booleans()))
        end = draw(st.sampled_from(["", "\n"]))
        return (text + end).replace("\n", draw(st.sampled_from(["\n", "\r\n"]))), data

    gaps = _BLANKS | _COMMENTS if comments else _BLANKS

    def gap() -> str:
        return "".join(draw(st.lists(gaps, max_size=2)))

    def written(value: object) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=False)
        names = [f"{json.dumps(key)}{gap()}:{gap()}" for key in value] if isinstance(value, dict) else [""] * len(value)
        inner = list(value.values()) if isinstance(value, dict) else value
        items = [gap() + name + written(item) + gap() for name, item in zip(names, inner, strict=True)]
        trailing = f",{gap()}" if comments and items and draw(st.booleans()) else ""
        inside = (",".join(items) + trailing) or gap()
        return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"

    if not data and draw(st.booleans()):
        return gap(), {}
    return gap() + written(data) + gap(), data


@st.composite
def toml_texts(draw: st.DrawFn) -> Drawn:
    """Make TOML texts: tables in any order and of every kind, comments, a last line without an end."""
    data = draw(st.dictionaries(KEYS, values(SCALARS), max_size=4))
    newline = draw(st.sampled_from(["\n", "\r\n"]))

    def key(name: str) -> str:
        bare = name.isascii() and name.isalnum()
        return name if bare and draw(st.booleans()) else json.dumps(name, ensure_ascii=False)

    def blank() -> str:
        return draw(st.sampled_from(["", " ", "  "]))

    def inline_pairs(table: Mapping[str, object], before: str) -> list[str]:
        pairs: list[str] = []
        for name, value in table.items():
            if isinstance(value, dict) and value and draw(st.booleans()):
                pairs += inline_pairs(value, f"{before}{key(name)}.")
            else:
                pairs.append(f" {before}{key(name)}{blank()}={inline(value)} ")
        return pairs

    def inline(value: object) -> str:
        if isinstance(value, dict):
            return "{" + ",".join(inline_pairs(value, "")) + "}"
        if isinstance(value, list):
            gaps: st.SearchStrategy[str] = st.sampled_from(["", " ", newline, f" # ] c{newline}", f"{newline}  "])
            items = [draw(gaps) + inline(item) + draw(gaps) for item in value]
            return (
                "[" + ",".join(items) + ("," + draw(gaps) if bool(value) and draw(st.booleans()) else draw(gaps)) + "]"
            )
        written = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        literal = isinstance(value, str) and value.isprintable() and "'" not in value and draw(st.booleans())
        return f"'{value}'" if literal else written

    def line(text: str) -> str:
        before = draw(st.sampled_from(["", "", newline, f"# c{newline}", f"{newline}# c{newline}{newline}", "  "]))
        return before + text + draw(st.sampled_from(["", "", " ", " # c", "# [x]"])) + newline

    def pairs(table: Mapping[str, object], before: str) -> tuple[str, list[tuple[str, object]]]:
        text, sections = "", []
        for name, value in table.items():
            dotted = before + key(name)
            is_tables = isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
            how = draw(st.sampled_from(["inline", "header", "dotted"]))
            if (isinstance(value, dict) or is_tables) and how == "header" and not before:
                sections.append((name, value))
            elif isinstance(value, dict) and value and how == "dotted":
                more, _ = pairs(value, f"{dotted}.")
                text += more
            else:
                text += line(f"{dotted}{blank()}={blank()}{inline(value)}")
        return text, sections

    def blocks(table: Mapping[str, object], above: str) -> str:
        text, sections = pairs(table, "")
        below = []
        for name, value in sections:
            header = f"{above}.{key(name)}" if above else key(name)
            if isinstance(value, dict):
                own = blocks(value, header)
                is_implied = own.lstrip().startswith(f"[{header}.") and draw(st.booleans())
                below.append(own if is_implied else line(f"[{header}]") + own)
            elif isinstance(value, list):
                below.append("".join(line(f"[[{header}]]") + blocks(one, header) for one in value))
        return text + "".join(draw(st.permutations(below)))

    text = blocks(data, "") + draw(st.sampled_from(["", f"# end{newline}", newline]))
    if draw(st.booleans()):
        text = text.removesuffix("\n").removesuffix("\r")
    try:
        assume(tomllib.loads(text) == data)
    except tomllib.TOMLDecodeError:
        assume(False)
    return text, data
