"""Words that may follow a number without changing its value: names and descriptions of the things counted.

The words are an allow-list. "72 apples" and "72 miles in all" mean 72. "72 squared", "72 and a half", "72 was
ruled out" and phrases with an unknown word mean something else. `units` has the units of measure that can
be converted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise


def table(names: str) -> frozenset[str]:
    """Return the words in a string. Tables are easier to read and edit as running text."""
    return frozenset(names.split())


_NOUNS = table(
    "acorns acres adults airplanes albums aliens alligators alpacas animals antacids ants apartments "
    "appetizers apples apps aprons aquariums arms arrangements artichokes articles artworks athletes "
    "attendees aunts avocados awards babies backpacks badges bagels baggies bags baguettes bales balloons "
    "balls bananas bandages bands barrels bars baseballs basketballs baskets batches bathrooms baths "
    "batteries beads beakers beans bears bedbugs bedrooms beds bees beetles beignets belts benches berries "
    "bicycles bikes billboards bills binders birds biscuits blackbirds blankets blisters blocks blouses "
    "blueberries boards boats bolts bones bonnets books bottlecaps bottles bouquets bowls boxes boys "
    "bracelets braids branches bricks brochures brothers brownies bubbles buckets bugs builders buildings "
    "bulbs bunches bundles bunnies burgers burritos buses bushels bushes businesses butterflies buttons "
    "buyers cabinets cages cakes calls calories camels campers candidates candies candles canes cans "
    "cantaloupes caps capsules caramels cardinals cards carnations carpets carriages carrots cars cartons "
    "cases caterpillars cats centimeters cents chairs channels chapters characters charges cheerleaders "
    "cheesecakes chefs cherries chessboards chests chickens chicks chihuahuas children chimes chimichangas "
    "chips chocolates choices chores circles citations cities clarinets classes classmates classrooms claws "
    "clerks clients clothes clotheslines clouds clovers cloves clowns clusters coaches coals coats coconuts "
    "coffees coins colors columns combinations comics committees computers cones consonants contacts "
    "containers cookies copies corns countries coupons courses cows crabs crackers crafts cranberries "
    "craters crates crayons crickets croissants crops croutons crows cubes cucumbers cupcakes cups curlers "
    "customers cuttlebones cycles daisies daughters days decimeters decks decorations deer degrees "
    "delegates deliveries desks desserts devices diagonals diapers diaries dice digits dimes dinners dishes "
    "divisors doctors dogs dollars dolls dolphins donations donuts doors doses dots doughnuts dragons "
    "drawings dreams dresses drinkets drinks drummers drums ducklings ducks dumplings dvds earrings ears "
    "edges eggplants eggs elements elephants elves emails employees envelopes episodes erasers euros eyes "
    "faces factors fairies families farmhands farthings feedings feet fences ferns figurines files filets "
    "fingers firecrackers fireworks fish fishes flags flashlights flats flavors fleas flies flights flips "
    "floors flowers flutes flyers folders foldings followers footballs footprints forks forms foxes friends "
    "fries frogs fronds fruits functions gadgets galleries gallons games geckos geese gems gemstones "
    "geraniums gifts gigabytes gingerbreads giraffes girls glass glasses gnomes goals goats grades grains "
    "grams grapes groups guests guides guitars gumballs guns guppies gusts haircuts hairs halls hamburgers "
    "hamsters hands handshakes hats heads hearts hectares helicopters helmets hens highlighters hikes hives "
    "holes homes hoodies horses horseshoes hotdogs hours households houses hushpuppies inches individuals "
    "inhabitants insects instructions instruments integers intersections iphones ipods islands items "
    "jackets jars jeans jellybeans jerseys jewels joggers jokes jugs juices jumps junebugs juniors "
    "kangaroos kernels keys kids kilobytes kilograms kilometers kindergartners kinds kittens knives ladders "
    "ladybugs lambs lamps laps laptops lattes lawns layers leaves legos legs lemons leopards lessons "
    "letters levels licks lightbulbs lighters lilies limes lines links lions liters lizards llamas loads "
    "loaves logs lollipops losses lugs lunches macarons macaroons machines magazines maggots magnets "
    "managers mangoes mangos marbles marigolds markers marks marshmallows masks matchboxes matches "
    "matchsticks matrices meals meatballs medals medications megabytes melons members memos men messages "
    "meters metres mice microphones miles milkshakes milliliters millimeters millipedes minks minnows "
    "minutes mirrors models monitors monkeys monsters months motorcycles mountains movies muffins mushrooms "
    "nails napkins necklaces neighbors nephews newspapers nickels nights nodes notebooks notes nougats "
    "novels numbers nurses nuts objects officers offices ohms olives omelets onions options oranges "
    "orchards orchids orcs orders oreos ounces outcomes outfits oysters packages packets packs pages pails "
    "paintings pairs palindromes pallets pamphlets pancakes pandas panels pans pants papayas paperclips "
    "papers paragraphs parents parrots parsnips participants parts passengers pastries patches patients "
    "patrons paws peaches peanuts pearls pears pebbles pencils penguins pens people peppers periods "
    "permutations persons petals pets petunias phones photographs photos phrases pianists pickles pictures "
    "pieces pies pigeons piglets pigs piles pills pineapples pinecones pines pins pints pixels pizzas "
    "places planks plants plates players playlists plums pockets pods pointers points pollywogs polynomials "
    "pomegranates poodles popsicles portions possibilities postcards posters posts potatoes pots pouches "
    "pounds presents pretzels problems pumpkins pumps pupils puppies pups pushups puzzles quadruples quarts "
    "questions quilts quizzes rabbits racers racquets raisins raspberries rats rectangles reflections "
    "regions reports representations representatives reps residents restaurants revolutions rhinestones "
    "rhinos riddles rides ridges rings robins robots rocks rolls roommates rooms roosters roots roses "
    "rotations rounds rows rungs sacks sales sandcastles sandwiches saplings sapphires sausages savings "
    "scarves schools scissors scoops screws seagulls seashells seasons seats seconds sections seedlings "
    "seeds segments semesters seniors sentences sequences sequins servings sessions shares sharks sheep "
    "sheets shells shelves shirts shoes shorts shots siblings sides signatures singers sisters sites situps "
    "skeletons skirts sleeves slices slots smartphones smores snacks snails snakes snapdragons snickers "
    "snowballs snowflakes soaps socks sodas sofas soldiers solutions songs sonnets sons spaces sparklers "
    "spears spiders spokes spools spoons sports spots squares squirrels stacks stairs stamps stanzas "
    "starbursts stars stations statues steaks stems steps stickers sticks stingrays stitches stoplights "
    "stores stories strands strawberries straws streetlights streets strings stripes strokes students "
    "stuffies subjects subscribers subscriptions subsets suckers suitcases suits sunflowers surfers surveys "
    "swans sweaters sweets tables tablespoons tabs tacks tadpoles tails tangerines tanks taps tarantulas "
    "tasks tattoos teachers teacups teams teaspoons teddies teenagers teeth televisions tents terms "
    "terriers teslas tests texts tickets ticks tigers tiles tires tissues toads toddlers toenails toes "
    "tokens tomatoes tonnes tons tools toothbrushes toothpicks toppings tosses touchdowns tourists towels "
    "towers toys tractors trains trays treats trees triangles triplets trips trolls trophies truckloads "
    "trucks trumpets tubes tubs tulips turkeys turns turtles twigs types unicorns units vacations vaccines "
    "values vampires vans vectors vegetables vehicles vents vertices vibrations videos visitors visits "
    "vlogs volunteers voters votes vowels waiters walls walnuts wands washers washes watermelons watts ways "
    "weasels websites weeds weekdays weeks whales wheels whiskers whistlers widgets wigs windows wings wins "
    "women words workers worms yards years yogurts zebras zeros"
)
"""Plurals of countable nouns that follow numbers in GSM8K and MATH."""
_MASS = table(
    "person money change profit revenue income cash rent tax debt savings interest gold silver milk water "
    "juice coffee tea lemonade flour sugar butter rice corn wheat bread cheese meat beef pork fish fruit "
    "candy chocolate paper wood fabric cloth yarn ribbon rope wire string fence land area perimeter volume "
    "length width height distance speed weight mass age time work homework fuel gasoline sand soil dirt "
    "gravel cement food popcorn pizza cake pie grass hair ice soup cereal pasta soda soap paint glue clay "
    "metal rubber cotton leather wool plastic concrete laundry furniture luggage mail jewelry equipment "
    "population point unit way piece item"
)
_MEASURES = table(
    "mm cm dm m km in ft yd mi inch foot yard mile meter metre kilometer centimeter millimeter g kg mg lb "
    "lbs oz gram kilogram pound ounce ton l ml liter litre gallon quart pint cup gal s sec second min "
    "minute h hr hrs hour day week month year yr decade decades century centuries mph kph kmh usd dollar "
    "buck bucks cent euro yen rupees yuan degree square sq cubic am pm kcal calorie watt kwh gb mb tb acre "
    "hectare"
)
_QUALITIES = table(
    "red blue green yellow black white brown pink purple orange silver golden grey gray colored big small "
    "large tall long wide deep high old new young fresh ripe rotten raw sweet hot cold warm dry wet adult "
    "male female human good fine whole broken unbroken extra additional available unsold unused used sold "
    "leftover remaining total different distinct distinguishable identical equal complete complex real "
    "positive nonnegative ordered consecutive daily weekly monthly yearly annual full-time part-time paid "
    "free plastic wooden cardboard guinea hermit french granola gummy possible valid unique single regular "
    "normal average individual indoor outdoor local senior junior"
)
_LINKS = table(
    "in of per a an the for each every any all and altogether overall together total are is were was has "
    "have had there he she they it we his her their its by with this that these those old combined once "
    "exactly only"
)
"""Words that connect a noun with a group or period and have no other meaning."""
_CIRCUMSTANCES = table(
    "on at from to now during before after long apart away ago today tonight tomorrow yesterday monday "
    "tuesday wednesday thursday friday saturday sunday morning afternoon evening night later left "
    "remaining available needed required sold bought made left-over get gets make need needs earn earns "
    "spend spends sell sells buy buys pay pays eat eats read reads cost costs run runs walk walks drive "
    "drives spent earned hence earlier previously"
)
"""Words of time, place or purpose. An answer may omit them, but not replace one with another."""
_SIDES = {
    **dict.fromkeys(("later", "after", "hence"), "later"),
    **dict.fromkeys(("ago", "before", "earlier", "previously"), "ago"),
}
"""Words for the time after and before another time."""
_MULTIPLYING = table("times time")
"""Words that count occurrences at the end of a phrase or before a period of time ("5 times a week").
Elsewhere, they multiply."""
_PERIODS = table("a an per each every in daily weekly total altogether over")
_POLITE = table("thanks thank you cheers enjoy hope helps")
_UNFINISHED = table("square sq cubic")
SCALES = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "hundreds": 10**2, "thousands": 10**3, "millions": 10**6, "billions": 10**9, "trillions": 10**12,
}  # fmt: skip
"""Factors for words that multiply the number before them."""
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_MAX_WORDS = 12


def _singular(noun: str) -> str:
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    if noun.endswith(("ches", "shes", "xes", "sses", "oes")):
        return noun[:-2]
    return noun.removesuffix("s")


_SINGULARS = frozenset(map(_singular, _NOUNS)) - table("root cube square short factor")
_NAMES = _NOUNS | _SINGULARS | _MASS | _MEASURES
_HARMLESS = _NAMES | _QUALITIES | _LINKS | _CIRCUMSTANCES | _POLITE | _MULTIPLYING


MILLIONS = frozenset("MGTB")
"""Capital letters that multiply a number. The lower-case m, g and t are metres, grams and tons."""


@lru_cache(maxsize=4_096)
def harmless(phrase: str) -> bool:
    """Return True if the words after a number do not change its value: all are known and none multiplies."""
    found: list[str] = _WORD.findall(phrase)
    if not MILLIONS.isdisjoint(found):
        return False
    words = [word.casefold().removesuffix("'s").removesuffix("’s") for word in found]
    if len(words) > _MAX_WORDS or not all(word in _HARMLESS for word in words):
        return False
    if words and words[-1] in _UNFINISHED:
        return False
    return all(word not in _MULTIPLYING or following in _PERIODS for word, following in pairwise(words))


def same_things(phrase: str, other: str) -> bool:
    """Return True if two phrases count the same things. One phrase may use fewer words.

    "red apples" counts the same things as "apples in all", but not as "green apples" or "oranges". "years
    ago" differs from "years from now".
    """
    first, second = _said(phrase), _said(other)
    return first <= second or second <= first


def names_things(phrase: str) -> bool:
    """Return True if a phrase names the things counted or their kind: "apples" or "red", but not "in all"."""
    return bool(_said(phrase) - _CIRCUMSTANCES)


def _said(phrase: str) -> set[str]:
    words = {word.casefold() for word in _WORD.findall(phrase)} - _LINKS - _POLITE
    if {"from", "now"} <= words:
        words = words - {"from", "now"} | {"later"}
    return {_SIDES.get(word, word) if word in _CIRCUMSTANCES else _singular(word) for word in words}
