"""The frames in which other languages deny, contrast and conclude, as the English ones that "
"`commitment` reads:
"Nicht A, sondern B", "Ce n'est pas A, c'est B", "其实是". Words of content stay as they are."""

from __future__ import annotations

import re

from rewardkit.rewards.reading.hearsay import TOLD_ABROAD
from rewardkit.rewards.reading.lazy_regex import lazy_regex

_OPEN = (
    r"sowohl|entweder|vielleicht|möglicherweise|eventuell|womöglich|könnten?|beide[ns]?(?! ander)|zowel|ofwel"
    r"|misschien|mogelijk|wellicht|kunnen allebei|allebei|peut[- ]être|aussi bien|à la fois|soit|les deux"
    r"|pourrai(?:t|ent)|tanto|ambas|ambos|quizás?|tal vez|podrían?|posiblemente|entramb[ei]|forse"
    r"|potrebbe(?:ro)?|magari|sia|talvez|poderiam?|possivelmente|não é possível"
    r"|komen in aanmerking|kommen in ?frage|kommen infrage"
)
"""Both, either, perhaps: an answer behind one of these is left open."""
_UNSAID = (
    r"(?:das |es )?(?:lässt sich|kann (?:man|ich)|ist) (?:(?:hier|so|leider|das|es|aber|also|wirklich) )?"
    r"nicht (?:(?:eindeutig|sicher|genau|klar|mit (?:sicherheit|bestimmtheit)) )?"
    r"(?:zu )?(?:sagen|entscheiden|bestimmen|beantworten)"
    r"|(?:on|je) ne (?:peux|peut) pas (?:le |y )?(?:dire|trancher|savoir|décider|déterminer|répondre)"
    r"|(?:il est )?impossible (?:de|à) (?:le )?(?:dire|trancher|savoir|déterminer)"
    r"|no (?:se )?(?:puede|puedo) (?:se )?(?:decir|determinar|saber|decidir|responder)(?:se)?"
    r"|es imposible (?:decir|saber)(?:lo)?"
    r"|non (?:si può|posso|è possibile) (?:dire|stabilire|sapere|decidere|determinare)(?:lo)?"
    r"|não (?:se pode|posso|é possível|dá para) (?:dizer|saber|determinar|decidir|responder)"
    r"|(?:dat |het )?(?:valt|is) niet (?:(?:met zekerheid|zeker|eenduidig|duidelijk) )?te"
    r" (?:zeggen|bepalen|beslissen)"
)
"""It cannot be said."""
_FRAMES = (
    (rf"\b(?:{_UNSAID})\b", " i do not know "),
    (rf"\b(?:{_OPEN})\b", " perhaps "),
    (TOLD_ABROAD, " people say "),
    (r"，|、", ", "),
    (r"\b(?:antwort|réponse|respuesta|risposta|resposta|ответ|antwoord|svar|odpowiedź)\s?:", " answer: "),
    (r"。|！", ". "),
    (r"？", "? "),
    (r"[¡¿]", " "),
    (
        r"\b(?:svaret (?:är|er)|vastaus on|odpowiedź (?:to|brzmi:?)|odpověď je|răspunsul (?:corect )?este"
        r"|câu trả lời (?:đúng )?là|jawabannya (?:adalah|ialah)|jawaban (?:yang benar )?adalah"
        r"|правильный ответ\s?[—–-])\s",
        " the answer is ",
    ),
    (r"\b(?:неправильный|неверный) ответ\s?[—–:-]\s", " the wrong answer is "),
    (r"\b(?<!ne )il s'agit (?:de |d')|(?<!\bno )\bse trata de\b|(?<!\bnon )\bsi tratta (?:di\b|dell?['’])"
     r"|\btrata-se de\b|\bes handelt sich um\b(?! (?:nicht|kein))", " it is "),
    (r"\bnicht nur\b|\bno sólo\b|\bnon seulement\b", " "),
    (r",\s(?:e |y |et )?(?:non|no|não|pas)\s(?:il |la |lo |le |el |a |o )?(?=[\ue000-\ue03f\w])", " , not "),
    (r"\s(?:y no|e non|et pas|und nicht)\s(?:il |la |lo |le |el |a |o )?", " , not "),
    (r"(?<!\w)[Нн]е\s", " not "),
    (r",\sа\s", " , but "),
    (r"は不正解(?:です|だ)?|が不正解(?:です|だ)?", " is wrong "),
    (r"(?:が|は)正解(?:です|だ|で)?", " is correct "),
    (r"(?:では|じゃ)(?:ありません|ないです|ない)|(?:[이가]\s)?아(?:닙니다|니다|니에요)", " is wrong "),
    (r"오답은", " the wrong answer is "),
    (r"除了", " not "),
    (r"\s[—–-]\s(?=(?:неправильн|неверн|falsch|faux|falso|errad|incorrect|sbagliat))", " is "),
    (r"नहीं|ليست|ليس|نیست|نہیں|لیس|ไม่ใช่", " not "),
    (r"।", ". "),
    (r"؟", "? "),
    (r"而不是|并不是|不是|并非|而非", " , not "),
    (r"其实是|而是|实际上是|应该是", " , but it is "),
    (r"其实|但是|实际上|不过", " , but "),
    (r"以为", " people think "),
    (
        r"\b(?:(?:viele|manche|einige|die meisten) (?:\w+ )?(?:denken|glauben|meinen|sagen)"
        r"|(?:certains|beaucoup|plusieurs|la plupart)(?: \w+){0,2} (?:pensent|croient|disent)"
        r"|(?:muchos|algunos|la mayoría)(?: \w+)? (?:piensan|creen|dicen)|(?:molti|alcuni) (?:pensano"
        r"|credono|dicono)"
        r"|(?:muitos|alguns) (?:pensam|acham|acreditam|dizem)|(?:многие|некоторые) (?:думают|считают"
        r"|говорят))\b",
        " people think ",
    ),
    (r"不正确|错误|不对", " is wrong "),
    (r"不(?:可能|能|会|该|应该)?(?=是|选|\s|[A-Z])", " not "),
    (r"(?<!不)正确", " is correct "),
    (r"所以|因此", " . so "),
    (r"选择|选", " choose "),
    (
        r"\b(?:erst|zuerst|anfangs) dachte ich(?: an)?\b|\bj'ai d'abord pensé (?:à )?|\b(?:primero"
        r"|al principio)"
        r" pensé (?:que |en )?",
        " first i thought of ",
    ),
    (r"\b(?:ce n'est pas|no es|non è|não é|es ist nicht|das ist nicht|it is niet)\b", " it is not "),
    (r"\b(?:sondern|sino que|sino|c'est plutôt|mais plutôt|bensì|mas sim)\b", " , but it is "),
    (r"\b(?:aber|pero|mais|però)\b", " , but "),
    (
        r"\b(?:ist die (?:richtige )?antwort|(?:die (?:richtige )?antwort|richtig) (?:ist|lautet)"
        r"|(?:la )?(?:bonne )?réponse (?:correcte )?est|la respuesta (?:correcta )?es"
        r"|la risposta (?:corretta |giusta |esatta )?è"
        r"|a resposta (?:certa|correta) é)\b",
        " the answer is ",
    ),
    (r"\b(?:ist (?:richtig|korrekt)|est (?:correcte?|juste)|es correct[ao]|è corrett[ao]|é corret[ao])\b",
     " is correct "),
    (
        r"\b(?:ich (?:glaube|denke|meine),?|je (?:pense|crois) que|creo que|penso che|acho que"
        r"|soweit ich weiß,?)"
        r"\s",
        " i think ",
    ),
    (r"\b(?:c'est|es ist|das ist|it's the)\b", " it is "),
    (r"(?<=i think )\s*(?:es|è|é)\b", " it is "),
    (r"\bnicht\b", " not "),
    (r"\b(?:espero|hoffe|ich hoffe|j'espère)\b", " hope "),
)  # fmt: skip
_PATTERNS = tuple((lazy_regex(frame, re.IGNORECASE), plain) for frame, plain in _FRAMES)
_COMMAS = re.compile(r"[ \t]{0,3},(?:[ \t]{0,3},){0,3}[ \t]{1,3}")
_BETWEEN_SCRIPTS = lazy_regex(
    r"(?<=[\u3040-\u9fff\uac00-\ud7a3])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u3040-\u9fff\uac00-\ud7a3])"
)
_FOREIGN = lazy_regex(
    rf"\b(?:{_OPEN})\b|"
    r"[^\x00-\u02ff\u2000-\u2bff\ue000-\ufeff\U0001f000-\U0001faff]|[¡¿]"
    r"|\b(?:sondern|sino|niet|impossible (?:de|à)|puede|puedo|può|posso|pode|peut|peux|c'est|n'est"
    r"|réponse|respuesta|risposta|resposta|antwort|antwoord|svar|odpowiedź|richtig|ist|nicht"
    r"|svaret|vastaus|odpov\w+|răspunsul|jawaban\w*|s'agit|trata|tratta|trata-se|handelt"
    r"|aber|pero|mais|creo|es|è|é)\b",
    re.IGNORECASE,
)


def in_english(text: str) -> str:
    """Return a text with the frames of other languages in English."""
    if _FOREIGN.search(text) is None:
        return text
    text = text.replace("’", "'")
    for frame, plain in _PATTERNS:
        text = frame.sub(plain, text)
    return _COMMAS.sub(", ", text)


def between_scripts(text: str) -> str:
    """Return a text with blanks between Chinese or Japanese and Latin letters: "选A" names A."""
    return text if text.isascii() else _BETWEEN_SCRIPTS.sub(" ", text)
