"""contrib.learn.preprocessing: documents as rows of the numbers of their words."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.graph.typing.aliases import Path

_TOKEN = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|['\w\-]+")

Tokenizer = Callable[[Iterable[str]], Iterable[Sequence[str]]]


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yields the words of each document."""
    for document in iterator:
        yield _TOKEN.findall(document)


class CategoricalVocabulary:
    """Numbers the categories in order of appearance; 0 stands for unknown ones."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._categories: list[Any] = [unknown_token]
        self._counts: dict[Any, int] = {}
        self._frozen = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Stops adding categories, or starts again."""
        self._frozen = freeze

    def get(self, category: Any) -> int:
        """Returns the number of a category, which is added unless the vocabulary is frozen."""
        number = self._mapping.get(category)
        if number is None:
            if self._frozen:
                return 0
            number = self._mapping[category] = len(self._mapping)
            self._categories.append(category)
        return number

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a category."""
        if self.get(category) > 0:
            self._counts[category] = self._counts.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps the categories with counts above min_frequency and below a positive max_frequency.

        They are numbered anew, the most frequent first, and equally frequent ones by name.
        """
        by_name = sorted(self._counts.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        kept = {
            category: count
            for category, count in sorted(by_name, key=lambda item: -item[1])
            if count > min_frequency and not 0 < max_frequency <= count
        }
        self._counts = kept
        self._categories = [self._unknown_token, *kept]
        self._mapping = {category: i for i, category in enumerate(self._categories)}

    def reverse(self, class_id: int) -> Any:
        """Returns the category of a number. Raises: ValueError without support_reverse."""
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse to support reverse() "
                "function."
            )
        return self._categories[class_id]


class VocabularyProcessor:
    """Documents as rows of max_document_length numbers of words, filled up with zeros."""

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Tokenizer | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words of the documents. Returns: the processor."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(
        self, raw_documents: Iterable[str], unused_y: Any = None
    ) -> Iterator[np.ndarray]:
        """Learns the words of the documents and yields their rows."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """Yields the row of each document, of type int64."""
        for words in self._tokenizer(raw_documents):
            numbers = np.zeros(self.max_document_length, np.int64)
            for i, word in enumerate(words[: self.max_document_length]):
                numbers[i] = self.vocabulary_.get(word)
            yield numbers

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yields the words of each row, with spaces between them."""
        for numbers in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in numbers)

    def save(self, filename: Path) -> None:
        """Writes the processor as a pickle."""
        with open(filename, "wb") as file:
            pickle.dump(self, file)

    @classmethod
    def restore(cls, filename: Path) -> VocabularyProcessor:
        """Returns the processor that `save` wrote. A pickle runs code: read only what you trust."""
        with open(filename, "rb") as file:
            found: VocabularyProcessor = pickle.load(file)
        return found


class ByteProcessor:
    """Documents as rows of their bytes, filled up with zeros."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Iterable[str | bytes]) -> ByteProcessor:
        """Returns the processor: there is nothing to learn."""
        return self

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """Yields the row of each document."""
        return self.transform(x)

    def transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray]:
        """Yields the first max_document_length bytes of each document, as uint8."""
        for document in x:
            data = document.encode() if isinstance(document, str) else document
            row = np.frombuffer(data[: self.max_document_length], np.uint8)
            yield np.pad(row, (0, self.max_document_length - len(row)))

    @staticmethod
    def reverse(x: Iterable[np.ndarray]) -> Iterator[str]:
        """Yields the text of each row, without the zeros at its end."""
        for row in x:
            yield bytes(bytearray(row)).rstrip(b"\0").decode("utf-8", "replace")
