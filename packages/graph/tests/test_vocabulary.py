"""contrib.learn.preprocessing: rows of the numbers of words."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr

learn = hr.contrib.learn.preprocessing


def test_words_are_numbered_in_order_of_appearance(tmp_path):
    texts = ["the cat's big", "A TVSet is the well-known", ""]
    processor = learn.VocabularyProcessor(4)
    rows = np.array(list(processor.fit_transform(texts)))
    assert rows.tolist() == [[1, 2, 3, 0], [4, 5, 6, 7], [0, 0, 0, 0]] and rows.dtype == np.int64
    assert len(processor.vocabulary_) == 9
    assert list(processor.transform(["big dog"]))[0].tolist() == [3, 0, 0, 0]
    processor.save(tmp_path / "vocab")
    restored = learn.VocabularyProcessor.restore(tmp_path / "vocab")
    assert list(restored.reverse(rows[:1])) == ["the cat's big <UNK>"]


def test_rare_words_are_left_out():
    processor = learn.VocabularyProcessor(3, min_frequency=1, tokenizer_fn=lambda t: map(list, t))
    assert [r.tolist() for r in processor.fit_transform(["cbab", "bda"])] == [[0, 1, 2], [1, 0, 2]]


def test_a_vocabulary_counts_trims_and_freezes():
    vocabulary = learn.CategoricalVocabulary(support_reverse=False)
    for category, count in [("a", 3), ("b", 5), ("c", 3), ("d", 1)]:
        vocabulary.add(category, count)
    vocabulary.trim(2, max_frequency=5)
    assert [vocabulary.get(c) for c in "acbd"] == [1, 2, 3, 4]
    vocabulary.freeze()
    assert vocabulary.get("e") == 0
    with pytest.raises(ValueError, match="support_reverse"):
        vocabulary.reverse(1)


def test_bytes_are_padded():
    processor = learn.ByteProcessor(4)
    rows = list(processor.fit(["x"]).fit_transform(["aé", b"abcdef"]))
    assert [r.tolist() for r in rows] == [[97, 195, 169, 0], [97, 98, 99, 100]]
    assert list(processor.reverse(rows)) == ["aé", "abcd"]
