"""Rewards for the form of a response, or for its similarity to a text. Each has a file of its own.

`plain` has exact, contains, regex and number. `data` has JSON, YAML and XML. `fields` computes the share of
one value in another. `schema` has JSON Schema. `overlap` has BLEU, ROUGE-L and chrF. `sql` runs queries in
the sandbox.
"""
