"""What adapters have in common: a name, a client for each call, and how to ask where the provider keeps no thread.

An adapter adds what its vendor's protocol differs in: how a client is made, what a request looks like, and how the
answer is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, ClassVar, Generic, TypeVar

from satchel.consult.assistants.limits import Limits, public_address
from satchel.consult.assistants.models import Model
from satchel.consult.assistants.protocol import Ask, Exchange, Reply, Timing
from satchel.consult.assistants.retrying import Patience
from satchel.consult.assistants.rounds import Round, converse
from satchel.consult.assistants.sdk_client import SdkClient
from satchel.consult.assistants.searching import searches
from satchel.consult.assistants.wire import Wire
from satchel.consult.sweeping import Sweeper

ClientT = TypeVar("ClientT", bound=SdkClient)


class SdkAssistant(ABC, Generic[ClientT]):
    """An assistant that is asked through its vendor's SDK.

    Attributes:
        own_url: the vendor's address; empty where there is no vendor.
        address: where it is asked, as it may be shown.
        told: what it is called in errors: its name with its address.
    """

    own_url: ClassVar[str]
    keeps_history: ClassVar[bool]

    def __init__(
        self,
        model: Model,
        variable: str,
        *,
        key: str | None = None,
        base_url: str | None = None,
        timing: Timing | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Name a model; nothing is sent yet.

        Args:
            variable: the environment variable that holds its key, for errors.
            key: None where none is needed.
            base_url: of another address that speaks the same; None is the vendor's own.
        """
        self.model = model.name
        self._variable = variable
        self.window = model.window
        self.name = model.full_name
        self.address = public_address(base_url or self.own_url)
        self.told = f"{self.name} at {self.address}"
        self._key = key
        self._base_url = base_url
        self._timing = timing or Timing()
        self._patience = patience or Patience()

    @property
    def sweeper(self) -> Sweeper | None:
        """What deletes what earlier calls left; see :class:`satchel.consult.assistants.protocol.Assistant`."""
        return None

    @abstractmethod
    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.assistants.protocol.Assistant`."""

    @abstractmethod
    def _open(self, wire: Wire) -> ClientT:
        """Make a client whose connections are of a wire."""

    @contextmanager
    def _calling(self, ask: Ask) -> Iterator[tuple[ClientT, Wire]]:
        """Hand out a client for one call, and close it."""
        limits = Limits.of(self.window.output)
        with (
            Wire(self._timing, ask.is_cancelled, name=self.told, limits=limits) as wire,
            closing(self._open(wire)) as client,
        ):
            yield client, wire


def without_nones(**options: Any) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def messages_of(history: Sequence[Exchange]) -> list[Any]:
    """Return past turns in the form that most protocols share."""
    return [
        {"role": role, "content": content}
        for past in history
        for role, content in (("user", past.prompt), ("assistant", past.answer))
    ]


class OwnHistoryAssistant(SdkAssistant[ClientT]):
    """An assistant whose provider keeps nothing: every request holds the whole thread, and searches are ours."""

    keeps_history = False

    def ask(self, ask: Ask) -> Reply:
        """Answer one turn; see :class:`satchel.consult.assistants.protocol.Assistant`."""
        with self._calling(ask) as (client, wire), searches(ask, self.window, wire.check) as search:
            messages = self._messages(ask)

            def send(may_search: bool) -> Generator[str, None, Round]:
                return self._send(client, messages, None if search is None else may_search, ask)

            def remember(one: Round, results: Sequence[str]) -> None:
                messages.extend(self._with_results(one, results))

            ask.on_progress(f"asking {self.name}")
            return converse(self.told, ask, wire, self._patience, send, search, remember)

    @abstractmethod
    def _messages(self, ask: Ask) -> list[Any]:
        """Return the thread as the provider wants it: what was said, and the new prompt."""

    @abstractmethod
    def _send(
        self, client: ClientT, messages: list[Any], may_search: bool | None, ask: Ask
    ) -> Generator[str, None, Round]:
        """Make one request; yield the text as it arrives, nothing where what arrives is none, and return the rest.

        Args:
            ask: the turn, whose settings every request repeats.
            may_search: None where there is nothing to search; False where the tool is known, and not to be called.
        """

    @abstractmethod
    def _with_results(self, one: Round, results: Sequence[str]) -> list[Any]:
        """Return the messages that a round with calls adds to the thread: the calls, and their results in order."""
