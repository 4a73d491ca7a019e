"""Rewards for the form of a response, or for its similarity to a text, with one file per family.

`plain` defines exact, contains, regex and number. `data` defines JSON, YAML and XML. `fields` computes how
far two values agree. `schema` validates against a JSON Schema. `overlap` defines BLEU, ROUGE-L and chrF.
`sql` runs queries in the sandbox.
"""
