"""The unit in which a question asks for a number: how it is written, and whether an answer has another.

Which words are units is in `rewards/math`; here is what a question and an answer say of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache

from rewardkit.rewards.math.comparing.units import read
from rewardkit.rewards.math.reading.words import UNITS
from rewardkit.rewards.reading.asked_kind import of_other_kind

Meaning = tuple[tuple[tuple[str, int], ...], Fraction]
"""Dimensions with their powers, and the factor to their base units."""

_ASKED = re.compile(
    r"\b(?:how many|in)\s(?:degrees\s)?(?P<unit>(?:square\s|cubic\s)?(?:[a-z]{3,}s|feet|celsius|fahrenheit)"
    r"(?:\sper\s[a-z]+|/[a-z]+)?|(?:km/h|kph|mph|m/s|km|cm|mm|kg|mg|ml|ft|km²|m²|m³"
    r"|°\s?[CF])(?=[?.,)\s]|$))(?!\w)",
    re.IGNORECASE,
)
_COMPOUND = ("km/h", "kph", "mph", "m/s")
_SPEEDS = {
    "km/h": "kilometers per hour;kilometres per hour;kilometers an hour;kilometres an hour;km per hour"
    ";km/hr;kmh;kmph"
    ";Kilometer pro Stunde;Stundenkilometer;kilómetros por hora;kilomètres par heure;kilomètres à l'heure"
    ";quilômetros por hora;chilometri all'ora;chilometri orari;kilometer per uur;км/ч;километров в час"
    ";公里/小时;公里每小时"
    ";千米每小时;キロメートル毎時",
    "mph": "miles per hour;miles an hour;mi/h;Meilen pro Stunde;millas por hora;миль в час",
    "m/s": "meters per second;metres per second;meters a second;metres a second;m per second;m/sec"
    ";Meter pro Sekunde"
    ";metros por segundo;mètres par seconde;м/с;метров в секунду;米/秒;米每秒",
}
_ABROAD = {
    "km": "Kilometer;kilómetros;kilomètres;quilômetros;chilometri;километров;км;公里;キロメートル;킬로미터",
    "m": "Meter;metros;mètres;metri;метров;м;米;メートル;미터",
    "cm": "Zentimeter;centímetros;centimètres;centimetri;сантиметров;см;厘米;センチメートル;센티미터",
    "kg": "Kilogramm;kilogramos;kilogrammes;quilogramas;chilogrammi;килограммов;кг;公斤;千克"
    ";キログラム;킬로그램",
    "g": "Gramm;gramos;grammes;grammi;граммов;г;克;グラム;그램",
    "l": "Liter;litros;litres;litri;литров;л;升;リットル;리터",
    "mile": "Meilen;millas;milles;miglia;миль;英里;マイル;마일",
    "minute": "Minuten;minutos;minuti;минут;分钟;분",
    "hour": "Stunden;horas;heures;ore;часов;小时;時間;시간",
    "second": "Sekunden;segundos;secondes;secondi;секунд;秒;초",
    "day": "Tage;días;jours;dias;giorni;дней;天;日;일",
    "celsius": "Grad Celsius;grados Celsius;degrés Celsius;graus Celsius;gradi Celsius;градусов"
    " Цельсия;摄氏度;도;centigrade"
    ";degrees centigrade",
}
"""What units are called elsewhere, beside numbers that the question wants in them."""
_NUMBER = r"-?\d[\d,]*(?:\.\d+)?"
_MEASURE = re.compile(
    rf"(?<![\w.,-])(?P<number>{_NUMBER})\s?(?:degrees?\s)?"
    r"(?P<unit>°\s?[CF]\b|(?:(?:square|cubic|sq|cu)\s)?[^\W\d_]{1,20}(?:[²³]|\^[23])?(?:(?:/"
    r"|\sper\s)[^\W\d_]{1,20})?)"
)
_RATE = re.compile(r"\s?(?:per\b|/)")
_NO_UNITS = frozenset(("in",))
"""Units that are words of grammar as well."""
_CIRCLE = re.compile(r"\s?\^?\{?\\(?:circ|degree)\}?\s?")
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s?\{([^{}]*)\}|\\[ ,;:!]|~")


def without_asked_unit(text: str, question: str) -> str | None:
    """Return the number of a text that has the unit that is asked for, such as `100 °C`; else None."""
    unit = _asked(question)
    found = _MEASURE.fullmatch(_plain(text).strip(" .*_`$")) if unit else None
    return found["number"] if found and _meaning(found["unit"]) == unit else None


def in_other_unit(text: str, accepted: tuple[str, ...], question: str) -> bool:
    """Return whether a text gives an accepted number in another unit than the question asks for."""
    if of_other_kind(text, accepted, question):
        return True
    unit = _asked(question)
    if unit is None:
        return False
    right = {_value(answer) for answer in accepted if re.fullmatch(_NUMBER, answer)}
    plain = _plain(text)
    found = [m for m in _MEASURE.finditer(plain) if _value(m["number"]) in right]
    return any(_RATE.match(plain, m.end()) or not _may_be(m["unit"], unit, question) for m in found)


def with_asked_unit(text: str, question: str) -> Iterator[str]:
    """Yield the ways to write a number in the unit that is asked for, or in the one that it has."""
    measured = _MEASURE.fullmatch(text)
    unit = _meaning(measured["unit"]) if measured else _asked(question)
    number = measured["number"] if measured else text
    if unit is None or not re.fullmatch(_NUMBER, number):
        return
    for name in _names()[unit]:
        yield f"{number} {name}"
        yield f"{number}{name}"


def _may_be(written: str, asked: Meaning, question: str) -> bool:
    """Whether words after a number are the unit that is asked for, or none; `per day` may be given."""
    if _meaning(written) in (None, asked):
        return True
    head, per, of = written.partition(" per ")
    return bool(per) and f"per {of}" in question and _meaning(head) == asked


def _value(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _plain(text: str) -> str:
    return text if "\\" not in text else _LATEX.sub(lambda m: m[1] or " ", _CIRCLE.sub("°", text))


@lru_cache(maxsize=16_384)
def _asked(question: str) -> Meaning | None:
    return next(filter(None, (_meaning(found["unit"]) for found in _ASKED.finditer(question))), None)


def _meaning(unit: str) -> Meaning | None:
    if unit in _NO_UNITS:
        return None
    known = read(unit.replace("° ", "°").replace("metre", "meter").replace("litre", "liter"))
    return None if known.dimensions is None else (known.dimensions, known.factor)


@cache
def _names() -> defaultdict[Meaning, list[str]]:
    """What each unit is called, in short and in full, with its powers."""
    found: defaultdict[Meaning, list[str]] = defaultdict(list)
    lengths = [name for name, (dimension, _) in UNITS.items() if dimension == "length"]
    signs = ("{}²", "{}^2", "sq {}", "{}³", "{}^3")
    powers = [sign.format(name) for name in lengths for sign in signs]
    british = [re.sub("(met|lit)er", r"\1re", name) for name in UNITS if "meter" in name or "liter" in name]
    for name in (*UNITS, *british, *powers, *_COMPOUND):
        if (meaning := _meaning(name)) is not None:
            found[meaning].append(name)
    for name, sign in (("celsius", "C"), ("fahrenheit", "F")):
        if (meaning := _meaning(name)) is not None:
            found[meaning] += [f"° {sign}", f"degrees {sign}", f"degrees {name}"]
    for names in (_SPEEDS, _ABROAD):
        for name, others in names.items():
            if (meaning := _meaning(name)) is not None:
                found[meaning] += others.split(";")
    return found
