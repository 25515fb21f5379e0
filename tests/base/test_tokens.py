import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from satchel.base.errors import InvalidInput
from satchel.base.tokens import TokenCount, TokenCounter, estimate, token_counter
from tables import in_one_test

PROSE = (
    "The session middleware keeps a refresh token for each device. When the gateway rotates its key, every "
    "token signed before that moment is refused, so the client has to sign in again. We tried to hold two "
    "keys at once, but the second one was never dropped; the fix is to store when a key was retired.\n"
)
SVG = '<path d="M12.5 3.75c-4.556 0-8.25 3.694-8.25 8.25s3.694 8.25 8.25 8.25z" fill="#1f6feb"/>\n' * 4
LOCK = (
    '[[package]]\nname = "itoa"\nversion = "1.0.15"\nchecksum = '
    '"4a5f13b858c8d314ee3e8f639011f7ccefe71f97f96e50151fb991f267928e2c"\n\n'
) * 4
JSON = '{"id": 4711, "tags": ["auth", "api"], "score": 0.875, "ok": true, "next": null},\n' * 6
CODE = (
    "def refresh(session: Session, now: int) -> Token | None:\n"
    "    if session.expires_at <= now:\n"
    "        return None\n"
    "    return session.rotate(now + GRACE_MS)\n\n\n"
) * 4
CHINESE = "会话中间件为每个设备保存一个刷新令牌。网关更换密钥之后,旧令牌都会被拒绝,客户端必须重新登录。" * 3
JAPANESE = "セッションは端末ごとに更新トークンを保持します。鍵が変わると、古いトークンは拒否されます。" * 3
RUSSIAN = "Сеанс хранит токен обновления для каждого устройства. После смены ключа старые токены отклоняются. " * 3


@pytest.fixture(autouse=True)
def loaded_anew() -> Iterator[None]:
    """A counter that one test has loaded is not what another one gets."""
    token_counter.cache_clear()
    yield
    token_counter.cache_clear()


@pytest.fixture
def broken_splintr(monkeypatch: pytest.MonkeyPatch) -> object:
    """Put a stand-in for the tokenizer in place whose counts are those of the bytes."""

    def load(name: str) -> SimpleNamespace:
        return SimpleNamespace(encode_ordinary=lambda text: list(text.encode()))

    module = SimpleNamespace(Tokenizer=SimpleNamespace(from_pretrained=load))
    monkeypatch.setitem(sys.modules, "splintr", module)
    return module


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_the_tokens_extra_counts_exactly_and_says_so(encoding: str) -> None:
    counter = token_counter(encoding)
    assert (counter.name, counter.exact, counter.reason) == (encoding, True, None)


def test_without_a_choice_the_encoding_is_o200k_base() -> None:
    assert token_counter().name == "o200k_base"


def test_the_two_encodings_count_differently() -> None:
    text = "お誕生日おめでとう"
    assert (token_counter("o200k_base").count(text), token_counter("cl100k_base").count(text)) == (8, 9)


def test_an_unknown_encoding_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'o200k_base'"):
        token_counter("o20k_base")


def test_the_name_of_a_special_token_counts_as_ordinary_text() -> None:
    assert token_counter().count("<|endoftext|>") == 7


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    counter = token_counter()
    assert counter.count("a \ud800 b") == counter.count("a \ufffd b")


def test_a_measured_text_carries_its_counter() -> None:
    assert token_counter().measure("hello world") == TokenCount(2, "o200k_base", True)


def test_without_the_extra_an_estimate_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    counter = token_counter()
    assert (counter.name, counter.exact) == ("estimate", False)
    assert counter.reason == "the extra tokens is not installed"


def test_without_the_extra_the_count_is_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    assert token_counter().measure(SVG, "svg") == TokenCount(estimate(SVG, "svg"), "estimate", False)


def test_a_tokenizer_that_returns_bytes_fails_the_self_check(broken_splintr: object) -> None:
    counter = token_counter()
    assert (counter.name, counter.exact) == ("estimate", False)
    assert "28 tokens instead of 6" in str(counter.reason)


def test_a_tokenizer_without_its_vocabulary_is_not_used(
    monkeypatch: pytest.MonkeyPatch, broken_splintr: SimpleNamespace
) -> None:
    def refuse(name: str) -> None:
        raise ValueError("no such vocabulary")

    monkeypatch.setattr(broken_splintr.Tokenizer, "from_pretrained", refuse)
    assert token_counter().reason == "splintr-rs cannot load o200k_base (no such vocabulary)"


@in_one_test(
    ("text", "kind"),
    [
        pytest.param(PROSE, None, id="prose"),
        pytest.param(SVG, "svg", id="svg"),
        pytest.param(LOCK, "lock", id="lock"),
        pytest.param(JSON, "json", id="json"),
        pytest.param(CODE, "py", id="py"),
        pytest.param(CHINESE, None, id="chinese"),
        pytest.param(JAPANESE, None, id="japanese"),
        pytest.param(RUSSIAN, None, id="russian"),
    ],
)
def test_the_estimate_is_within_a_fifth_of_the_count(text: str, kind: str | None) -> None:
    assert estimate(text, kind) == pytest.approx(token_counter().count(text), rel=0.2)


@in_one_test("kind", ["xml", ".xml", "XML"])
def test_the_kind_of_file_changes_the_estimate(kind: str) -> None:
    assert estimate(JSON, kind) > estimate(JSON)


def test_an_unknown_kind_is_estimated_as_prose() -> None:
    assert estimate(JSON, "quux") == estimate(JSON)


@in_one_test(("text", "tokens"), [("", 0), (" ", 1), ("x", 1), ("\ud800", 1)])
def test_only_an_empty_text_is_estimated_at_nothing(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


def test_importing_the_module_does_not_load_the_tokenizer() -> None:
    program = "import sys, satchel.base.tokens; sys.exit('splintr' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_counter_for_a_model_with_smaller_tokens_counts_more_and_rounds_up() -> None:
    counter = TokenCounter("length", True, None, lambda text, _: len(text))
    larger = counter.times(1.15)
    assert [larger.count("x" * size) for size in (0, 1, 10, 100)] == [0, 2, 12, 115]
    assert (larger.name, larger.exact) == ("length", True)
    assert counter.times(1) is counter
