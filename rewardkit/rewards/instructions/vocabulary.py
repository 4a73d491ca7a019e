"""Fixed lists for instructions, such as stop words, pronouns, names, capitals and countries."""

from __future__ import annotations


def _listed(names: str, separator: str | None = None) -> tuple[str, ...]:
    """Split a text into names, at white space or at another separator."""
    return tuple(" ".join(name.split()) for name in names.split(separator))


CONJUNCTIONS = frozenset(_listed("and but for nor or so yet"))

PRONOUNS = frozenset(
    _listed("""
    i me we us you he him she her it they them my mine our ours your yours his hers its their theirs myself
    ourselves yourself yourselves himself herself itself themselves this that these those who whom whose
    which what whoever whomever whatever whichever anybody anyone anything everybody everyone everything
    nobody nothing somebody someone something each either neither both all some any none
    """)
)

MINOR_WORDS = frozenset(
    _listed("""
    a an the and but or nor for so yet as at by from in into of off on onto out over per than to up via with
    """)
)
"""Articles, conjunctions and short prepositions, which titles write in lower case."""

PERSON_NAMES = _listed("""
    Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia
    Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob Scarlett
    Nathan Victoria Elijah Layla Nicholas Audrey David Hannah Christopher Penelope Thomas Nora Andrew Aria
    Joseph Claire Ryan Stella Jonathan
    """)
"""The fifty names listed in the instruction itself."""

STOP_WORDS = frozenset(
    _listed("""
    a about above after again against ain all am an and any are aren as at be because been before being
    below between both but by can couldn d did didn do does doesn doing don down during each few for from
    further had hadn has hasn have haven having he her here hers herself him himself his how i if in into is
    isn it its itself just ll m ma me mightn more most mustn my myself needn no nor not now o of off on once
    only or other our ours ourselves out over own re s same shan she should shouldn so some such t than that
    the their theirs them themselves then there these they this those through to too under until up ve very
    was wasn we were weren what when where which while who whom why will with won wouldn y you your yours
    yourself yourselves
    """)
)
"""NLTK's English list, without contractions, which would never match because words are runs of letters."""

CAPITALS = _listed("""
    Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin Amsterdam
    Warsaw London Brussels Kyiv Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau Bern
    Ljubljana Zagreb
    """)
"""European capitals north of 45 degrees latitude, from north to south. The reference omits Kyiv (50.45)."""

AFRICA = frozenset(
    _listed(
        """
    algeria, angola, benin, botswana, burkina faso, burundi, cabo verde, cameroon, central african republic,
    chad, comoros, congo, cote divoire, democratic republic of the congo, djibouti, egypt, equatorial
    guinea, eritrea, eswatini, ethiopia, gabon, gambia, ghana, guinea, guineabissau, kenya, lesotho,
    liberia, libya, madagascar, malawi, mali, mauritania, mauritius, morocco, mozambique, namibia, niger,
    nigeria, rwanda, sao tome and principe, senegal, seychelles, sierra leone, somalia, south africa, south
    sudan, sudan, tanzania, togo, tunisia, uganda, zambia, zimbabwe
    """,
        ",",
    )
)
"""The 54 African members of the United Nations, written without accents and punctuation."""
