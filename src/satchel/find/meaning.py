"""Reranking by meaning: static word vectors of the extra ``meaning``, read from its wheel; nothing is downloaded."""

# The best matches of a search are compared to the query by the cosine of their vectors: the sum of the vectors of
# their words' tokens, each weighted by how rare the token is in the project. Hooks never load the model.

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib import import_module, util
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from satchel.base.lazy import lazy_regex
from satchel.base.records import dataclass
from satchel.store.transaction import Transaction, set_of

if TYPE_CHECKING:
    from satchel.find.exact import Texts  # a server starts with this module, and searches later

PACKAGE = "wordllama"
"""The package of the extra, which is also its value of ``search.meaning``."""

RERANKED = 50
"""How many of the best matches are compared."""

_WEIGHT_OF_TEXT, _WEIGHT_OF_CODE = 0.4, 0.9
"""How much the cosine counts relative to a lexical score of 1 for the best, if all of the matches are prose or code."""

_LEAST_SIGNS_OF_CODE = 0.03
_SIGNS_OF_CODE = "(){}[]=;_<>"
_MAX_CHARS = 4_000
_MAX_WORDS = 300
"""Words of a text that are read: the mean of more says little, so longer texts count less in proportion."""

_SAMPLE, _PROBED = 200, 1_000
"""How many texts of a project tell how rare a token is (as well as all of them on LoCoMo and CoSQA), and among how many
documents of the store they are looked for."""

_MAX_CACHED = 50_000
_word = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


def is_installed() -> bool:
    return util.find_spec(PACKAGE) is not None


@dataclass(slots=True)
class _Rarity:
    documents: int
    weights: Any


class Model:
    """The vectors of the extra's model."""

    def __init__(self) -> None:
        spec = util.find_spec(PACKAGE)
        assert spec is not None
        assert spec.origin is not None
        folder = Path(spec.origin).parent
        self._numpy: Any = import_module("numpy")
        tokenizer = import_module("tokenizers").Tokenizer
        self._tokenizer: Any = tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        self._vectors: Any = self._read(folder / "weights" / "l2_supercat_256.safetensors")
        self._tokens: dict[str, tuple[int, ...]] = {}
        self._rarities: dict[tuple[str, int], _Rarity] = {}

    def _read(self, file: Path) -> Any:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            header = json.loads(opened.read(size))["embedding.weight"]
        if header["dtype"] != "F16":
            raise ValueError(f"vectors of type {header['dtype']}")
        numpy = self._numpy
        start = 8 + size + header["data_offsets"][0]
        return numpy.memmap(file, dtype=numpy.float16, mode="r", offset=start, shape=tuple(header["shape"]))

    def tokens(self, text: str) -> tuple[Any, float]:
        """Return the distinct tokens of the first words of a text, and the share of its words that these are."""
        words = [word.lower() for word in _word().findall(text[:_MAX_CHARS]) if len(word) > 1]
        cut = max(1.0, len(text) / _MAX_CHARS) * max(1.0, len(words) / _MAX_WORDS)
        cache = self._tokens
        tokens: set[int] = set()
        for word in words[:_MAX_WORDS]:
            numbers = cache.get(word)
            if numbers is None:
                if len(cache) >= _MAX_CACHED:
                    cache.clear()
                numbers = cache[word] = tuple(self._tokenizer.encode(word, add_special_tokens=False).ids)
            tokens.update(numbers)
        return self._numpy.fromiter(tokens, self._numpy.int64, len(tokens)), 1 / cut

    def vector(self, tokens: Any, weights: Any) -> Any:
        """Return the weighted sum of the vectors of tokens, of length 1."""
        numpy = self._numpy
        total = weights[tokens] @ self._vectors[tokens].astype(numpy.float32)
        return total / (float(numpy.linalg.norm(total)) or 1.0)

    def rarity(self, transaction: Transaction, store: str, project_id: int, texts: Texts) -> Any:
        """Return the weights of tokens in a project; compute them again once it has doubled."""
        row = transaction.one("SELECT documents FROM projects WHERE id = :project", {"project": project_id})
        documents = row[0] if row else 0
        cached = self._rarities.get((store, project_id))
        if cached is not None and cached.documents <= documents <= 2 * cached.documents:
            return cached.weights
        # spread over the whole store, since the newest are often about one thing
        row = transaction.one("SELECT min(id), max(id) FROM documents")
        first, last = (row[0] or 0, row[1] or 0) if row else (0, 0)
        spread = set_of(range(first, last + 1, max(1, (last - first) // _PROBED)))
        rows = transaction.all(
            f"SELECT id FROM documents WHERE id IN {spread} AND +project_id = :project ORDER BY id",
            {"project": project_id},
        )
        numbers = rows[:: max(1, len(rows) // _SAMPLE)]
        numpy = self._numpy
        counts = numpy.zeros(len(self._vectors), numpy.float32)
        sample = texts(transaction, [number for (number,) in numbers]).values()
        for text in sample:
            counts[self.tokens(text)[0]] += 1
        weights = numpy.log1p((len(sample) - counts + 0.5) / (counts + 0.5))
        self._rarities[store, project_id] = _Rarity(documents, weights)
        return weights


@dataclass(frozen=True, slots=True)
class Meaning:
    """Ranking by meaning in one store."""

    model: Model
    store: str
    texts: Texts

    def shares(
        self, transaction: Transaction, project_id: int, query: str, totals: Mapping[int, float]
    ) -> dict[int, float]:
        """Return what the best matches gain or lose, given the score of each match.

        The cosine counts relative to its mean, so that a long text, for which it counts less, is not put last by that.
        """
        best = sorted(totals, key=lambda document: (totals[document], document), reverse=True)[:RERANKED]
        texts = self.texts(transaction, best)
        weights = self.model.rarity(transaction, self.store, project_id, self.texts)
        of_query = self.model.vector(self.model.tokens(query)[0], weights)
        cosines: dict[int, float] = {}
        shares_read: dict[int, float] = {}
        code = 0
        for document, text in texts.items():
            tokens, shares_read[document] = self.model.tokens(text)
            cosines[document] = float(self.model.vector(tokens, weights) @ of_query) if len(tokens) else 0.0
            code += _is_code(text[:_MAX_CHARS])
        if not cosines:
            return {}
        weight = _WEIGHT_OF_TEXT + (_WEIGHT_OF_CODE - _WEIGHT_OF_TEXT) * code / len(cosines)
        mean = math.fsum(cosines.values()) / len(cosines)
        scale = weight * max(totals.values())
        return {document: scale * shares_read[document] * (cosine - mean) for document, cosine in cosines.items()}


def _is_code(text: str) -> bool:
    return sum(map(text.count, _SIGNS_OF_CODE)) > _LEAST_SIGNS_OF_CODE * len(text)


class _Loading:
    def __init__(self) -> None:
        self.model: Model | None = None
        self.problem: str | None = None
        self.thread: Thread | None = None
        self._lock = Lock()

    def load(self) -> None:
        with self._lock:
            if self.model is None and self.problem is None:
                try:
                    self.model = Model()
                except Exception as error:  # noqa: BLE001 -- a search works without, whatever is wrong with the extra
                    self.problem = f"search by meaning is off, its model cannot be loaded: {error!r}"[:300]


_LOADING = _Loading()


def load_in_background(choice: str) -> None:
    """Start to load the model for the searches of a server, unless it is off, not installed, or being loaded."""
    if choice == PACKAGE and _LOADING.thread is None and is_installed():
        _LOADING.thread = Thread(target=_LOADING.load, name="satchel-meaning", daemon=True)
        _LOADING.thread.start()


def of_store(choice: str, store: str, texts: Texts) -> Meaning | None:
    """Return what ranks by meaning in a store, or None where that is off, not installed or still being loaded."""
    if choice != PACKAGE:
        return None
    if _LOADING.model is None and (_LOADING.thread is None or not _LOADING.thread.is_alive()) and is_installed():
        _LOADING.load()
    return None if _LOADING.model is None else Meaning(_LOADING.model, store, texts)


def problems() -> tuple[str, ...]:
    """Return a note for the reader of a search if the model could not be loaded."""
    return () if _LOADING.problem is None else (_LOADING.problem,)
