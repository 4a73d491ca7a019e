"""Dates, years with their eras, amounts of money, units and names of persons in other writing than the ground truth's, and
questions that stand before the answer; right ones, and wrong ones of the same shape.
"""

from __future__ import annotations

import json

import pytest

from rewardkit.rewards import qa
from rewardkit.types import Sample

WRITTEN: list[tuple[str, list[str], list[str], list[str]]] = [
    ('On what date did Neil Armstrong first walk on the Moon (UTC)?', ["July 21, 1969", "21 July 1969"], [
        'so 21 July, 1969', 'so July 21, 1969', 'On 21 July, 1969.', 'thus the 21st of July, 1969', '1969 July 21', 'It was on July 21st, 1969.',
        'Armstrong first walked on the Moon on 21 July, 1969.', 'Armstrong first walked on the Moon on July the 21st, 1969.', 'Jul 21, 1969',
        'He did so on Jul 21, 1969.', 'He first walked on the Moon on 21 Jul 1969.', 'The date was 1969-07-21.',
    ], [
        'so 20 July, 1969', 'On 21 June, 1969.', 'so 21 July, 1968', 'not 21 July, 1969', 'so July 1969', '21 July, 1969 or 20 July, 1969',
        'before 21 July, 1969', 'so 21 July, 1969?', 'July 21, 1869',
    ]),
    ('In what year did World War II end?', ["1945"], [
        'AD 1945', '1945 AD', '1945 CE', 'A.D. 1945', '1945 A.D.', '1945 C.E.', 'The war ended in AD 1945.', 'World War II ended in 1945 AD.',
        'World War II ended in 1945 CE.', 'Answer: AD 1945', '\\boxed{1945\\text{ CE}}', 'the year 1945', 'in 1945', 'in AD 1945',
        'In the year AD 1945.',
    ], [
        '1945 BC', '1945 BCE', '1945 B.C.', 'World War II ended in 1945 BC.', 'World War II ended in 1945 B.C.', 'Answer: 1945 BC',
        'It ended in 1945 BCE.', 'AD 1944', '1944 CE', 'not AD 1945', 'the 1945s', 'In the year 1945 BC.', '1945 BC or AD',
    ]),
    ('In what year did Augustus become emperor?', ["27 BC"], [
        '27 BC', '27 BCE', '27 B.C.', '27 B.C.E.', 'Augustus became emperor in 27 BCE.', 'in 27 B.C.E.',
    ], [
        '27', '27 AD', 'AD 27', '27 CE', 'Augustus became emperor in 27 CE.', 'Augustus became emperor in 27.', 'Augustus became emperor in 27 AD.',
        '28 BCE',
    ]),
    ('A ticket costs 7.50 euros. How much do 4 tickets cost, in euros?', ["30", "30 euros", "\u20ac30"], [
        'EUR 30', '30 EUR', '€30', '30€', '30 €', '€ 30.00', '30 euro', 'EUR 30.00', 'The tickets cost EUR 30.', 'Four tickets cost 30 EUR.',
        '\\boxed{30\\text{ EUR}}', '$30$', '\\(30\\)', 'So $x = 30$', '30 euros, which is about 33 dollars.', 'The answer is €30.',
    ], [
        'USD 30', '30 USD', '$30', '30 dollars', '£30', '30 pounds', 'The tickets cost $30.', 'Four tickets cost 30 dollars.',
        'Four tickets cost £30.', 'EUR 32', '-30 EUR', 'Four tickets cost 30 USD.', '<answer>$30</answer>', '\\$30', '30 cents', 'EUR 30 or EUR 32',
        'Four tickets cost 30,00 USD.', 'The answer is $30.', 'So the total is £30.00.',
    ]),
    ('A ticket costs $7.50. How much do 4 tickets cost?', ["$30"], [
        'USD 30', '30 USD', 'US$30', 'US$ 30', '$30', '$30.00', '30 dollars', '30', '30$', '\\$30', 'Four tickets cost $30.',
        'Four tickets cost USD 30.', 'Four tickets cost 30 dollars.', 'Four tickets cost 30 dollars. That is about 27 euros.',
    ], [
        'EUR 30', '€30', '30 euros', '30€', 'Four tickets cost €30.', 'Four tickets cost 30 euros.', '£30', 'USD 32', 'C$30', 'AUD 30',
    ]),
    ('Who discovered penicillin?', ["Alexander Fleming"], [
        'Dr. Alexander Fleming', 'Sir Alexander Fleming', 'Professor Alexander Fleming', 'Prof. Fleming', 'Dr Fleming',
        'Penicillin was discovered by Dr. Alexander Fleming.', 'Penicillin was discovered by Sir Alexander Fleming.',
        'It was Sir Alexander Fleming who discovered penicillin.', 'A. Fleming', 'Penicillin was discovered by A. Fleming.', 'Sir A. Fleming',
        'Fleming', 'Mr. Fleming', 'He is known as Sir Alexander Fleming.',
    ], [
        'Dr. Howard Florey', 'Ian Fleming', 'I. Fleming', 'Dr. Ian Fleming', 'Penicillin was discovered by I. Fleming.',
        'Penicillin was discovered by Ian Fleming.', 'B. Fleming', 'Mrs. Fleming', 'not Dr. Alexander Fleming', 'Dr. Alexander', 'A. F.',
        "Fleming's student", "President Fleming's rival",
    ]),
    ("Who wrote the play 'Romeo and Juliet'?", ["William Shakespeare", "Shakespeare"], [
        'W. Shakespeare', 'W Shakespeare', '"W. Shakespeare"', 'The play was written by W. Shakespeare.',
        '<answer>W. Shakespeare</answer>\n\nWhy: the play was written by W. Shakespeare.', 'Will Shakespeare',
        'It was W. Shakespeare, not C. Marlowe.',
    ], [
        'R. Shakespeare', 'J. Shakespeare', 'The play was written by R. Shakespeare.', 'The play was written by John Shakespeare.',
        '<answer>J. Shakespeare</answer>', 'Answer: J. Shakespeare', 'W. Shakes', 'Not W. Shakespeare.', 'W. Shakespeare or C. Marlowe', 'W. S.',
        'It was R. Shakespeare, not W. Shakespeare.',
    ]),
    ("Who composed the opera 'The Magic Flute'?", ["Wolfgang Amadeus Mozart", "Mozart"], [
        'W. A. Mozart', 'W.A. Mozart', 'W. Mozart', 'Wolfgang Mozart', 'Wolfgang A. Mozart', 'The Magic Flute was composed by W. A. Mozart.',
    ], [
        'L. Mozart', 'Leopold Mozart', 'F. X. Mozart', 'W. B. Mozart', 'The Magic Flute was composed by L. Mozart.',
        'The Magic Flute was composed by Leopold Mozart.', 'Wolfgang B. Mozart',
    ]),
    ('Albany is the capital of which US state?', ["New York", "New York State"], [
        'New York', 'It is New York.', 'New York State', 'the state of New York',
    ], [
        'New York City', '**New York City**', 'It is New York City.', 'New York State / New York City', 'The city of New York',
        'It is the city of New York.', 'Albany is the capital of New York City.', 'New York county', 'It is New York County.',
    ]),
    ('Which country hosted the 1970 World Cup?', ["Mexico"], ['Mexico', 'It was Mexico.', 'the country of Mexico'], [
        'Mexico City', 'It was Mexico City.', 'the city of Mexico', '**Mexico City**', 'It was the city of Mexico.',
    ]),
    ('Which city hosted the fair?', ["New York"], ['New York City', 'It was New York City.', 'the city of New York'], [
        'New York State', 'It was New York State.',
    ]),
    ('What is the boiling temperature of water at sea level in degrees Celsius?', ["100"], [
        '100 °C', '100°C', '100 ° C', 'The answer is 100 °C.', '**100 °C**', 'Hence we get **100 °C**.', '→ 100°C', '\\boxed{100^\\circ\\text{C}}',
        '\\boxed{100\\,^{\\circ}\\mathrm{C}}', 'Water boils at 100 °C.', '100 degrees Celsius',
    ], [
        '100 °F', '100°F', 'The answer is 100 °F.', 'The answer is 100 K.', '100 °C or 100 °F', 'not 100 °C', 'Hence we get **101 °C**.',
        '100 degrees Fahrenheit', '-100 °C', '\\boxed{100^\\circ\\text{F}}', 'Water boils at 100 degrees Fahrenheit.',
    ]),
    ('How tall is a door that measures 2 metres and 5 centimetres, in centimetres?', ["205"], [
        '205 cm.', 'The answer is 205 cm.', 'It is 205cm tall.', '\\boxed{205\\text{ cm}}', '205 cm, which is 2.05 m.', '205 centimeters',
    ], ['205 m', 'The answer is 205 mm.', 'It is 205 m tall.', '205 m.', '-205 cm', '205 cm²', '\\boxed{205\\text{ m}}']),
    ('A car uses 6 litres of fuel per 100 km. How many litres does it use over 350 km?', ["21"], [
        '21 L', '**21 l**', 'It uses 21 L of fuel.', '<answer>21 L</answer>', '21 litres', '21 liters',
    ], ['21 mL', '21 ml', '21 gal', 'It uses 21 mL of fuel.', '21 L per 100 km', '<answer>21 mL</answer>', '21 kg']),
    ('A farmer has 7 cows and each gives 22 liters of milk a day. How many liters are given per day?', ["154"], [
        'The cows give 154 liters per day.', '154 liters per day', '154 L',
    ], ['The cows give 154 liters per hour.', '154 mL per day', 'The cows give 154 gallons per day.']),
    ('How many metres are there in 4.2 kilometres?', ["4200"], [
        '4200 m', 'The result is $\\boxed{4200\\ \\text{m}}$.', '4,200 m', '4200', '4.2 kilometres are 4200 m.',
    ], ['4200 km', '4200 cm', '4200 mm', '4200 m²', '4.2 kilometres are 4200 cm.']),
    ('At what temperature do the Celsius and Fahrenheit scales show the same number?', ["-40"], [
        '-40°', 'The answer is **-40°**.', '-40 °',
    ], ['40°', '+40°', '-40 km']),
    ('How fast does it go, in kilometres per hour?', ["90"], ['90 km/h', '90 kph', 'It goes at 90 km/h.', '90 kilometers per hour'], [
        '90 m/s', '90 mph', '90 km', 'It goes at 90 m/s.',
    ]),
    ('What is the area of the room in square metres?', ["12.5"], [
        '12.5 m²', '12.5 m^2', 'The area is 12.5 m².', '12.5 square metres', '$12.5\\text{ m}^2$', '12.5 sq m',
    ], ['12.5 m', '12.5 cm²', '12.5 m³', 'The area is 12.5 ft².']),
    ('Which British prime minister was called the Iron Lady?', ["Margaret Thatcher", "Thatcher"], [
        'MRS. THATCHER', 'The Iron Lady was Mrs. Thatcher.', 'A well-known fact. The Iron Lady was Mrs. Thatcher.', 'Mrs Thatcher',
        'It was Mrs. Margaret Thatcher.', 'Ms. Thatcher',
    ], [
        'Denis Thatcher', 'Mrs. Major', 'Mrs. Thatcher or Mrs. May', 'Mrs. May', 'not Mrs. Thatcher', "Mrs. Thatcher's successor",
        'It was not Mrs. Thatcher.',
    ]),
    ('Who discovered penicillin?', ["Alexander Fleming", "Fleming"], ['Dr. Fleming'], [
        'Mrs. Fleming', 'It was Mrs. Fleming.', 'not Mrs. Fleming', 'It was not Mrs. Fleming.', 'Lady Fleming',
    ]),
    ('Who was the first woman to win a Nobel Prize?', ["Marie Curie", "Madame Curie"], [
        'Madame Curie', 'It was Madame Curie.', 'nicht Irène Joliot-Curie, sondern Madame Curie', 'Marie Curie',
    ], ['Irène Joliot-Curie', 'not Madame Curie']),
    ('Which novel opens in June?', ["Mrs. Dalloway"], ['Mrs. Dalloway', 'Mrs Dalloway', 'It is Mrs. Dalloway.'], ['Mrs. Ramsay']),
    ('Which city hosted the 1992 Summer Olympics?', ["Barcelona", "Barcelona, Spain"], [
        '**The 1992 Summer Olympics were held in Barcelona (Spain).**', 'Barcelona (Spain)', 'It was Barcelona, Spain.',
    ], [
        'Barcelona (Venezuela)', 'Madrid (Spain)', 'The 1992 Summer Olympics were held in Madrid (Spain), not Barcelona (Spain).',
        'Barcelona (Madrid)', 'Barcelona (or Madrid)',
    ]),
    ('Which ocean is the deepest?', ["Pacific Ocean", "Pacific", "the Pacific"], [
        '<answer>Pacific Ocean (the Pacific)</answer>', 'Pacific (Pacific Ocean)', '\\boxed{Pacific Ocean (the Pacific)}',
    ], ['<answer>Pacific Ocean (Atlantic)</answer>', 'Atlantic (Pacific)', '<answer>Atlantic Ocean (the Pacific)</answer>']),
    ('When was Albert Einstein born?', ["March 14, 1879"], [
        'the fourteenth of March, 1879', 'March fourteenth, 1879', 'Friday, March 14, 1879', 'Einstein was born on Friday, 14 March 1879.',
        '14.03.1879', '14.3.1879', '3/14/1879', '14/03/1879', 'He was born on 14.03.1879.',
    ], [
        'the fifteenth of March, 1879', 'Monday, March 15, 1879', '14.04.1879', '3/15/1879', '14/04/1879', 'He died on March 14, 1879.',
        'The date of his death was March 14, 1879.', 'Sunday, March 14, 1978',
    ]),
    ('On what day did the shop open?', ["April 3, 2001"], ['3.4.2001', 'the third of April 2001'], ['4/3/2001', '3/4/2001', '4.3.2001', 'It closed on April 3, 2001.']),
    ('What is the population of a town of 12,000 after it grows by 5%?', ["12,600"], [
        '12 600', 'twelve thousand six hundred', 'twelve thousand, six hundred', '12.6 thousand', '$12{,}600$', '\\boxed{12{,}600}', '\\boxed{12,\\!600}',
        'The population is $12{,}600$.', 'It comes to twelve thousand six hundred.',
    ], ['12 60', 'twelve thousand six', '12.6 million', '$12{,}500$', '12 600 000', 'twelve hundred six', '12,600 thousand', '12,600 hundred']),
    ('How many people live there?', ["1,500,000"], ['1.5 million', '1 500 000', '1500000'], ['1.5', '15 million', '1.5 billion', '1 million']),
    ('What is the probability of heads?', ["1/2"], ['\\frac{1}{2}', '$\\frac{1}{2}$', '\\dfrac12', '\\boxed{\\frac{1}{2}}'], [
        '\\frac{2}{1}', '2\\frac{1}{2}', '\\frac{1}{2}x', '-\\frac{1}{2}', '\\frac{1}{12}', 'x^\\frac{1}{2}',
    ]),
    ('What is the value of the fraction?', ["\\frac{3}{7}"], ['\\frac{3}{7}', '$\\frac{3}{7}$'], ['\\frac{7}{3}']),
    ('Which English king had six wives?', ["Henry VIII"], ['Henry the Eighth', 'King Henry the Eighth', 'It was Henry the Eighth.'], [
        'Henry the Seventh', 'Henry the Eighteenth', "Henry the Eighth's father", 'Edward the Eighth',
    ]),
    ('Who built the palace of Versailles?', ["Louis the Fourteenth"], ['Louis XIV', 'It was Louis XIV.'], ['Louis XV', 'Louis XVI', 'Louis the Fifteenth']),
    ('In which century did Mozart live?', ["18th century"], ['eighteenth century', 'the eighteenth century', 'He lived in the eighteenth century.'], [
        'the seventeenth century', 'the eighteenth century BC', 'the eighth century',
    ]),
    ('What share passed?', ["36%"], ['thirty-six percent', '36 percent', '36 per cent', 'thirty-six per cent'], ['sixty-three percent', '-36 percent', '3.6 percent']),
    ('Who discovered penicillin?', ["Alexander Fleming"], [
        'Fleming, Alexander', 'It was the Scottish bacteriologist Alexander Fleming.', 'The Scottish scientist Alexander Fleming discovered penicillin.',
        'Alexander Fleming discovered it in 1928.', 'In 1928, Alexander Fleming discovered penicillin.', 'Alexander Fleming (1881–1955)',
        'The scientist was Sir Alexander Fleming (1881–1955).', 'Alexander Fleming, in 1928', 'It was discovered by Alexander Fleming in September 1928.',
    ], [
        'Fleming, Ian', 'It was the Scottish bacteriologist Ian Fleming.', 'The teacher of the Scottish scientist Alexander Fleming discovered penicillin.',
        'Ian Fleming discovered it in 1928.', 'In 1928, Alexander Fleming did not discover penicillin.', 'Howard Florey (1898–1968), not Alexander Fleming (1881–1955)',
        'Until 1928, Alexander Fleming had discovered nothing.', 'Florey, Alexander', 'not the bacteriologist Alexander Fleming',
    ]),
    ('What is the capital of Australia?', ["Canberra"], ['Canberra (1913)'], [
        'The capital was Canberra in 1950.', 'In 1950 it was Canberra.',
    ]),
    ('What is the longest river in South America?', ["Amazon", "Amazon River"], [
        'Amazon (6,400 km)', 'the Amazon, about 6,400 km long', 'The longest river in South America is the Amazon River, at approximately 6,400 km (4,000 miles).',
    ], ['Paraná (4,880 km), not the Amazon (6,400 km)', 'Amazon (6,400 km), Paraná (4,880 km)', 'the Orinoco, longer than the Amazon (6,400 km)']),
    ('Are both Canberra and Sydney cities in Australia?', ["yes"], [
        'Yes, both are.', 'yes, both are cities in Australia', 'Yes. Both of them are in Australia.', '<answer>Yes, they are.</answer>', '**Yes**, both are.',
        'The answer is Yes, both are in Australia.', 'Yes – they are both Australian cities.',
    ], [
        'Yes, but only Canberra is.', 'Yes, or no.', 'No, they are not.', 'Yes? No.', 'Yes, Canberra is, Sydney is not.', 'Yes, I guess, although it might be no.',
        'Yes. No.', 'Yes, one of them is.', 'Yes. I take that back.', 'yes and no', 'Yes, if towns count.',
    ]),
    ('Were both directors born in the same country?', ["no"], ['No, they were not.', 'No. One was born in France, the other in Italy.', 'No – they were born in different countries.'], [
        'Yes, they were not born far apart.', 'No, or perhaps yes.', 'No? Yes, they were.', 'no, probably', 'no: unknown', 'no -> often', 'no, not no', 'no\n\nThat answer is wrong.', 'no, always', 'No, wait: yes, they were.', 'Not yes.',
    ]),
    ('What is the capital of Australia?', ["Canberra"], [
        '[[ ## reasoning ## ]]\nThe seat of government was purpose-built.\n\n[[ ## answer ## ]]\nCanberra\n\n[[ ## completed ## ]]',
        'Thought: I know this.\nCode:\n```py\nfinal_answer("Canberra")\n```<end_code>', 'Canberra. TERMINATE', 'The capital of Australia is Canberra.\n\nTERMINATE',
        'Canberra [Doc 2]', 'The capital of Australia is Canberra [Document 1].', 'Canberra【1†source】', 'Canberra (Document 3)', 'Canberra is your answer.',
        'Svaret är Canberra.', 'Svaret er Canberra.', 'Răspunsul este Canberra.', 'Câu trả lời là Canberra.', 'Jawabannya adalah Canberra.', 'Vastaus on Canberra.',
        'Правильный ответ — Canberra.', "Il s'agit de Canberra.", 'Se trata de Canberra.', 'Si tratta di Canberra.', 'Trata-se de Canberra.',
        'Es handelt sich um Canberra.', 'afaik Canberra', 'Simply put, Canberra.', '(1) Canberra', 'Ans) Canberra',
    ], [
        '[[ ## reasoning ## ]]\nIt may be Canberra.\n\n[[ ## answer ## ]]\nSydney\n\n[[ ## completed ## ]]', '```py\nfinal_answer("Sydney")\n```<end_code>\nCanberra',
        'Thought: Canberra?\nCode:\n```py\nfinal_answer("Sydney")\n```<end_code>', '# final_answer("Canberra")\nfinal_answer("Sydney")', 'Sydney. TERMINATE', 'Canberra? TERMINATE',
        'Sydney [Doc 2], Canberra [Doc 3]', 'Canberra (Document 3) or Sydney (Document 4)', 'Canberra is not your answer.', 'Your answer is Canberra. Mine is Sydney.',
        'Svaret är inte Canberra.', 'Svaret er ikke Canberra.', 'Răspunsul nu este Canberra.', 'Câu trả lời không phải là Canberra.', 'Jawabannya bukan Canberra.',
        'Vastaus ei ole Canberra.', 'Неправильный ответ — Canberra.', "Il ne s'agit pas de Canberra.", 'No se trata de Canberra.', 'Non si tratta di Canberra.',
        'Não se trata de Canberra.', 'Es handelt sich nicht um Canberra.', 'Final: Sydney (was Canberra)', '👎 Canberra', 'Sydney (formerly Canberra)',
        'Canberra (5% confident), Sydney (95% confident)',
    ]),
    ('What is the capital of Australia?', ["Canberra"], [
        '> What is the capital of Australia?\n\nThe capital of Australia is Canberra.', '> What is the capital of Australia?\n\nCanberra',
        "> **What is the capital of Australia?**\n\nIt's Canberra.", '"What is the capital of Australia?"\n\nThe capital is Canberra.',
        'Assistant: The capital of Australia is Canberra.', 'Final answer: The capital of Australia is Canberra.', 'Final Answer: It is Canberra.',
        'Answer: The capital of Australia is Canberra.', '**Answer:** The capital of Australia is Canberra.',
        'AI: The capital of Australia is Canberra.', 'A: The capital of Australia is Canberra.', 'Response: The capital of Australia is Canberra.',
        'Bot: Canberra.',
    ], [
        '> The capital of Australia is Canberra.\n\nThat is wrong.', '> Is it Canberra?\n\nIt is Sydney.', '> Canberra\n\nSydney',
        'Final answer: The capital of Australia is not Canberra.', 'Final answer: The capital of Australia is near Canberra.',
        'Assistant: It may be Canberra.', 'Final answer: Some say it is Canberra.',
        'User: The capital of Australia is Canberra.\nAssistant: No, it is Sydney.',
    ]),
    ("Who discovered penicillin?", ["Alexander Fleming", "Sir Alexander Fleming", "Fleming"], [
        "Dr. Alexander Fleming", "The answer is **Prof. Alexander Fleming**.", "It was Professor Fleming.", "- Dr Fleming",
        "Penicillin was discovered by Sir Alexander Fleming.",
    ], ["Dr. Howard Florey", "Dr. Fleming's assistant", "Mrs. Fleming", "Professor Florey, not Fleming", "Ian Fleming"]),
    ("Who was the US president during the September 11 attacks?", ["George W. Bush", "George Walker Bush"], [
        "The president at that time was George W Bush.", "**George W Bush**", "It was president George W. Bush.",
    ], ["The president at that time was George H W Bush.", "George H. W. Bush", "Jeb Bush", "George W Bush's father", "Laura W. Bush"]),
    ("Which English king had six wives?", ["Henry VIII", "King Henry VIII", "Henry VIII of England"], [
        "King Henry VIII of England", "The king was King Henry VIII of England.", "정답: King Henry VIII of England",
    ], ["King Henry VIII of France", "King Henry VII of England", "King Henry VIII's daughter", "King Charles of England"]),
    ("In which month and year did World War II end in Europe?", ["May 1945"], [
        "The war in Europe ended in May, 1945.", "So: **May, 1945**", "It ended in May of 1945.", "1945-05", "05/1945",
    ], ["June, 1945", "May, 1944", "May of 1954", "1945-06", "04/1945", "It ended in May, not in 1945."]),
    ("How long is a marathon in kilometres, to one decimal place?", ["42.2", "42.2 km"], [
        "The answer is as follows:\n\n> 42.2", "My answer:\n> 42.2", "Final answer:\n\n> **42.2**",
    ], ["The answer is as follows:\n\n> 42.3", "My answer:\n> 42.2\n> 26.2", "The answer is not:\n> 42.2", "The answer cannot be:\n42.2", "Not the answer:\n\n**42.2**"]),
    ("Which instrument typically has 88 keys?", ["piano"], [
        '```python\nanswer = "the piano"\nprint(answer)\n```', '```python\nans = "piano"\nprint(ans)\n```',
    ], [
        '```python\nanswer = "violin"\nprint(answer)\n```', '```python\nanswer = "violin"\nanswer = "piano"\nprint(answer)\n```',
        '```python\nanswer = "piano"\nprint("violin")\n```', '```python\nwrong = "piano"\nprint(wrong)\n```',
    ]),
    ("Tom pays 4 notebooks at $3.50 each with a $20 bill. How much change does he get, in dollars?", ["6", "6.00", "$6"], [
        "Tom's change is 6.00. I double-checked this, and 6.00 is indeed right.", "Tom's change is 6. It is definitely correct.",
        "Tom's change is 6. I have verified it, and it is right.", "6. I checked, and that is absolutely right.",
    ], [
        "Tom's change is 6.00. I double-checked this, and 7.50 is indeed right.", "Tom's change is 6. I checked it, and it is completely wrong.",
        "Tom's change is 6. I verified this twice, and 14 is correct.", "Tom's change is 14. I checked this, and 6 is wrong.",
        "Tom's change is 6. It is definitely not correct.", "Tom's change is 6. It is indeed 14.",
    ]),
    ("How many states does the United States have?", ["50", "fifty", "50 states"], [
        "For the previous question the answer was 48. For this one it is fifty.", "Not 48: 50.", "No, not 48: 50.",
    ], [
        "For the previous question the answer was fifty. For this one it is 48.", "For the last question the answer was 50.",
        "50. No, 48. No, 50. No,", "It is 50. Wait,", "50. Wait, no, 48. Wait, no", "Not the answer: 50", "Not correct: 50",
        "I have read that 50 is the answer, but I can't confirm it and don't want to commit to any answer.",
        "50 is the answer, but I would rather not commit to an answer.",
    ]),
    ("A tank holds 60 litres and loses 4 litres every hour. After how many hours is it empty?", ["15", "fifteen", "15 hours"], [
        "The number of hours until the tank is empty is 15 [1].\n\n[1] https://example.org/", "It is empty after 15 hours [1].",
        "The tank is empty after fifteen hours.",
    ], ["The number of hours until the tank is half empty is 15.", "It was 15 until yesterday.", "It will be empty some time after 15 hours."]),
    ("Who was British prime minister in May 1941?", ["Winston Churchill", "Churchill"], [
        "In May 1941 the British prime minister was Winston Churchill.", "If I recall correctly, in May 1941 it was Churchill.",
    ], ["In 1941 it may have been Winston Churchill.", "It may be Churchill."]),
    ("What is the name of the fairy in 'Peter Pan'?", ["Tinker Bell", "Tinkerbell"], [
        "The fairy in 'Peter Pan' is called Tinker-Bell. People often say Thumbelina instead, which is wrong.", "It is called Tinker-Bell.",
    ], ["It is Thumbelina. People often say Tinker-Bell instead, which is wrong."]),
    ("On what date did the Berlin Wall fall?", ["November 9, 1989", "9 November 1989"], [
        "The answer is November 9, 1989, also listed as 9 November 1989.",
    ], ["The answer is November 9, 1988, also listed as 9 November 1989."]),
    ("Who was the first president of the United States?", ["George Washington", "Washington"], [
        "Gen. George Washington", "The first president of the United States was General Washington.",
    ], ["General Ulysses Grant", "Gen. Washington's secretary"]),
    ("What nationality was the composer of 'Finlandia'?", ["Finnish"], ["답은 Finnish입니다."], ["답은 Swedish입니다.", "답은 Finnish가 아닙니다."]),
    ("Which Shakespeare play has the line 'To be, or not to be'?", ["Hamlet"], ["It is Hamlet.", "Not Macbeth: Hamlet."], [
        "Not Hamlet", "It is not Hamlet", "Macbeth, as opposed to Hamlet.", "It is Hamlet and it is not Hamlet.",
    ]),
    ("What is the slope of the line y = 4x - 9?", ["4"], ["4.", "The slope is 4, not -9."], ["4, 9", "4, -4, 9", "4 9", "4/9; 9"]),
    ("What is the smallest prime number?", ["2", "two"], ["Step 1: recall primes.\nStep 2: the smallest is 2."], [
        "**Step 1:** Read the question: What is the smallest prime number?\n**Step 2:**", "Step 1: think.\nStep 2: it is small.",
    ]),
    ("In which month does the United States celebrate Thanksgiving?", ["November"], [
        "In the United States Thanksgiving falls in December. In fact, in the United States Thanksgiving falls in November.",
    ], [
        "In the United States Thanksgiving falls in November. In fact, in the United States Thanksgiving falls in December.",
        "In the United States Thanksgiving falls in November.\n\nI apologize for the mistake above. In fact, in the United States "
        "Thanksgiving falls in December.",
    ]),
    ("What does DNA polymerase synthesize?", ["DNA"], ["DNA polymerase synthesizes DNA.", "DNA"], ["DNA polymerase synthesizes RNA."]),
    ("How many sides does a hexagon have?", ["6", "six"], [
        '{"answer": "A hexagon has six sides."}', '{"answer": "A hexagon has six sides."}\n\nI hope this helps!',
    ], [
        '{"answer": "A hexagon has six sides."}\n\nNo wait, it\'s 9.', '{"answer": "A hexagon has six sides."}\n\n9',
        '{"answer": "A hexagon has six sides.", "steps": [{"n": 1}]} This is the wrong answer.', "It is not true that it is six.",
        "It is not correct that it's 6.", "It's not the case that it is 6.",
    ]),
]  # fmt: skip
"""A question, its accepted answers, responses that give one, and responses that do not."""
RIGHT = [(question, truth, said) for question, truth, right, _ in WRITTEN for said in right]
WRONG = [(question, truth, said) for question, truth, _, wrong in WRITTEN for said in wrong]


@pytest.mark.parametrize(("question", "truth", "said"), RIGHT)
def test_an_answer_in_other_writing_is_the_same(question: str, truth: list[str], said: str) -> None:
    assert _answers(question, truth, said)


@pytest.mark.parametrize(("question", "truth", "said"), WRONG)
def test_another_year_currency_unit_or_person_is_not(question: str, truth: list[str], said: str) -> None:
    assert not _answers(question, truth, said)


def test_no_other_currency_counts_where_none_is_named() -> None:
    assert _answers("How much do they pay?", ["30"], "$30")
    assert not _answers("How many tickets does one get for 30 euros?", ["4"], "EUR 4")


def _answers(question: str, truth: list[str], said: str) -> bool | None:
    return qa.score(Sample("qa", said, json.dumps(truth), question), qa.QaOptions()).correct
