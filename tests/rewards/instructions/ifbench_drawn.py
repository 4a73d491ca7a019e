"""For each of IFBench's instructions ten responses that keep it and ten that break it, each with arguments of its own.

`draw(kind, i)` makes the i-th pair by rule, the same at every call. The cases that are hard are in `ifbench_cases`.
"""

# ruff: noqa: SIM905  (lists of words read best as words)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewardkit.rewards.instructions.ifbench_format import SIMPLE_SENTENCE
from rewardkit.rewards.instructions.vocabulary import CAPITALS, PERSON_NAMES
from tests.rewards.instructions.ifbench_cases import COUNTRIES, GRADES, QUESTIONS, STOCK

Pair = tuple[dict[str, Any], str, str]
"""Arguments, a response that keeps the instruction, one that breaks it."""

ANIMALS = (
    "ant bear cat dog elk fox goat hen ibis jay kite lamb mole newt otter pig quail rat seal toad urchin vole wolf xerus "
    "yak zebra"
).split()
LINKS = "and but or nor for yet so".split()
PRONOUNS = "I she him they them it you us his her".split()
PALINDROMES = (
    "level radar civic rotor kayak madam refer tenet stats racecar rotator redder deified reviver minim solos sagas"
).split()
CLUSTERED = "brown black fresh bread stone sport train green dress frost spring ducks".split()
SHORT = "ant cat dog elk fox hen jay pig rat yak".split()
PRIME = "at it cat dog horse mouse monkeys giraffe to pig".split()
ONE, TWO = (
    "cat dog bread milk tree stone fish bird grass cloud".split(),
    "happy table water garden window yellow paper".split(),
)
FEW_VOWELS = (
    "cats", "men ran", "a cat and a man", "big pigs", "old dogs", "pigs in mud", "hens in beds", "dogs on logs", "a map", "red hens ran",
)  # fmt: skip
EMOJI = "😀 🎉 🐱 🌍 🍎 🚀 🎵 📚 🌈 🔥".split()
MARKS = (".", ",", "!", "?", ";", ":")
DATES = [f"{1796 + i}-0{1 + i % 9}-1{i % 9}" for i in range(12)]


def some(n: int, start: int = 0) -> str:
    """`n` animals, each with a first letter of its own."""
    return " ".join(ANIMALS[(start + k) % 26] for k in range(n))


def chain(i: int) -> list[str]:
    """Three sentences, each of which begins with the last word of the one before."""
    a, b, c, d = (ANIMALS[(i + k) % 26] for k in range(4))
    return [f"{a.title()} saw {b}.", f"{b.title()} met {c}.", f"{c.title()} ate {d}."]


def swapped(items: list[str], at: int) -> list[str]:
    """The items, two neighbours exchanged."""
    return [*items[:at], items[at + 1], items[at], *items[at + 2 :]]


def nested(i: int, depth: int) -> str:
    """A word in brackets of different kinds, so deep."""
    text = ANIMALS[i]
    for level in range(depth):
        text = "([{"[(i + level) % 3] + f"{ANIMALS[level]} {text}" + ")]}"[(i + level) % 3]
    return text


def cities(i: int, rows: int = 7, columns: int = 5) -> str:
    head = "ID,Country,City,Year,Count".split(",")
    body = [[str(k), "Chad", ANIMALS[i + k], str(1990 + k), str(k * i)] for k in range(1, rows + 1)]
    return "\n".join(",".join(row[:columns]) for row in [head, *body])


def keywords(i: int) -> dict[str, str]:
    return {f"keyword{k + 1}": ANIMALS[i + k] for k in range(5)}


def often(i: int, counts: tuple[int, ...]) -> str:
    return " ".join(ANIMALS[i + k] for k, n in enumerate(counts) for _ in range(n))


def prompt(i: int) -> str:
    return f"Write a poem about the {ANIMALS[i]}."


def questions(i: int) -> list[str]:
    return [q.replace("painter", ANIMALS[i]).replace("Name", ANIMALS[i + 1]) for q in QUESTIONS]


def backwards(i: int) -> str:
    return f"The bald eagle is the national {ANIMALS[i]} of the US"


def alphabet(i: int) -> list[str]:
    return [f"{word.title()} number {i} it is." for word in ANIMALS]


def africa(i: int) -> list[str]:
    written = (str.title, str.upper, str.lower, lambda c: f"- {c}", lambda c: f"{c},")[i % 5]
    left_out = {COUNTRIES[5]} if i >= 5 else set()
    return [written(c) for c in COUNTRIES if c not in left_out]


def placed(i: int, at: int) -> str:
    """Three sentences of five words, the keyword `zebu` at one place of them (0 to 14)."""
    words = ["plum"] * 15
    words[at] = "zebu"
    return " ".join(" ".join(words[k : k + 5]).capitalize() + "." for k in (0, 5, 10))


def runs(i: int, *lengths: int) -> str:
    """Sentences that hold so many words in a row with the same first letter."""
    return " ".join(" ".join(letter + vowel for vowel in "aeiou"[:n]).capitalize() + f" {'xyz'[k]}{'aeiouy'[i // 2]}." for k, (n, letter) in enumerate(zip(lengths, "bcd", strict=False)))  # fmt: skip


def counted(*lengths: int) -> str:
    """Sentences of so many words."""
    return " ".join(some(n, k).capitalize() + "." for k, n in enumerate(lengths))


def japanese(i: int, n: int, last: str) -> str:
    return " ".join(("二" if (k + 1) % n == 0 else ANIMALS[i + k]) for k in range(3 * n - 1)) + " " + last


def overlapping(shared: int) -> str:
    """A text of twenty trigrams, of which so many are those of the reference."""
    return ("abcdefghijklmnopqrstuvwxyz"[: shared + 2] + "0123456789ABCDEFGHIJ")[:22]


TEST: dict[str, Callable[[int], Pair]] = {
    "count:word_count_range": lambda i: ({"min_words": 2 + i, "max_words": 3 + i}, some(2 + i + i % 2), some(1 + i + 3 * (i % 2))),
    "count:unique_word_count": lambda i: ({"N": 3 + i}, some(3 + i), some(2 + i) + " ant Ant"),
    "count:conjunctions": lambda i: ({"small_n": 1 + i % 6}, f" {ANIMALS[i]} ".join(LINKS[: 1 + i % 6]) + " x" * i, f"Candy{i}, {' dogs '.join(LINKS[: i % 6])} butter"),
    "count:person_names": lambda i: ({"N": 2 + i % 4}, "We met " + ", ".join(PERSON_NAMES[i : i + 2 + i % 4]), "We met " + f"{PERSON_NAMES[i]} " * 6),
    "count:numbers": lambda i: ({"N": 1 + i % 5}, " and ".join(f"{i + k},000" for k in range(1, 2 + i % 5)), " and ".join(str(i + k) for k in range(2 + i % 5))),
    "count:punctuation": lambda i: ({}, f"{some(1, i)}?! " + " x".join(MARKS), f"{some(1, i)}?! " + " x".join(m for m in MARKS if m != MARKS[i % 6])),
    "count:words_japanese": lambda i: ({"N": 2 + i % 3}, japanese(i, 2 + i % 3, "一つ"), japanese(i, 2 + i % 3, ANIMALS[i])),
    "count:pronouns": lambda i: ({"N": 1 + i}, " saw ".join(PRONOUNS[: 1 + i]), "theory item " + " saw ".join(PRONOUNS[:i])),
    "count:keywords_multiple": lambda i: (keywords(i), often(i, (1, 2, 3, 5, 7)), often(i, ((1, 2, 3, 5, 6), (2, 2, 3, 5, 7), (1, 2, 3, 4, 7))[i % 3])),
    "ratio:stop_words": lambda i: ({"percentage": 10 * i}, "the " * i + some(10 - i), "the " * (i + 1) + some(9 - i)),
    "ratio:sentence_type": lambda i: ({}, "It is. " * (2 * i + 2) + "Is it? " * (i + 1), "It is. " * (2 * i + 1) + "Is it? " * (i + 1)),
    "ratio:sentence_balance": lambda i: ({}, "It is. Is it? Wow! " * (i + 1), "It is. Is it? Wow! " * (i + 1) + ("Wow!", "It is.", "Is it?")[i % 3]),
    "ratio:overlap": lambda i: ({"reference_text": "abcdefghijklmnopqrstuvwxyz", "percentage": 5 * (i + 2)}, overlapping(i + 2), overlapping(i + 3)),
    "ratio:sentence_words": lambda i: ({}, ". ".join(f"{SHORT[(i + 2 * k) % 10].title()} {SHORT[(i + 2 * k + 1) % 10]}" for k in range(3)) + ".", f"Ant cat. Dog elk. {some(3 + i, 8).title()}."),
    "words:alphabet": lambda i: ({}, some(3 + i, i), " ".join(swapped(some(3 + i, i).split(), i % 2))),
    "words:vowel": lambda i: ({}, FEW_VOWELS[i], FEW_VOWELS[i] + " hide your old map"),
    "words:consonants": lambda i: ({}, " ".join(CLUSTERED[i : i + 2]), " ".join(CLUSTERED[i : i + 2]) + (" area", " a", " ocean", " code")[i % 4]),
    "words:palindrome": lambda i: ({}, " ".join((PALINDROMES + PALINDROMES)[i : i + 10]), " ".join((PALINDROMES + PALINDROMES)[i : i + 9]) + " " + PALINDROMES[i]),
    "words:prime_lengths": lambda i: ({}, " ".join((PRIME + PRIME)[i : i + 4]), PRIME[i] + (" a", " four", " zebras", " elephants")[i % 4]),
    "words:repeats": lambda i: ({"small_n": 1 + i}, "ant " * (1 + i) + some(4, 1), "Ant, " * (2 + i) + some(4, 1)),
    "words:odd_even_syllables": lambda i: ({}, " ".join(ONE[(i + k) % 10] + " " + TWO[(i + k) % 7] for k in range(1 + i % 3)), f"{ONE[i]} {ONE[i - 1]} {TWO[i % 7]}"),
    "words:last_first": lambda i: ({}, " ".join(chain(i)), " ".join(swapped(chain(i), i % 2))),
    "words:paragraph_last_first": lambda i: ({}, "\n".join(f"{a.title()} likes {a}." for a in ANIMALS[i : i + 2 + i % 2]), f"{ANIMALS[i]} is {ANIMALS[i]}\n{ANIMALS[i]} is so"),
    "words:no_consecutive": lambda i: ({}, some(3 + i, i), some(3 + i, i) + " " + some(1, 2 * i + 2)[0] + "o"),
    "words:keywords_specific_position": lambda i: ({"keyword": "zebu", "n": 1 + i % 3, "m": 1 + i % 4}, placed(i, 5 * (i % 3) + i % 4), placed(i, 5 * (i % 3) + i % 4 + 1)),
    "words:words_position": lambda i: ({"keyword": ANIMALS[i]}, f"A {ANIMALS[i]} day, {some(i, 12)} a {ANIMALS[i]} night.", f"A {ANIMALS[i]} day, {some(i, 12)} a night {ANIMALS[i]}."),
    "sentence:alliteration_increment": lambda i: ({}, runs(i, *((2, 3), (2, 4), (3, 4), (2, 3, 4), (2, 3, 5))[i % 5]), runs(i, *((3, 2), (4, 4), (3, 3), (2, 4, 3), (4, 3, 2))[i % 5])),
    "sentence:keyword": lambda i: ({"word": "zebu", "N": 1 + i % 3}, placed(i, 5 * (i % 3) + i % 5), placed(i, (5 * (i % 3) + 5 + i % 5) % 15)),
    "sentence:increment": lambda i: ({"small_n": 1 + i % 4}, counted(*(1 + i % 3 + k * (1 + i % 4) for k in range(2 + i % 2))), counted(2 + i % 3, 2 + i % 3 + 2 + i % 4)),
    "format:parentheses": lambda i: ({}, nested(i, 5 + i % 2), nested(i, 1 + i % 4)),
    "format:quotes": lambda i: ({}, f'"{ANIMALS[i]} said \'she said "{ANIMALS[i + 1]}" to me\' then"', f'"{ANIMALS[i]} said \'{ANIMALS[i + 1]}\' then"'),
    "format:options": lambda i: ({"options": "/".join(ANIMALS[i : i + 3])}, (ANIMALS[i], ANIMALS[i + 1].title(), f"**{ANIMALS[i + 2]}**")[i % 3], (ANIMALS[i + 3], some(2, i), f"It is {ANIMALS[i]}.")[i % 3]),
    "format:newline": lambda i: ({}, "\n".join(some(2 + i).split()), "\n".join(some(2 + i).split()) + " more"),
    "format:emoji": lambda i: ({}, " ".join(f"{a.title()} runs {e}." for a, e in zip(ANIMALS, EMOJI[: 1 + i], strict=False)), f"{ANIMALS[i].title()} runs {EMOJI[i]}. Then it sleeps."),
    "format:line_indent": lambda i: ({}, "\n".join(" " * k * (1 + i % 3) + a for k, a in enumerate(ANIMALS[: 2 + i])), "\n".join(" " * min(k, i) + a for k, a in enumerate(ANIMALS[: 2 + i]))),
    "format:quote_unquote": lambda i: ({}, f'"{ANIMALS[i]}" means {some(2, i + 1)}.', (f'It said "{ANIMALS[i]}"', f'"{ANIMALS[i]}" "{ANIMALS[i + 1]}" ran', some(3, i))[i % 3]),
    "format:list": lambda i: ({"sep": "!?!?...-->==>"[3 * (i % 4) : 3 * (i % 4) + 3]}, "\n".join("!?!?...-->==>"[3 * (i % 4) : 3 * (i % 4) + 3] + f" {a}" for a in ANIMALS[: 2 + i]), "\n".join(f"* {a}" for a in ANIMALS[: 2 + i])),
    "format:thesis": lambda i: ({}, f"<{('i', 'em')[i % 2]}>The {ANIMALS[i]} runs.</{('i', 'em')[i % 2]}> Because it can.", (f"<i></i> The {ANIMALS[i]} runs.", f"<i>The {ANIMALS[i]} runs.</i>", f"The {ANIMALS[i]} runs.")[i % 3]),
    "format:sub-bullets": lambda i: ({}, "\n".join(f"* {a}\n  - {a}s" for a in ANIMALS[: 1 + i]), "\n".join(f"* {a}\n  - {a}s" for a in ANIMALS[: 1 + i]) + "\n* last"),
    "format:no_bullets_bullets": lambda i: ({}, f"The {ANIMALS[i]} ran. It slept.\n" + "\n".join(f"* {a}" for a in ANIMALS[: 2 + i]), f"The {ANIMALS[i]} ran.\n" + "\n".join(f"* {a}" for a in ANIMALS[: 2 + i])),
    "format:title_case": lambda i: ({}, f"The {ANIMALS[i].title()} of the {some(1 + i).title()}", f"The {ANIMALS[i].title()} of the {ANIMALS[i + 1]}"),
    "format:output_template": lambda i: ({}, f"My Answer: {ANIMALS[i]} My Conclusion: {ANIMALS[i + 1]} Future Outlook: good", f"My Answer: {ANIMALS[i]} " + ("Future Outlook: good", "My Conclusion: Future Outlook: good", "Future Outlook: b My Conclusion: c")[i % 3]),
    "format:no_whitespace": lambda i: ({}, some(2 + i).replace(" ", "-"), some(2 + i).replace(" ", " \t\n\u00a0"[i % 4])),
    "repeat:repeat_change": lambda i: ({"prompt_to_repeat": prompt(i)}, prompt(i).replace("Write", ANIMALS[i].title()), (prompt(i), "Read" + prompt(i + 1)[5:], "Read" + prompt(i)[5:] + " Yes.")[i % 3]),
    "repeat:repeat_simple": lambda i: ({}, SIMPLE_SENTENCE[: 5 * i].upper() + SIMPLE_SENTENCE[5 * i :], (f"{ANIMALS[i]}: {SIMPLE_SENTENCE}", SIMPLE_SENTENCE + f" {ANIMALS[i]}", SIMPLE_SENTENCE[: -3 - i])[i % 3]),
    "repeat:repeat_span": lambda i: ({"prompt_to_repeat": prompt(i), "n_start": i, "n_end": i + 6}, prompt(i)[i : i + 7], prompt(i)[i : i + 7] + "x"),
    "custom:multiples": lambda i: ({}, (", ", ",", " ", "\n", "; ", " - ", " and ", " / ", "\t", " | ")[i].join(str(n) for n in range(14, 51, 7)), ", ".join(str(n) for n in range(14, 50 + 7 * (i + 1), 7))),
    "custom:mcq_count_length": lambda i: ({}, "\n".join(questions(i)), "\n".join((questions(i)[:3], questions(i)[::-1], swapped(questions(i), 1), [*questions(i), questions(i)[-1]])[i % 4])),
    "custom:reverse_newline": lambda i: ({}, "\n".join(africa(i)), "\n".join((swapped(africa(i), 3 + i), africa(i)[::-1], africa(i)[: 45 + i % 5], [*africa(i), "Atlantis"])[i % 4])),
    "custom:word_reverse": lambda i: ({}, " ".join(backwards(i).split()[::-1]) + ".", (backwards(i), f"{ANIMALS[i]} the is It.", " ".join(backwards(i).split()[::-1]) + ". It is. So.")[i % 3]),
    "custom:character_reverse": lambda i: ({}, backwards(i)[::-1], (backwards(i), f"{backwards(i)[::-1]} means bald eagle", some(2, i)[::-1])[i % 3]),
    "custom:sentence_alphabet": lambda i: ({}, " ".join(alphabet(i)), " ".join((swapped(alphabet(i), i), alphabet(i)[:-1], alphabet(i)[1:])[i % 3])),
    "custom:european_capitals_sort": lambda i: ({}, (", ", ",", ",\n", " , ", ",  ")[i % 5].join((str.upper, str.lower)[i // 5](c) for c in CAPITALS), ", ".join((swapped(list(CAPITALS), i), [c for c in CAPITALS if c != CAPITALS[i]])[i % 2])),
    "custom:csv_city": lambda i: ({}, cities(i), (cities(i, 6), cities(i, 7, 4), cities(i).replace("Year", "When"), cities(i, 8))[i % 4]),
    "custom:csv_special_character": lambda i: ({}, STOCK + f'\n14,Toys,"{ANIMALS[i]} & Co",9,1', STOCK + f"\n14,Toys,{ANIMALS[i]}{(' & Co', '')[i % 2]},9,1"),
    "custom:csv_quotes": lambda i: ({}, GRADES.replace("Art", ANIMALS[i]), GRADES.replace("Art", ANIMALS[i]).replace(("\t", '"A"', "Grade")[i % 3], (",", "A", "Mark")[i % 3])),
    "custom:date_format_list": lambda i: ({}, ", ".join(DATES[i : i + 3]), ", ".join((DATES[i].replace("-", "/"), f"19{10 + i}-01-01", f"1805-02-3{i % 2}", DATES[i + 1])[k] for k in (i % 3, 3))),
}  # fmt: skip

TRAINING: dict[str, Callable[[int], Pair]] = {
    "copy:repeat_phrase": lambda i: ({"phrase": "the old man sleeps", "small_n": 1 + i % 3}, ", ".join(f"the {a} man sleeps" for a in ANIMALS[i : i + 1 + i % 3]), ", ".join(f"the {a} man sleeps" for a in ANIMALS[i : i + 2 + i % 3])),
    "copy:copy": lambda i: ({"prompt_to_repeat": prompt(i)}, (str.upper, str.lower, str.title, str)[i % 4](prompt(i)), prompt(i)[: -2 - i % 3]),
    "copy:copying_simple": lambda i: ({"prompt_to_repeat": prompt(i)}, prompt(i), f"{ANIMALS[i]}: {prompt(i)}"),
    "copy:copying_multiple": lambda i: ({"prompt_to_repeat": prompt(i), "N": 2 + i % 4}, "\n******\n".join([prompt(i)] * (2 + i % 4)), "\n******\n".join([prompt(i)] * (3 + i % 4))),
    "new:copy_span_idx": lambda i: ({"prompt_to_repeat": prompt(i), "n_start": i, "n_end": i + 7}, prompt(i)[i : i + 7], prompt(i)[i : i + 7] + "x"),
    "detectable_format:sentence_hyphens": lambda i: ({}, "-".join(f"The {a} ran." for a in ANIMALS[: 2 + i]), (" - ", " ", "\n")[i % 3].join(f"The {a} ran." for a in ANIMALS[: 2 + i])),
    "detectable_format:square_brackets": lambda i: ({}, " ".join(f"[{a}]" for a in ANIMALS[: 1 + i]), " ".join(f"[{a}]" for a in ANIMALS[: 1 + i]) + (" so", " [so it]", " []")[i % 3]),
    "detectable_format:bigram_wrapping": lambda i: ({}, " ".join(f"<<{a} ran>>" for a in ANIMALS[: 1 + i]), " ".join(f"<<{a} ran>>" for a in ANIMALS[: 1 + i]) + (" and so", " <<and so it>>")[i % 2]),
    "paragraphs:paragraphs": lambda i: ({}, f"{some(2 + i)}.\n***\n{some(3)}.", "\n***\n".join([some(2, i)] * (1 if i % 2 else 3))),
    "paragraphs:paragraphs2": lambda i: ({}, f"{some(2 + i)}.\n\n{some(3)}.", "\n\n".join([some(2, i)] * (1 if i % 2 else 3))),
    "keywords:word_once": lambda i: ({"keyword": ANIMALS[i]}, f"The {ANIMALS[i].title()} ran.", ("Nobody ran.", f"{ANIMALS[i]} and {ANIMALS[i]}")[i % 2]),
    "keywords:word_count_different_numbers": lambda i: ({"keyword": "zebu", "frequency": 1 + i % 4, "relation": ("at least", "less than")[i % 2]}, "zebu " * (1 + i % 4 - i % 2) + some(2, i), "zebu " * (i % 4 + i % 2) + some(2, i)),
    "keywords:exclude_word_harder": lambda i: ({"keyword": ANIMALS[i]}, f"con{ANIMALS[i]}enate {some(2, i + 1)}", f"The {ANIMALS[i].upper()}, too."),
    "keywords:no_adjacent_consecutive": lambda i: ({}, " ".join(some(3 + i).split()[::-1]), some(3 + i, i)),
    "keywords:palindrome": lambda i: ({}, f"A {PALINDROMES[i]} ran", f"A {PALINDROMES[i]}x ran"),
    "keywords:keyword_specific_position": lambda i: ({"keyword": "zebu", "n": 1 + i % 3, "m": 1 + i % 4}, placed(i, 5 * (i % 3) + i % 4), placed(i, (5 * (i % 3) + i % 4 + 5) % 15)),
    "keywords:start_end": lambda i: ({}, f"{ANIMALS[i].title()} {some(2, i + 1)} {ANIMALS[i]}", f"{ANIMALS[i].title()} {some(2 + i % 3, i + 1)}"),
    "letters:letter_counting": lambda i: ({"N": 3 + i, "relation": ("at least", "less than")[i % 2]}, "x1" * (3 + i - i % 2), "x 1" * (2 + i + i % 2)),
    "letters:letter_counting2": lambda i: ({"letter": "zqx"[i % 3], "let_frequency": 1 + i % 4, "let_relation": "at least"}, "zqx"[i % 3] * (1 + i % 4) + " so", "ZQX"[i % 3] * (i % 4) + " so"),
    "first_word:first_word_sent": lambda i: ({"first_word": "We"}, " ".join(f"We saw a {a}." for a in ANIMALS[: 1 + i]), " ".join(f"We saw a {a}." for a in ANIMALS[: 1 + i]) + " Then we slept."),
    "first_word:first_word_answer": lambda i: ({"first_word": ANIMALS[i]}, f"{ANIMALS[i].title()}, {some(2, i + 1)}", f"{ANIMALS[i]}s {some(2, i + 1)}"),
    "last_word:last_word_sent": lambda i: ({"last_word": "so"}, " ".join(f"The {a} said so." for a in ANIMALS[: 1 + i]), " ".join(f"The {a} said so." for a in ANIMALS[: 1 + i]) + " It also did."),
    "last_word:last_word_answer": lambda i: ({"last_word": ANIMALS[i]}, f"{some(2, i + 1)} {ANIMALS[i]}{('', '.', '!')[i % 3]}", f"{ANIMALS[i]} {some(2, i + 1)}"),
    "punctuation:punctuation_dot": lambda i: ({}, some(2 + i) + "!", some(2 + i) + (".", "…", "。", " 3.5")[i % 4]),
    "punctuation:punctuation_exclamation": lambda i: ({}, some(2 + i) + ".", some(2 + i) + ("!", "！", "?!")[i % 3]),
    "count:lowercase_counting": lambda i: ({"N": i}, some(i) + " " + some(3).upper(), some(i + 1) + " " + some(3).upper()),
    "count:counting_composition": lambda i: ({"n_sent": 1 + i % 3, "n_words": 2 + i % 4}, "\n***\n".join([counted(*[2 + i % 4] * (1 + i % 3))] * 3), "\n***\n".join([counted(*[2 + i % 4] * (1 + i % 3))] * (2 + 2 * (i % 2)))),
    "count:count_unique": lambda i: ({}, some(2 + i, i), some(2 + i, i) + f", {ANIMALS[i].title()}"),
    "count:count_increment_word": lambda i: ({"keyword1": ANIMALS[i], "keyword2": ANIMALS[i + 1]}, often(i, (1, 2)), often(i, ((1, 1), (2, 2), (1, 3), (0, 2))[i % 4])),
}  # fmt: skip

DRAWN = TEST | TRAINING
PAIRS = 10


def draw(kind: str, i: int) -> Pair:
    """Return the i-th pair of an instruction, from 0."""
    return DRAWN[kind](i)
