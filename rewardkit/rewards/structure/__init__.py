"""Rewards on the form of a response or on one text compared with another, each in a file of its own:

`plain` exact, contains, regex and number; `data` JSON, YAML and XML; `fields` how much of one value is in
another; `schema` JSON Schema; `overlap` BLEU, ROUGE-L and chrF; `sql` queries, run in the sandbox.
"""
