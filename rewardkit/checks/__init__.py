"""Files of prompts, looked over before they cost anything.

`run.check_files` looks at everything, `first_look` at what is cheap: it runs before training, generating and
scoring. A finding is an `error` (the row cannot be used), a `warning` (it may not be what was meant) or a
`note`.
"""
