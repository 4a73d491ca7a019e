"""Generates word problems sentence by sentence, together with their worked solutions.

A story consists of an opening, some events and an ending, chosen at random. Every number in the solution is
the result of exact arithmetic on the numbers in the question, which guarantees a correct answer. `arithmetic`
decides which problems are for training and which are for testing.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Problem:
    """Question with a worked solution that ends with `#### ANSWER`."""

    template: str
    """Kinds of the sentences, in order. Two problems with the same template differ only in names, things and
    numbers."""
    numbers: tuple[int, ...]
    """Random numbers, in the order drawn. Prices with cents are given in cents."""
    question: str
    solution: str
    answer: str


@dataclass(frozen=True, slots=True)
class Level:
    """Length and difficulty of the stories at one level."""

    steps: tuple[int, int]
    """Minimum and maximum number of calculations in the solution."""
    largest: int
    """Largest count that a sentence may introduce."""
    parts: bool
    """True if fractions, percentages and prices with cents may occur."""


NAMES = (
    "Ada", "Ben", "Carla", "Dan", "Eva", "Finn", "Grace", "Hugo", "Iris", "Jack",
    "Kim", "Leo", "Mia", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tina", "Victor",
)  # fmt: skip
THINGS = (
    "stickers", "marbles", "coins", "stamps", "cards", "beads", "shells", "buttons", "badges", "magnets",
)  # fmt: skip
GOODS = (
    "notebooks", "pens", "apples", "candles", "mugs", "sandwiches", "plants", "puzzles", "scarves", "tickets",
)  # fmt: skip
_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": lambda value, percent: value * percent / 100,
}
_BILLS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def tell(rng: random.Random, level: Level) -> Problem:
    """Generate a random problem whose number of steps fits the level."""
    openings, events, endings = rng.choice(_FAMILIES)
    while True:
        story = _Story(rng, level)
        story.add(rng.choice(openings))
        wanted = rng.randint(*level.steps)
        for _ in range(wanted):
            if story.steps < wanted - 1:
                story.add(rng.choice(events))
        ended = story.add(rng.choice(endings))
        if ended and not story.awkward and level.steps[0] <= story.steps <= level.steps[1]:
            return story.problem()


def show(value: Fraction) -> str:
    """Format an exact number in decimal notation, such as `12`, `2.5` or `0.05`.

    Raises:
        ValueError: The number needs more than two decimals. Stories must avoid such numbers.
    """
    if value.denominator == 1:
        return str(value.numerator)
    hundredths = value * 100
    if hundredths.denominator != 1:
        raise ValueError(f"{value} cannot be written with two decimals")
    whole, rest = divmod(hundredths.numerator, 100)
    return f"{whole}.{rest:02d}".rstrip("0")


class _Story:
    """Problem under construction. `total` is the current number of things or dollars."""

    def __init__(self, rng: random.Random, level: Level) -> None:
        self.rng = rng
        self.level = level
        self.name = rng.choice(NAMES)
        self.friend = rng.choice([name for name in NAMES if name != self.name])
        self.things = rng.choice(THINGS)
        self.goods = list(GOODS)
        self.total = Fraction(0)
        self.steps = 0
        self.awkward = False
        self.template: list[str] = []
        self.numbers: list[int] = []
        self.said: list[str] = []
        self.worked: list[str] = []

    def add(self, sentence: Callable[[_Story], bool]) -> bool:
        """Add a sentence unless it does not fit or repeats the last kind. Return True if it was added."""
        kind = sentence.__name__.strip("_")
        if self.template and self.template[-1] == kind and kind != "line":
            return False
        if not sentence(self):
            return False
        self.template.append(kind)
        return True

    def pick(self, choices: Sequence[int]) -> int:
        """Draw a number and record it in `numbers`, which distinguishes problems with the same template."""
        number = self.rng.choice(choices)
        self.numbers.append(number)
        return number

    def count(self, largest: int | None = None) -> int:
        """Draw a count from 2 to the level's largest count or `largest`, whichever is smaller."""
        return self.pick(range(2, min(largest or self.level.largest, self.level.largest) + 1))

    def price(self, dollars: int) -> Fraction:
        """Draw a price of at most `dollars`, with cents if the level allows cents."""
        if self.level.parts:
            return Fraction(self.pick(range(25, dollars * 100 + 1, 25)), 100)
        return Fraction(self.pick(range(2, dollars + 1)))

    def work(self, sentence: str, left: Fraction | int, sign: str, right: Fraction | int) -> Fraction:
        """Add a sentence to the solution, replacing `{}` with `left sign right = value`. Return the value."""
        a, b = Fraction(left), Fraction(right)
        value = _OPERATORS[sign](a, b)
        shown = f"{show(a)}*{show(b)}/100" if sign == "%" else f"{show(a)}{sign}{show(b)}"
        self.worked.append(sentence.replace("{}", f"{shown} = {show(value)}"))
        self.steps += 1
        # `tell` drops stories with a value of 1, because the sentences would need a singular form.
        self.awkward = self.awkward or value == 1
        return value

    def problem(self) -> Problem:
        answer = show(self.total)
        return Problem(
            template=" ".join(self.template),
            numbers=tuple(self.numbers),
            question=" ".join(self.said),
            solution="\n".join([*self.worked, f"#### {answer}"]),
            answer=answer,
        )


def _dollars(value: Fraction) -> str:
    dollars, cents = divmod(int(value * 100), 100)
    return f"${dollars}.{cents:02d}" if cents else f"${dollars}"


def _divisors(total: Fraction, largest: int) -> list[int]:
    return [d for d in range(2, largest + 1) if total % d == 0 and total > d]


# These stories are about a collection and count one kind of thing.
# Each function adds a sentence and returns True.
# If the sentence does not fit, the function changes nothing and returns False.


def _collection(s: _Story) -> bool:
    s.total = Fraction(s.count())
    s.said.append(f"{s.name} has {s.total} {s.things}.")
    return True


def _buys(s: _Story) -> bool:
    more = s.count()
    s.said.append(f"{s.name} buys {more} more.")
    s.total = s.work(f"After buying {more} more, {s.name} has {{}} {s.things}.", s.total, "+", more)
    return True


def _packs(s: _Story) -> bool:
    packs, each = s.count(12), s.count(30)
    s.said.append(f"{s.name} buys {packs} packs of {each} {s.things} each.")
    new = s.work(f"The packs hold {{}} {s.things}.", packs, "*", each)
    s.total = s.work(f"With them {s.name} has {{}} {s.things}.", s.total, "+", new)
    return True


def _days(s: _Story) -> bool:
    each, days = s.count(20), s.count(10)
    s.said.append(f"{s.name} finds {each} more every day for {days} days.")
    new = s.work(f"In {days} days {s.name} finds {{}} {s.things}.", each, "*", days)
    s.total = s.work(f"Together with the others that is {{}} {s.things}.", s.total, "+", new)
    return True


def _gives(s: _Story) -> bool:
    if s.total < 4:
        return False
    given = s.count(int(s.total) - 1)
    s.said.append(f"{s.name} gives {given} {s.things} to {s.friend}.")
    s.total = s.work(f"After the gift to {s.friend}, {s.name} has {{}} {s.things} left.", s.total, "-", given)
    return True


def _gives_each(s: _Story) -> bool:
    if s.total < 8:
        return False
    friends = s.count(min(9, int(s.total) // 3))
    each = s.count(int(s.total - 1) // friends)
    s.said.append(f"{s.name} gives {each} {s.things} to each of {friends} friends.")
    given = s.work(f"{s.name} gives away {{}} {s.things}.", friends, "*", each)
    s.total = s.work("That leaves {} " + s.things + ".", s.total, "-", given)
    return True


def _multiplies(s: _Story) -> bool:
    if s.total > 5 * s.level.largest:
        return False
    times = s.pick((2, 3, 4))
    word = {2: "doubles", 3: "triples", 4: "quadruples"}[times]
    s.said.append(f"Over the next year {s.name} {word} the number of {s.things}.")
    s.total = s.work(f"The collection then holds {{}} {s.things}.", s.total, "*", times)
    return True


def _loses_fraction(s: _Story) -> bool:
    bottoms = _divisors(s.total, 10 if s.level.parts else 4)
    if not bottoms:
        return False
    bottom = s.pick(bottoms)
    top = s.pick(range(1, bottom)) if s.level.parts else 1
    s.said.append(f"{s.name} loses {top}/{bottom} of the {s.things}.")
    lost = s.work(f"1/{bottom} of the {s.things} is {{}}.", s.total, "/", bottom)
    if top > 1:
        lost = s.work(f"So {s.name} loses {{}} {s.things}.", lost, "*", top)
    s.total = s.work(f"{s.name} still has {{}} {s.things}.", s.total, "-", lost)
    return True


def _sells_percent(s: _Story) -> bool:
    percents = [p for p in range(5, 100, 5) if s.total * p % 100 == 0]
    if not s.level.parts or not percents:
        return False
    percent = s.pick(percents)
    s.said.append(f"{s.name} swaps away {percent}% of the {s.things}.")
    gone = s.work(f"{percent}% of the {s.things} is {{}}.", s.total, "%", percent)
    s.total = s.work(f"After the swap {s.name} has {{}} {s.things}.", s.total, "-", gone)
    return True


def _how_many(s: _Story) -> bool:
    s.said.append(f"How many {s.things} does {s.name} have now?")
    return True


def _share(s: _Story) -> bool:
    shares = _divisors(s.total, 12)
    if not shares:
        return False
    people = s.pick(shares)
    s.said.append(f"{s.name} then puts all the {s.things} into {people} equal boxes.")
    s.said.append(f"How many {s.things} are in each box?")
    s.total = s.work(f"Each box holds {{}} {s.things}.", s.total, "/", people)
    return True


def _sell(s: _Story) -> bool:
    price = s.price(5)
    s.said.append(f"{s.name} sells all of them for {_dollars(price)} each.")
    s.said.append(f"How many dollars does {s.name} get?")
    s.total = s.work(f"{s.name} gets {{}} dollars.", s.total, "*", price)
    return True


def _goal(s: _Story) -> bool:
    goal = s.total + s.count()
    s.said.append(f"How many more {s.things} does {s.name} need to have {goal}?")
    s.total = s.work(f"{s.name} needs {{}} more {s.things}.", goal, "-", s.total)
    return True


# Stories about a purchase, which count the dollars to pay.


def _line(s: _Story) -> bool:
    if len(s.goods) < 6:
        return False
    good = s.goods.pop(s.rng.randrange(len(s.goods)))
    number = s.count(15)
    price = s.price(12)
    start = s.name if not s.said else f"Then {s.name}"
    s.said.append(f"{start} buys {number} {good} at {_dollars(price)} each.")
    cost = s.work(f"The {good} cost {{}} dollars.", number, "*", price)
    s.total = s.work("That makes {} dollars so far.", s.total, "+", cost) if s.total else cost
    return True


def _delivery(s: _Story) -> bool:
    fee = s.count(15)
    s.said.append(f"Delivery costs ${fee}.")
    s.total = s.work("With delivery it is {} dollars.", s.total, "+", fee)
    return True


def _coupon(s: _Story) -> bool:
    if s.total < 5:
        return False
    off = s.count(int(s.total) - 2)
    s.said.append(f"A coupon takes ${off} off.")
    s.total = s.work("The coupon brings it down to {} dollars.", s.total, "-", off)
    return True


def _discount(s: _Story) -> bool:
    percents = [p for p in (5, 10, 15, 20, 25, 30, 40, 50) if (s.total * p).denominator == 1]
    if not s.level.parts or not percents:
        return False
    percent = s.pick(percents)
    s.said.append(f"The shop takes {percent}% off the price so far.")
    off = s.work(f"{percent}% off is {{}} dollars.", s.total, "%", percent)
    s.total = s.work("So the price is {} dollars.", s.total, "-", off)
    return True


def _to_pay(s: _Story) -> bool:
    s.said.append(f"How many dollars does {s.name} pay in total?")
    return True


def _change(s: _Story) -> bool:
    enough = [bill for bill in _BILLS if bill > s.total][:3]
    if not enough:
        return False
    paid = s.pick(enough)
    s.said.append(f"{s.name} pays with ${paid}. How many dollars of change does {s.name} get back?")
    s.total = s.work("The change is {} dollars.", paid, "-", s.total)
    return True


def _split_bill(s: _Story) -> bool:
    ways = [d for d in range(2, 9) if (s.total * 100 / d).denominator == 1 and s.total > d]
    if not ways or (not s.level.parts and not _divisors(s.total, 8)):
        return False
    people = s.pick(ways if s.level.parts else _divisors(s.total, 8))
    s.said.append(f"{people} people share the cost equally. How many dollars does each of them pay?")
    s.total = s.work("Each person pays {} dollars.", s.total, "/", people)
    return True


# Stories about a job, which count the dollars earned.


def _job(s: _Story) -> bool:
    pay = s.price(30)
    hours = s.count(9)
    days = s.count(6)
    s.said.append(f"{s.name} earns {_dollars(pay)} an hour and works {hours} hours a day for {days} days.")
    day = s.work(f"In a day {s.name} earns {{}} dollars.", hours, "*", pay)
    s.total = s.work(f"In {days} days that is {{}} dollars.", day, "*", days)
    return True


def _shift(s: _Story) -> bool:
    pay = s.price(30)
    hours = s.count(12)
    s.said.append(f"{s.name} earns {_dollars(pay)} an hour and works for {hours} hours.")
    s.total = s.work(f"For the work {s.name} gets {{}} dollars.", hours, "*", pay)
    return True


def _bonus(s: _Story) -> bool:
    bonus = s.count()
    s.said.append(f"{s.name} gets a bonus of ${bonus}.")
    s.total = s.work("With the bonus it is {} dollars.", s.total, "+", bonus)
    return True


def _lawns(s: _Story) -> bool:
    lawns = s.count(8)
    each = s.price(20)
    s.said.append(f"{s.name} also mows {lawns} lawns for {_dollars(each)} each.")
    extra = s.work("The lawns bring {} dollars.", lawns, "*", each)
    s.total = s.work("Added to the rest that is {} dollars.", s.total, "+", extra)
    return True


def _spends(s: _Story) -> bool:
    if s.total < 5:
        return False
    spent = s.count(int(s.total) - 2)
    s.said.append(f"{s.name} spends ${spent} on food.")
    s.total = s.work(f"After paying for food {s.name} has {{}} dollars.", s.total, "-", spent)
    return True


def _tax(s: _Story) -> bool:
    percents = [p for p in (5, 10, 15, 20, 25, 30) if (s.total * p).denominator == 1]
    if not s.level.parts or not percents:
        return False
    percent = s.pick(percents)
    s.said.append(f"{percent}% of the money so far goes to tax.")
    tax = s.work("The tax is {} dollars.", s.total, "%", percent)
    s.total = s.work("After tax there are {} dollars.", s.total, "-", tax)
    return True


def _has_left(s: _Story) -> bool:
    s.said.append(f"How many dollars does {s.name} have in the end?")
    return True


def _saves(s: _Story) -> bool:
    price = s.total + s.count()
    s.said.append(f"How many more dollars does {s.name} need for a bicycle that costs {_dollars(price)}?")
    s.total = s.work(f"{s.name} needs {{}} more dollars.", price, "-", s.total)
    return True


_Sentence = Callable[[_Story], bool]
_FAMILIES: tuple[tuple[tuple[_Sentence, ...], ...], ...] = (
    (
        (_collection,),
        (_buys, _packs, _days, _gives, _gives_each, _multiplies, _loses_fraction, _sells_percent),
        (_how_many, _share, _sell, _goal),
    ),
    ((_line,), (_line, _line, _delivery, _coupon, _discount), (_to_pay, _change, _split_bill)),
    ((_job, _shift), (_bonus, _lawns, _spends, _tax), (_has_left, _saves)),
)
"""Families of stories, each with its openings, events and endings."""
