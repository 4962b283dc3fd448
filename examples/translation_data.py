"""Numbers below a million in English and German words, as pairs in text files.

The order differs: "two hundred and thirty one" is "zwei hundert ein und dreissig".
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

LIMIT = 1000000
HELD_OUT = 500
ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
GERMAN = (
    "null eins zwei drei vier fuenf sechs sieben acht neun zehn elf zwoelf dreizehn vierzehn "
    "fuenfzehn sechzehn siebzehn achtzehn neunzehn"
).split()
GERMAN_TENS = "zwanzig dreissig vierzig fuenfzig sechzig siebzig achtzig neunzig".split()
PAD, GO, END = range(3)  # of a vocabulary, before its words
MARKS = ["<pad>", "<go>", "<end>"]
ENGLISH_WORDS = MARKS + ENGLISH + ENGLISH_TENS + ["hundred", "thousand", "and"]
GERMAN_WORDS = MARKS + GERMAN + GERMAN_TENS + ["ein", "hundert", "tausend", "und"]


def english(number: int) -> list[str]:
    """Returns: the words of a number from 0 to 999,999."""
    if number >= 1000:
        rest = number % 1000
        joined = ["and"] if 0 < rest < 100 else []
        return [*english(number // 1000), "thousand", *joined, *(english(rest) if rest else [])]
    if number >= 100:
        rest = number % 100
        return [ENGLISH[number // 100], "hundred", *(["and", *english(rest)] if rest else [])]
    if number >= 20:
        return [ENGLISH_TENS[number // 10 - 2], *([ENGLISH[number % 10]] if number % 10 else [])]
    return [ENGLISH[number]]


def german(number: int, last: bool = True) -> list[str]:
    """Returns: the words of a number from 0 to 999,999; `last` ones end in "eins", not "ein"."""
    if number >= 1000:
        rest = number % 1000
        return [*german(number // 1000, False), "tausend", *(german(rest, last) if rest else [])]
    if number >= 100:
        rest = number % 100
        return [*german(number // 100, False), "hundert", *(german(rest, last) if rest else [])]
    if number >= 20:
        units = [*german(number % 10, False), "und"] if number % 10 else []
        return [*units, GERMAN_TENS[number // 10 - 2]]
    return ["ein"] if number == 1 and not last else [GERMAN[number]]


def numbers(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws numbers of one to six digits, each length as often.

    Returns: n to learn from, among which small ones repeat, and HELD_OUT that are not among them.
    """
    rng = np.random.RandomState(0)
    held_out = rng.choice(np.arange(100, LIMIT), HELD_OUT, replace=False)
    digits = rng.randint(1, 7, 2 * n + 1000)
    drawn = (rng.random_sample(len(digits)) * 10.0**digits).astype(np.int64)
    return drawn[~np.isin(drawn, held_out)][:n], held_out


def write(path: Path, n: int) -> None:
    """Writes n lines of English words, a tab and German words, unless the file is there."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{' '.join(english(i))}\t{' '.join(german(i))}\n" for i in numbers(n)[0]]
    unfinished = path.with_suffix(".part")
    unfinished.write_text("".join(lines))
    unfinished.replace(path)  # a file that is there is whole
