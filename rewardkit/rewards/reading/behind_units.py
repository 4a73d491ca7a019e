"""Whether what stands behind a number and its unit takes it back or changes it: "5 cm is wrong", "5 apples?".

What stands right behind a number is for `denials` and `counted`; here the unit is passed over first.
"""

from __future__ import annotations

import re

from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.denials import taken_back

_UNIT_WORD = re.compile(
    r"(?:[ \t{}$~^23²³]|\\[,;! ]|\\(?:text|mathrm|mbox)\w{0,2}(?=\s?\{)|(?<=\w)\n){0,6}"
    r"(?P<word>[^\W\d_]{1,20})[}$]{0,3}(?!['’\w])"
)
_NO_UNIT = table(
    "a an the this that these those it he she they we you i is are was were be been has have had do does did "
    "can will would should could may might must as at by for from in into of on over per to with and or but "
    "nor not so then thus hence therefore because since while if when where which who what than let note "
    "also here there"
)
"""Words with which a clause goes on: no unit, and what follows them is said of something else."""
_CHANGED = re.compile(
    r"\s{0,3}and\s{1,3}(?:a|one|two|three)\s{1,3}(?:half|halves|third|quarter|fourth|fifth|eighth|tenth)s?\b"
    r"|\s{0,3}or\s{1,3}(?:more|less|fewer|higher|lower)\b(?!\s{1,3}(?:generally|precisely|exactly|simply))",
    re.IGNORECASE,
)
_POWER = re.compile(r"\s{0,3}(?:squared|cubed)\b", re.IGNORECASE)
_LENGTHS = table(
    "mm cm dm m km in inch inches ft foot feet yd yard yards mile miles meter meters metre metres "
    "centimeters centimetres kilometers kilometres millimeters millimetres unit units"
)
_WORDS = 2
_SHORTEST = 4
"""Characters of a unit and what takes it back, "m no"; most responses end with their answer."""


def taken_back_behind_unit(text: str, position: int) -> bool:
    """Return True where what follows a number, or a unit of two words, takes it back or changes it."""
    if taken_back(text, position):
        return True
    if len(text) - position < _SHORTEST:
        return False
    if _CHANGED.match(text, position):
        return True
    for place in range(_WORDS):
        found = _UNIT_WORD.match(text, position)
        if found is None or found["word"].casefold() in _NO_UNIT:
            return False
        position = found.end()
        squared = _POWER.match(text, position) and not (place == 0 and found["word"] in _LENGTHS)
        if squared or taken_back(text, position) or _CHANGED.match(text, position):
            return True
    return False
