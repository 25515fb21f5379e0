"""Images and PDF: what is taken for one, what it counts for, and how it reaches each provider."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from consult.consulted import ENVIRON, WINDOW, Consulted, split_of
from consult.media_files import pdf, png
from consult.providers.anthropic_api import AnthropicApi
from consult.providers.asking import Pauses
from consult.providers.chat_completions import ChatCompletions
from consult.providers.gemini_api import GeminiApi
from consult.providers.openai_api import OpenAIApi
from satchel import Satchel
from satchel.base.errors import Refused
from satchel.consult import reading
from satchel.consult.reading import Damaged, Extent, measure, media_tokens
from satchel.consult.records import Media
from tables import in_one_test

JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 300, 400) + bytes(12)
WEBP = b"RIFF\0\0\0\0WEBP"


@in_one_test(
    ("data", "extent"),
    [
        (png(640, 480), Extent(640, 480)),
        (JPEG, Extent(400, 300)),
        (b"GIF89a" + struct.pack("<HH", 12, 34) + bytes(8), Extent(12, 34)),
        (WEBP + b"VP8X" + bytes(8) + b"\x63\0\0" + b"\xc7\0\0", Extent(100, 200)),
        (WEBP + b"VP8L" + bytes(5) + struct.pack("<I", 99 | 199 << 14), Extent(100, 200)),
        (WEBP + b"VP8 " + bytes(10) + struct.pack("<HH", 100, 200), Extent(100, 200)),
        (pdf(3), Extent(pages=3)),
        (pdf(5, is_packed=True), Extent(pages=5)),
    ],
)
def test_the_extent_stands_in_the_header(data: bytes, extent: Extent) -> None:
    assert measure(data) == extent


@in_one_test(
    ("data", "problem"),
    [
        (b"# A text", "begins as no image or PDF"),
        (png(header_size=(3, 2)), "names 3 x 2 pixels, and it holds others"),
        (png(header_size=(4_000, 4_000)), "names 4,000 x 4,000 pixels"),
        (png(header_size=(100_000, 1)), "100,000 x 1 pixels"),
        (png(header_size=(0, 5)), "0 x 5 pixels"),
        (png()[:20], "header is damaged"),
        (png().replace(b"\x1e", b"\x1f", 1), "header is damaged"),
        (JPEG[:9], "header is damaged"),
        (b"%PDF-1.7\nnothing", "no page"),
        (pdf() + b"/Encrypt 5 0 R", "encrypted"),
    ],
)
def test_what_is_damaged_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(Damaged, match=problem):
        measure(data)


@in_one_test(
    ("model", "data", "tokens"),
    [
        ("anthropic:claude-opus-5", png(1000, 750), 1_000),
        ("anthropic:claude-opus-5", png(4000, 3000), 4_784),
        ("anthropic:claude-haiku-4-5", png(4000, 3000), 1_600),
        ("anthropic:claude-opus-5", pdf(3), 9_000),
        ("openai:gpt-4o", png(1024, 1024), 765),
        ("openai:gpt-5.1", png(2048, 4096), 1_105),
        ("openai:gpt-4o-mini", png(100, 100), 8_500),
        ("openai:gpt-5-mini", png(1024, 1024), 1_762),
        ("openai:gpt-6-sol", png(1024, 1024), 1_024),
        ("openai:gpt-6-sol", pdf(2), 6_000),
        ("gemini:gemini-3.8-flash", png(4000, 3000), 1_120),
        ("gemini:gemini-2.5-pro", png(1000, 700), 516),
        ("gemini:gemini-3.8-flash", pdf(2), 1_120),
    ],
)
def test_tokens_are_counted_by_the_providers_rule(model: str, data: bytes, tokens: int) -> None:
    assert media_tokens(model, Media("x", "", data)) == tokens


MODELS = {
    "openai": (OpenAIApi, "openai:gpt-test", "OPENAI_BASE_URL"),
    "anthropic": (AnthropicApi, "anthropic:claude-test", "ANTHROPIC_BASE_URL"),
    "gemini": (GeminiApi, "gemini:gemini-test", "GOOGLE_GEMINI_BASE_URL"),
    "compatible": (ChatCompletions, "compatible:tiny", None),
}


@pytest.fixture
def seeing(
    request: pytest.FixtureRequest, open_in: Callable[..., Satchel], project: Path, pauses: Pauses, direct: None
) -> Iterator[Consulted]:
    """A project whose questions go to a fake provider of a kind."""
    make, model, variable = MODELS[request.param]
    with make() as provider:
        keys = {"ANTHROPIC_API_KEY": "sk-ant-test", "GEMINI_API_KEY": getattr(provider, "key", "")}
        settings = {"consult.base_url": provider.url, **WINDOW, "consult.window_tokens": 20_000}
        environ = {**ENVIRON, **keys, **({variable: provider.url} if variable else {})}
        one = Consulted(open_in(project, environ=environ, settings=settings), provider, model, project, pauses)
        one.be_quick()
        yield one


def to(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("seeing", kinds, indirect=True)


def parts_of(consulted: Consulted) -> list[list[Any]]:
    """Return the parts of each message of the user in the last request; a text alone is one part."""
    body = consulted.provider.requests[-1].json
    messages = body.get("messages") or body.get("contents") or body.get("input")
    if isinstance(messages, str):
        return [[messages]]
    contents = [one.get("content") or one["parts"] for one in messages if one["role"] == "user"]
    return [[one] if isinstance(one, str) else one for one in contents]


def shape_of(model: str) -> Any:
    """Return the vendor's own type of a part."""
    if model.startswith("openai:"):
        from openai.types.responses import ResponseInputContentParam

        return ResponseInputContentParam
    if model.startswith("anthropic:"):
        from anthropic.types import DocumentBlockParam, ImageBlockParam, TextBlockParam

        return DocumentBlockParam | ImageBlockParam | TextBlockParam
    from google.genai.types import Part

    return Part


def data_of(part: Any) -> bytes:
    """Return what an image or PDF holds, whatever the provider calls it."""
    inside = part.get("source") or part.get("inlineData") or part
    text = inside.get("data") or inside.get("image_url") or inside["file_data"]
    return base64.urlsafe_b64decode(text.rpartition(",")[2].replace("+", "-").replace("/", "_"))


@to("openai", "anthropic", "gemini")
def test_an_image_and_a_pdf_are_sent_once_before_the_text(seeing: Consulted) -> None:
    seeing.write("docs/guide.pdf", pdf(1))
    seeing.write("docs/screen.png", png())
    named = ["docs/screen.png", "docs/guide.pdf"]
    first = seeing.ask(context=named)
    assert split_of(first) == (("docs/guide.pdf", "docs/screen.png"), ())
    ((document, image, text),) = parts_of(seeing)
    assert [data_of(document), data_of(image)] == [pdf(1), png()]
    shape = TypeAdapter[Any](shape_of(seeing.model))
    assert all(shape.validate_python(part) for part in (document, image, text))
    assert 'path="docs/screen.png" attached="2 of 2"' in text["text"]
    assert first.sent_tokens > sum(
        media_tokens(seeing.model, Media("", "application/pdf", data)) for data in (pdf(1), png())
    )
    second = seeing.ask(context=named)
    assert second.sent_tokens < 300 < second.saved_tokens
    *before, (now,) = parts_of(seeing)
    assert "attached" not in str(now)
    # OpenAI keeps the thread; for others we send it again, images included
    assert [[data_of(part) for part in one[:-1]] for one in before] == [[pdf(1), png()]] * (len(before))
    assert len(before) == (not seeing.model.startswith("openai"))


@to("anthropic")
def test_a_changed_image_goes_whole_and_replaces_the_earlier_one(seeing: Consulted) -> None:
    seeing.write("a.png", png())
    seeing.ask(context=["a.png"])
    seeing.write("a.png", png(31))
    seeing.ask(context=["."])
    _, (image, text) = parts_of(seeing)
    assert data_of(image) == png(31)
    assert 'replaces="yes" attached="1 of 1"' in text["text"]


@to("anthropic")
def test_a_thread_whose_image_is_not_stored_any_more_begins_anew(seeing: Consulted) -> None:
    seeing.write("a.png", png())
    seeing.ask(context=["a.png"])
    with seeing.satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM blobs")
    done = seeing.ask(context=["a.png"])
    ((image, _),) = parts_of(seeing)
    assert data_of(image) == png()
    assert any("not stored any more" in note for note in done.notes)


@to("compatible")
def test_a_model_that_is_sent_none_refuses_and_nothing_is_sent(seeing: Consulted) -> None:
    seeing.write("a.png", png())
    with pytest.raises(Refused, match=r"compatible:tiny is sent no images and PDF, such as a\.png"):
        seeing.ask(context=["a.png"])
    assert seeing.provider.requests == []
    assert seeing.leases() == []


@to("anthropic")
def test_what_is_no_image_or_pdf_is_held_back_with_the_reason(seeing: Consulted) -> None:
    seeing.write("a.pdf", "A text")
    seeing.write("b.png", png(header_size=(3, 2)))
    with seeing.write("c.png", png()).open("r+b") as file:
        file.truncate(50_000_000)
    seeing.write("folder/d.png", png())
    done = seeing.ask(context=["a.pdf", "b.png", "c.png", "folder"], dry_run=True)
    assert [(one.path, one.reason) for one in done.held_back] == [
        ("a.pdf", "damaged"),
        ("b.png", "damaged"),
        ("c.png", "too_large"),
        ("folder/d.png", "binary"),
    ]
    assert "name it itself" in done.held_back[-1].detail


@to("openai", "anthropic")
def test_a_pdf_without_room_is_searched_where_the_provider_takes_it(seeing: Consulted) -> None:
    seeing.write("long.pdf", pdf(10))
    seeing.write("more.pdf", pdf(11))
    seeing.write("a.png", png())
    done = seeing.ask(context=["long.pdf", "a.png"], attachments=["more.pdf"])
    if isinstance(seeing.provider, OpenAIApi):
        assert split_of(done) == (("a.png",), ("long.pdf",))
        assert sorted(seeing.provider.searched.values()) == sorted([pdf(10), pdf(11)])
        assert all(name.endswith(".pdf") for name in seeing.provider.searched)
    else:
        assert split_of(done) == (("a.png",), ())
        assert {one.path: one.reason for one in done.held_back} == {"long.pdf": "no_room", "more.pdf": "media"}


def test_streams_of_a_pdf_that_end_in_an_error_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MAX_INFLATED", 1_000)
    packed = zlib.compress(bytes(600_000))
    broken = b"/ObjStm stream\n" + packed[:-4] + b"????\nendstream\n"
    with pytest.raises(reading.Damaged, match="more than"):
        reading._pdf(b"%PDF-1.7\n/Type /Page \n" + broken)
