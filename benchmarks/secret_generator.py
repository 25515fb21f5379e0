"""Draws secrets from the templates: where each stands, in a text as it would be kept."""

from __future__ import annotations

import base64
import random
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from benchmarks.secret_types import ASSIGNMENTS, NAMED, PLACES, PREFIXED, WHOLE

_ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "d": string.digits,
    "an": string.ascii_letters + string.digits,
    "al": string.ascii_lowercase + string.digits,
    "AN": string.ascii_uppercase + string.digits,
    "L": string.ascii_lowercase,
    "u": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
    "c": string.ascii_letters + string.digits + "./",
    "B32": string.ascii_uppercase + "234567",
    "b32": string.ascii_lowercase + "234567",
    "lp": string.ascii_lowercase + string.digits + "!@#$%^&*-_=+",
}
_WORDS = "amber birch cedar delta ember falcon garnet harbor island juniper kettle lantern meadow nickel".split()
_hole = re.compile(r"\{(\w+)(?::(\d+))?\}")


@dataclass(frozen=True, slots=True)
class Planted:
    """A text with one secret.

    Attributes:
        type: what it is a secret of.
        text: what a note or file would say.
        secret: the characters that must not stay.
    """

    type: str
    text: str
    secret: str


def types() -> tuple[str, ...]:
    """Return the names of all types, in their order."""
    return tuple(name for table in (PREFIXED, NAMED, WHOLE) for name, _ in _rows(table))


def planted(each: int, seed: str = "secrets") -> Iterator[Planted]:
    """Draw so many texts of every type; the same ones for the same seed."""
    places, assignments = _joined(PLACES), _joined(ASSIGNMENTS)
    for name, template in _rows(PREFIXED):
        chance = random.Random(f"{seed} {name}")
        for _ in range(each):
            secret = _drawn(template, chance)
            if " " in secret:
                yield Planted(name, secret, secret.partition(" ")[2])
            else:
                yield Planted(name, chance.choice(places).format(x=secret), secret)
    for name, template in _rows(NAMED):
        variable, _, value = template.partition(" = ")
        chance = random.Random(f"{seed} {name}")
        for _ in range(each):
            secret = _drawn(value, chance)
            yield Planted(name, _assigned(chance.choice(assignments), variable, secret), secret)
    for name, template in _rows(WHOLE):
        chance = random.Random(f"{seed} {name}")
        for _ in range(each):
            text = _drawn(template.replace("\\n", "\n").replace("\\\n", "\\n").replace("\\t", "\t"), chance)
            before, _, rest = text.partition("«")
            secret, _, after = rest.partition("»")
            yield Planted(name, before + secret + after, secret)


def _rows(table: str) -> Iterator[tuple[str, str]]:
    for line in table.strip().splitlines():
        name, _, template = line.partition(": ")
        yield name, template


def _joined(lines: str) -> list[str]:
    """Return the places, a line that is indented being part of the one before."""
    return (
        re.sub(r"\n(?=  )", "\0", lines.strip()).replace("\0", "\v").replace("\n", "\0").replace("\v", "\n").split("\0")
    )


def _assigned(place: str, variable: str, secret: str) -> str:
    words = variable.lower().split("_")
    pascal = "".join(map(str.capitalize, words))
    camel = pascal[0].lower() + pascal[1:]
    return place.format(N=variable, n=variable.lower(), c=camel, C=pascal, x=secret)


def _drawn(template: str, chance: random.Random) -> str:
    """Fill the holes of a template; doubled braces stand for one."""
    shielded = template.replace("{{", "\1").replace("}}", "\2")
    filled = _hole.sub(lambda hole: _value(hole[1], int(hole[2] or 0), chance), shielded)
    return filled.replace("\1", "{").replace("\2", "}")


def _value(kind: str, count: int, chance: random.Random) -> str:
    if kind == "uuid":
        return str(UUID(int=chance.getrandbits(128), version=4))
    if kind == "words":
        return " ".join(chance.choices(_WORDS, k=count))
    if kind in {"pw", "pwa", "pwu"}:
        return _password(kind, chance)
    if kind == "b64pw":
        return base64.b64encode(_password("pw", chance).encode()).decode()
    if kind == "b64text":
        return base64.b64encode(f"host=db user=ada pass={_password('pwa', chance)}".encode()).decode()
    if kind == "basic":
        return base64.b64encode(f"ada:{_password('pw', chance)}".encode()).decode()
    return "".join(chance.choices(_ALPHABETS[kind], k=count))


def _password(kind: str, chance: random.Random) -> str:
    """Draw a password as people make them: words with digits and signs, or random characters."""
    signs = {"pw": "!@#$%^&*?+", "pwa": "!@#%*+", "pwu": "!$*+-."}[kind]
    word = chance.choice(_WORDS).capitalize() + chance.choice(["", *_WORDS])
    made = (
        f"{word}{chance.randrange(10, 10_000)}{chance.choice(signs)}",
        f"{word}{chance.choice(signs)}{chance.randrange(10, 1_000)}",
        f"{word.lower()}{chance.randrange(100, 10_000)}",
        "".join(chance.choices(string.ascii_letters + string.digits, k=chance.randrange(10, 21))),
        "".join(chance.choices(string.ascii_letters + string.digits + signs, k=chance.randrange(10, 25))),
    )
    return chance.choice(made)
