"""The solver and the loop over draws, compiled by numba: the same results as plain Python, instance for instance.

Importing this package needs numba; `env_service.cores` does without it where it is missing. Every module mirrors one
of plain Python, whose docstrings explain the method: `bits` and `board` mirror `grid`, `lanes` mirrors
`solver.paths`, then `search`, `joint` and `certificate`; `forms` mirrors `boards`; `dice`, `seeded` and `draws` mirror
`drawing` and `candidates`; `plans` mirrors `rules`. `core` and `executing` are what Python calls. Integers stay signed
or unsigned throughout: numba would turn a mixture into a float.
"""
