"""The host: a process that runs somebody else's reward, under any Python from 3.9 on.

It is started as a package of its own, without ours: the standard library alone, and nothing imported from
outside this folder. `serving` speaks to the client, `loading` finds the target, `shapes` calls functions,
`libraries` what some packages have instead, `results` reads what comes back.
"""
