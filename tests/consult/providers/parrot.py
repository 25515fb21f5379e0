"""An endpoint whose model says back what it was asked, so that an answer shows what was sent."""

from __future__ import annotations

from consult.providers.chat_completions import ChatCompletions, Said
from consult.providers.server import Answer, Request


class Parrot(ChatCompletions):
    """A model that repeats the last message, whole.

    Attributes:
        says: what it says instead.
    """

    def __init__(self) -> None:
        super().__init__()
        self.says: Said | None = None

    def answer(self, request: Request) -> Answer:
        self.model.script = [self.says or Said((request.json["messages"][-1]["content"],))]
        return super().answer(request)
