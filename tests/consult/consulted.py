"""A project with files, a fake provider, and whole consultations through them, for tests of the service."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consult.answered_turns import stored
from consult.providers.asking import Pauses, quick
from consult.providers.server import FakeProvider
from consulting import Reader, blocks_of
from satchel import Satchel
from satchel.consult.consultation import Consultation

MODELS = {"compatible": "compatible:tiny", "openai": "openai:gpt-test"}
ENVIRON = {"OPENAI_API_KEY": "sk-test"}

SMALL = "def refresh(token):\n    return token\n"
LONG = "".join(f"def number_{line}():\n    return {line}\n" for line in range(40))
HUGE = "".join(f"def other_{line}():\n    return {line} + {line}\n" for line in range(400))
"""Too long for the inline part of the window that the tests have."""

WINDOW: Mapping[str, object] = {"consult.window_tokens": 8_000, "consult.output_tokens": 1_000}


@dataclass
class Consulted:
    """One project and one provider.

    Attributes:
        model: the assistant's name.
        pauses: what calls wait with.
        written: how many files were written.
    """

    satchel: Satchel
    provider: FakeProvider
    model: str
    root: Path
    pauses: Pauses
    written: int = 0

    def write(self, path: str, text: str | bytes, *, age_seconds: int = 3_600) -> Path:
        """Write a file of the project, as if an hour before the clock of the test, each a little after the last."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.written += age_seconds > 0
        moment = (self.satchel.workplace.clock() // 1_000 - age_seconds) * 1_000_000_000 + self.written
        os.utime(file, ns=(moment, moment))
        return file

    def ask(self, question: str = "Why?", **options: Any) -> Consultation:
        """Ask the assistant in the session that all tests use."""
        return self.satchel.consulting.consult(self.model, question, **{"conversation": "s", **options})

    def be_quick(self, **times: float) -> None:
        """Wait for nothing longer than a test should."""
        self.satchel.consulting.timing = quick(self.pauses, **times)

    def snapshot(self) -> Mapping[str, list[tuple[Any, ...]]]:
        """Return all that is stored, but for records of stores that a sweep is still to look for."""
        return {table: rows for table, rows in stored(self.satchel).items() if table != "vector_stores"}

    def leases(self) -> list[tuple[Any, ...]]:
        """Return the leases that hold a conversation."""
        with self.satchel.workplace.engine.read() as transaction:
            return transaction.all("SELECT lease_holder FROM conversations WHERE lease_token IS NOT NULL")

    def prompts(self) -> list[str]:
        """Return the text of each turn as the provider got it: the last that was said to it in each request."""
        found: list[str] = []
        for request in self.provider.requests:
            if request.step == "chat":
                messages = request.json["messages"]
                if messages[-1]["role"] == "user":
                    found.append(messages[-1]["content"])
            elif request.step == "respond":
                given = request.json["input"]
                found.append(given if isinstance(given, str) else given[-1]["content"])
        return found

    def heard(self) -> Reader:
        """Return a model that has read every prompt so far; none may have been sent twice."""
        reader = Reader()
        for prompt in self.prompts():
            reader.hear(prompt, ())
        return reader


def names(consulted: Consulted) -> list[list[str]]:
    """Return the names of the parts of each prompt."""
    return [[block.name for block in blocks_of(prompt)] for prompt in consulted.prompts()]


def split_of(done: Consultation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths in the prompts and those that are searched."""
    return tuple(file.path for file in done.inline), tuple(file.path for file in done.overflow)
