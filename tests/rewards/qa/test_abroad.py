"""Sentences of other languages that answer a question in English, and those that leave it open."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, qa
from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.types import Sample

QUESTION = "What is the largest city of Turkey?"
ANSWERED = [
    "Die größte Stadt der Türkei ist Istanbul.", "La plus grande ville de Turquie est Istanbul.", "La ciudad más grande de Turquía es **Istanbul**.",
    "A maior cidade da Turquia é Istanbul.", "La città più grande della Turchia è Istanbul.", "Największym miastem Turcji jest Istanbul.",
    "Kota terbesar di Turki adalah Istanbul.", "Thành phố lớn nhất là Istanbul.", "土耳其最大的城市是Istanbul。", "土耳其最大的城市为Istanbul", "最大的城市是伊斯坦布尔（Istanbul）。",
    "トルコ最大の都市はIstanbulです。", "터키에서 가장 큰 도시는 Istanbul입니다.", "Самый большой город Турции — Istanbul.", "Крупнейшим городом является Istanbul.",
    "तुर्की का सबसे बड़ा शहर Istanbul है।", "أكبر مدينة في تركيا هي Istanbul.", "Es ist Istanbul.", "Se trata de Istanbul.", "Это Istanbul.", "Nicht Ankara, sondern Istanbul.", "【答案】Istanbul",
]  # fmt: skip
OPEN = [
    "Die größte Stadt ist nicht Istanbul.", "Die zweitgrößte Stadt der Türkei ist Istanbul.", "Viele denken, die größte Stadt ist Istanbul.", "Die größte Stadt ist Istanbul oder Ankara.",
    "Vielleicht ist die größte Stadt Istanbul.", "La plus grande ville est peut-être Istanbul.", "La plus grande ville n'est pas Istanbul.", "Certains pensent que c'est Istanbul.",
    "La ciudad más grande no es Istanbul.", "La ciudad más grande es Istanbul o Ankara.", "¿La ciudad más grande es Istanbul?", "A maior cidade não é Istanbul.",
    "Największym miastem nie jest Istanbul.", "Kota terbesar bukan Istanbul.", "最大的城市不是Istanbul。", "最大的城市可能是Istanbul。", "很多人以为最大的城市是Istanbul。", "最大的城市是Istanbul吗？",
    "最大の都市はIstanbulではありません。", "가장 큰 도시는 Istanbul이 아닙니다.", "Самый большой город — не Istanbul.", "Возможно, крупнейшим городом является Istanbul.",
    "सबसे बड़ा शहर Istanbul नहीं है।", "सबसे बड़ा शहर Istanbul या Ankara है।", "شاید Istanbul", "أكبر مدينة ليست Istanbul.", "أكبر مدينة هي Istanbul أو Ankara.",
    "Die größte Stadt der Türkei war früher Istanbul.", "Die falsche Antwort zur Türkei ist Istanbul.", "Une erreur sur la Turquie est Istanbul.", "Un ejemplo de Turquía es Istanbul.",
    "La mauvaise réponse est Istanbul.", "错误答案是Istanbul。", "干扰项是Istanbul。", "有人说最大的城市是Istanbul。", "Частая ошибка — Istanbul.", "الإجابة الخاطئة هي Istanbul.",
    "Istanbul ist eine Stadt in der Türkei.", "Istanbul ist nicht die größte Stadt der Türkei.", "Die größte Stadt ist Ankara, nicht Istanbul.", "Die größte Stadt ist Istanbul. Nein, Ankara.",
    "Wenn die größte Stadt Istanbul ist, dann ja.", "Es Ankara, no Istanbul.",
]  # fmt: skip
AUTHOR = "Who wrote the novel War and Peace?"
NOT_WRITTEN = [
    "Krieg und Frieden wurde nicht von Leo Tolstoy geschrieben.",
    "Guerra y paz no fue escrita por Leo Tolstoy.",
    "Роман не написал Leo Tolstoy.",
]
NAMED_FIRST = [
    "Canberra ist die Hauptstadt Australiens.",
    "Canberra est la capitale de l'Australie.",
    "Canberra es la capital de Australia.",
    "Canberra è la capitale dell'Australia.",
]
NAMED_OTHERWISE = [
    "Canberra ist die Hauptstadt der Provinz.",
    "Canberra n'est pas la capitale de l'Australie.",
    "Canberra es la segunda ciudad de Australia.",
    "Canberra ist die falsche Antwort zu Australien.",
]
NOT_CHOSEN = [
    "सही उत्तर B नहीं है।",
    "الإجابة ليست B",
    "الجواب ليس B.",
    "Example answer: B",
    "Sample answer: B",
    "Placeholder answer: B",
]


@pytest.mark.parametrize("said", ANSWERED)
def test_a_sentence_of_another_language_whose_verb_takes_the_answer_gives_it(said: str) -> None:
    assert _answers(said, QUESTION, "Istanbul")


@pytest.mark.parametrize("said", OPEN)
def test_a_sentence_of_another_language_that_denies_doubts_or_asks_gives_none(said: str) -> None:
    assert not _answers(said, QUESTION, "Istanbul")


@pytest.mark.parametrize("said", NOT_WRITTEN)
def test_who_did_not_do_it_is_no_answer_in_other_languages(said: str) -> None:
    assert not _answers(said, AUTHOR, "Leo Tolstoy")


@pytest.mark.parametrize("said", NAMED_FIRST)
def test_an_answer_may_come_first_where_the_rest_speaks_of_what_is_asked(said: str) -> None:
    assert _answers(said, "What is the capital of Australia?", "Canberra")


@pytest.mark.parametrize("said", NAMED_OTHERWISE)
def test_an_answer_that_comes_first_in_what_speaks_of_something_else_is_none(said: str) -> None:
    assert not _answers(said, "What is the capital of Australia?", "Canberra")


@pytest.mark.parametrize("said", NOT_CHOSEN)
def test_an_option_that_other_languages_deny_or_an_example_names_is_not_chosen(said: str) -> None:
    sample = Sample("choice", said, "B", None, {"choices": ["Paris", "Lyon", "Nice"]})
    assert not choice.score(sample, ChoiceOptions()).correct


def _answers(response: str, question: str, truth: str) -> bool:
    return qa.score(Sample("qa", response, f'["{truth}"]', question), QaOptions()).correct is True
