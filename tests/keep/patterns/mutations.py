"""A seeded mutator of what failing programs print: the same cause again, or another cause."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

from keep.patterns.outputs import OUTPUTS
from keep.patterns.programs.printed import Output


@dataclass(frozen=True, slots=True)
class Pair:
    """Two errors, and whether their cause is the same."""

    language: str
    is_same: bool
    first: tuple[str, str]
    second: tuple[str, str]


def pairs(seed: str, of_each: int) -> Iterator[Pair]:
    """Yield pairs of every output: ``of_each`` of the same cause, and as many of another one.

    Args:
        seed: the same seed gives the same pairs.
        of_each: how many pairs of either sort each output gives.

    Yields:
        The pairs, each of two errors that also differ in all that is volatile.
    """
    for number, output in enumerate(OUTPUTS):
        chance = random.Random(f"{seed} {number}")
        causes = [found[1].split("|") for found in _CAUSE.finditer(output.text)]
        for _ in range(of_each):
            words = [chance.choice(choices) for choices in causes]
            changed = chance.randrange(len(causes))
            others = list(words)
            others[changed] = chance.choice([word for word in causes[changed] if word != words[changed]])
            for is_same, second in ((True, words), (False, others)):
                yield Pair(output.language, is_same, _filled(output, words, chance), _filled(output, second, chance))


_CAUSE = re.compile("‹([^›]+)›")
_SLOT = re.compile("⟨([a-z]+)⟩")
_FRAME = re.compile("^⋮.*\n(?:⋯.*\n)*", re.MULTILINE)


def _filled(output: Output, words: list[str], chance: random.Random) -> tuple[str, str]:
    chosen = iter(words)
    text = _FRAME.sub(lambda found: found[0] * chance.choice((0, 1, 1, 1, 2)), output.text)
    text = re.sub("^[⋮⋯]", "", text, flags=re.MULTILINE)
    text = _CAUSE.sub(lambda _: next(chosen), text)
    # One run works in one folder; everything else is drawn wherever it stands.
    fixed = {name: _volatile(name, chance) for name in ("root", "home", "uuid", "iso")}
    text = _SLOT.sub(lambda found: fixed.get(found[1]) or _volatile(found[1], chance), text)
    return output.error_type, text


_FOLDERS = (
    "srv build opt data ci work projects alice bob app backend releases v12 r2024-11 shop checkout x7 main".split()
)


def _volatile(kind: str, chance: random.Random) -> str:
    """Draw a value of a kind."""

    def digits(least: int, most: int) -> str:
        return str(chance.randint(least, most))

    def hexadecimal(count: int) -> str:
        return "".join(chance.choice("0123456789abcdef") for _ in range(count))

    def clock() -> str:
        return f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}"

    def date(joint: str) -> str:
        return f"20{chance.randint(10, 29)}{joint}{chance.randint(1, 12):02}{joint}{chance.randint(1, 28):02}"

    match kind:
        case "root":
            return "/" + "/".join(chance.sample(_FOLDERS, chance.randint(1, 5)))
        case "home":
            return chance.choice(("/home/", "/Users/")) + chance.choice(
                ("alice", "bob", "ci-runner", "j.doe", "build01")
            )
        case "drive":
            return f"{chance.choice('CDE')}:\\" + "\\".join(chance.sample(_FOLDERS, chance.randint(1, 4)))
        case "tmp":
            name = "".join(chance.choice(string.ascii_lowercase + string.digits + "_") for _ in range(8))
            return f"/tmp/tmp{name}"
        case "line":
            return digits(1, chance.choice((9, 99, 4_000)))
        case "column":
            return digits(1, 120)
        case "small":
            return digits(2, 30)
        case "count":
            return digits(0, 250_000)
        case "pid":
            return digits(2, 4_194_304)
        case "port":
            return digits(1_024, 65_535)
        case "address":
            return f"0x{hexadecimal(chance.choice((6, 8, 9, 12, 16)))}"
        case "identity":
            return hexadecimal(chance.choice((6, 7, 8)))
        case "hash":
            return hexadecimal(chance.choice((7, 12, 16, 40, 64)))
        case "uuid":
            return "-".join(hexadecimal(count) for count in (8, 4, 4, 4, 12))
        case "iso":
            return f"{date('-')}T{clock()}{chance.choice(('Z', '.123Z', '+02:00', '.000451'))}"
        case "file":
            return f"{date('-')}T{clock().replace(':', '_')}_{digits(100, 999)}Z"
        case "stamp":
            return f"{date('/')} {clock()}"
        case "clock":
            return f"{clock()}.{digits(100, 999)}"
        case "epoch":
            return digits(1_500_000_000_000, 1_900_000_000_000)
        case "took":
            return chance.choice((f"{digits(1, 900)}ms", f"{digits(0, 90)}.{digits(10, 99)}s", f"{digits(1, 90)} s"))
        case "elapsed":
            return chance.choice(
                (f"{digits(1, 900)}.{digits(1, 9)}ms", f"{digits(1, 9)}m{digits(1, 59)}s", f"{digits(1, 59)}s")
            )
        case "size":
            return f"{digits(1, 900)}.{digits(0, 9)}{chance.choice((' KiB', ' MiB', ' GiB', 'MB', ' KB'))}"
        case "ip":
            return ".".join(digits(1, 254) for _ in range(4))
        case _:
            raise ValueError(kind)
