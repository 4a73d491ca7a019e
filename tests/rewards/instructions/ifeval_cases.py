"""For each of IFEval's 25 instructions ten responses that keep it and ten that break it."""

from __future__ import annotations

from typing import Any

EN = (
    "the weather is lovely today and we are going to the park with our friends",
    "this is a long sentence about the history of the railway in england",
    "people often ask what they should read before they start to write",
    "it was a dark night and nobody knew where the road would lead them",
    "there are many reasons why someone would want to learn how to cook",
    "she opened the window and looked at the children who played in the street",
    "the committee has decided that the meeting will be held next week",
    "we should always remember to thank those who have helped us along the way",
    "the book that you gave me last year is still on the table in my room",
    "nothing is as good as a warm cup of tea after a long walk in the rain",
)
DE = (
    "Das Wetter ist heute sehr schön und wir gehen in den Park.",
    "Niemand wusste, wohin die Straße in dieser Nacht führen würde.",
    "Es gibt viele Gründe, warum man kochen lernen sollte.",
    "Sie öffnete das Fenster und sah den Kindern beim Spielen zu.",
    "Der Ausschuss hat beschlossen, dass die Sitzung nächste Woche stattfindet.",
    "Wir sollten immer denen danken, die uns geholfen haben.",
    "Das Buch, das du mir gegeben hast, liegt noch auf dem Tisch.",
    "Nichts ist so gut wie eine warme Tasse Tee nach einem Spaziergang.",
    "Ich habe gestern einen langen Brief an meine Großmutter geschrieben.",
    "Die Kinder spielen im Garten, während die Eltern das Essen kochen.",
)
PARTS = tuple(f"Part number {n} has something to say." for n in ("one", "two", "three", "four", "five"))
FILLERS = (
    "",
    "Hello there.",
    "Some more text.",
    "A line\nand another.",
    "What now?",
    "Yes!",
    "Fine",
    "x y z",
    "123",
    "Ok.",
)


def around(core: str) -> list[str]:
    """A text in ten surroundings."""
    return [f"{filler} {core} {filler}".strip() for filler in FILLERS]


CASES: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "keywords:existence": (
        {"keywords": ["correlated", "experiencing"]},
        around("It is Correlated with what we are EXPERIENCING."),
        around("It is correlated.") [:5] + around("We are experiencing it, uncorrelated-ly; experience correlates.")[:5],
    ),
    "keywords:frequency": (
        {"keyword": "cat", "frequency": 3, "relation": "at least"},
        around("Cat, cat and cats."),
        around("A cat and a cat.")[:5] + around("cat concatenate Muscat scat")[:5],
    ),
    "keywords:forbidden_words": (
        {"forbidden_words": ["rust", "c++"]},
        around("I trust rusty Crust."),
        around("I like Rust.")[:5] + around("I like C++ more.")[:5],
    ),
    "keywords:letter_frequency": (
        {"letter": "q", "let_frequency": 3, "let_relation": "at least"},
        around("Quite quick Queens."),
        around("Quite quick."),
    ),
    "language:response_language": ({"language": "de"}, list(DE), list(EN)),
    "length_constraints:number_sentences": (
        {"num_sentences": 3, "relation": "at least"},
        [
            "One. Two. Three.", "One! Two? Three.", "It is. So it was. And so on it goes. More.", "a b. c d. e f.", "A man. A plan. A canal!",
            "Dr. Smith came. He saw. He left.", "First one.\nSecond one.\nThird one.", 'He said "no." She left. It rained.', "Why? Why not? Because!",
            "這是一。這是二。這是三。",
        ],
        [
            "One. Two.", "One", "Dr. Smith came to Mr. Brown.", "e.g. this, i.e. that, etc. and so on", "It costs 3.50 or 4.20 or 5.10.", "Hello!!! World",
            "Wait... what is it", "www.a.b.c is a site. Yes", "Mr. A. B. Smith vs. Mrs. C. D. Jones.", "One? Two",
        ],
    ),
    "length_constraints:number_paragraphs": (
        {"num_paragraphs": 3},
        [*(f"{a}\n***\n{b}\n***\n{c}" for a in PARTS[:3] for b, c in ((PARTS[1], PARTS[2]), (PARTS[3], PARTS[4]))),
         "***\na\n***\nb\n***\nc", "a\n***\nb\n***\nc\n***", "a***b***c", "a *** b *** c"],
        ["a", "a\n***\nb", "a\n***\nb\n***\nc\n***\nd", "a\n\nb\n\nc", "a\n***\n***\nb\n***\nc", "***", "a***b", "a\n**\nb\n**\nc", "*** ***", "a ** b ** c"],
    ),
    "length_constraints:number_words": (
        {"num_words": 5, "relation": "less than"},
        ["One", "One two", "One two three", "One two three four", "don't do", "a-b-c d", "1 2 3 4", "... a", "Hello, world!", "I'm fine"],
        ["one two three four five", "don't don't don't", "a b c d e f", "a-b-c-d-e", "1.2.3.4.5", "I'm ok I'm ok", "x " * 100, *around("one two three four five")[1:4]],
    ),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 3, "nth_paragraph": 2, "first_word": "weekend"},
        [f"{a}\n\n{w} is here.\n\n{a}" for a in PARTS for w in ("Weekend", '"weekend"')],
        ["weekend\n\na\n\nb", "a\n\nweekend", "a\n\nweekend\n\nb\n\nc", "a\n\nthe weekend\n\nb", "a\n\nweekends\n\nb", "a\nweekend\nb", "weekend", "a\n\n\n\nweekend", "a\n\nb\n\nweekend", "a\n\nweek end\n\nb"],
    ),
    "detectable_content:number_placeholders": (
        {"num_placeholders": 2},
        around("Dear [name], meet at [place]."),
        ["Dear [name],", "[] []", "[ ] [ ]", "[a", "a] b]", "(name) (place)", "{name} {place}", "[a\nb] [c]", "<name> <place>", "[[]] []"],
    ),
    "detectable_content:postscript": (
        {"postscript_marker": "P.S."},
        ["Hello.\n\nP.S. bye", "Hello. P.S. bye", "P.S. hi", "x\np.s. y", "x\nP. S. y", "x\n**P.S.** y", "x!\n\nP.S.: y", "x\n\n> P.S. y", "(x.) P.S. y", "x?\nP.S. one more thing"],
        ["Hello.", "u.p.s. delivers", "The P.S.A. test", "PS: hi", "P.S", "x\nP.S.", "ps hi", "it is the u.p.s. of it", "P S hi", "maps. x"],
    ),
    "detectable_format:number_bullet_lists": (
        {"num_bullets": 2},
        ["* a\n* b", "- a\n- b", "* a\n- b", "Text\n* a\n* b\nText", "  * a\n  * b", "- a\n\n- b", "* **a** b\n* c", "-a\n-b", "* a\n* b\n\n---", "- a: x\n- b: y\n1. c"],
        ["* a", "- a\n- b\n- c", "1. a\n2. b", "• a\n• b", "** a\n** b", "a - b - c", "---\n---", "a * b * c", "", "+ a\n+ b"],
    ),
    "detectable_format:constrained_response": (
        {},
        around("My answer is yes.")[:4] + around("My answer is no.")[:3] + around("My answer is maybe.")[:3],
        ["yes", "My answer is yes", "my answer is yes.", "My answer is: yes.", "My answer is no. My answer is yes.", "Maybe.", "My answer is unclear.", "",
         "My answer is maybe. My answer is no. My answer is yes.", "My answer could be yes."],
    ),
    "detectable_format:number_highlighted_sections": (
        {"num_highlights": 2},
        around("A *small* and a **large** one."),
        ["*a*", "a b", "2*3", "** **", "*a\nb* *c", "* *", "****", "_a_ _b_", "`a` `b`", "* a\n"],
    ),
    "detectable_format:multiple_sections": (
        {"section_spliter": "SECTION", "num_sections": 2},
        [f"SECTION 1\n{a}\nSECTION 2\n{b}" for a in PARTS for b in PARTS[:2]],
        ["SECTION 1\na", "section 1\na\nsection 2\nb", "Section 1 Section 2", "1\na\n2\nb", "SECTION A\na\nSECTION B\nb", "SECTIONS", "a", "SECTION\n\n\nSECTION", "PART 1 PART 2", "SECTION one SECTION two"],
    ),
    "detectable_format:json_format": (
        {},
        ['{"a": 1}', "[1, 2]", '```json\n{"a": 1}\n```', '```\n{"a": 1}\n```', "```JSON\n[]\n```", '"text"', "null", '{"a": {"b": [true, false]}}', " {} ", "3.5"],
        ["{a: 1}", "{'a': 1}", '{"a": 1,}', '{"a": NaN}', "Here: {}", "```json\n{\n```", "text", '{"a": 1} {"b": 2}', "[1, 2", "Infinity"],
    ),
    "detectable_format:title": (
        {},
        around("<<A title>>"),
        ["<A title>", "<<>>", "<< >>", "1<<2 and 4>>1", "<<a\nb>>", "<<a>", "<a>>", "a >> b << c", "《A title》", "A title"],
    ),
    "combination:two_responses": (
        {},
        [f"{a}\n******\n{b}" for a in PARTS[:3] for b in PARTS[3:]] + ["a******b", "a ****** b", "******\na\n******\nb", "a\n******\nb\n******"],
        ["a", "a\n******\na", "a\n******\nb\n******\nc", "a\n***\nb", "******", "a\n******\n", "a\n\nb", "a\n******\n******\nb", "****** ******", "a\n*****\nb"],
    ),
    "combination:repeat_prompt": (
        {"prompt_to_repeat": "Write a poem about rain."},
        [f"Write a poem about rain. {f}" for f in FILLERS],
        [f"Here is it: Write a poem about rain. {f}" for f in FILLERS[:5]] + ["Write a poem", "", "About rain.", "Write a poem about snow.", "rain"],
    ),
    "startend:end_checker": (
        {"end_phrase": "Is there anything else?"},
        [f"{f} Is there anything else?" for f in FILLERS[:8]] + ['"Yes. Is there anything else?"', "IS THERE ANYTHING ELSE?  \n"],
        [f"Is there anything else? {f}" for f in FILLERS[1:8]] + ["Is there anything else", "anything else?", "No."],
    ),
    "startend:quotation": (
        {},
        [f'"{a}"' for a in EN],
        ['"', '""', '"a', 'a"', "'a'", "“a”", 'x "a"', '"a" x', '" "', "a"],
    ),
    "change_case:capital_word_frequency": (
        {"capital_frequency": 3, "capital_relation": "at least"},
        around("The NASA and the USA like WELL-KNOWN things."),
        ["The NASA", "the nasa and the usa", "Nasa Usa Uno", "one TWO", "", "1 2 3", "NASA and Usa", "The End Of It", "I am", "well-KNOWN"],
    ),
    "change_case:english_capital": ({}, [a.upper() for a in EN], list(EN[:4]) + [a.upper() for a in DE[:3]] + ["123", "", "A b C"]),
    "change_case:english_lowercase": ({}, list(EN), [a.upper() for a in EN[:4]] + [a.lower() for a in DE[:3]] + ["123", "", "a B c"]),
    "punctuation:no_comma": ({}, [a + "." for a in EN], [f"{a}, yes" for a in EN[:8]] + ["好，是", "a,b"]),
}  # fmt: skip
