"""The solver and the loop over draws, compiled by numba: the same results as plain Python, instance for instance.

Importing this package needs numba; `env_service.core` does without it where it is missing. Every module mirrors one
of plain Python, whose docstrings explain the method: `bits` and `board` mirror `grid`, `lanes` mirrors
`solver.paths`, then `search`, `joint` and `certificate`; `forms` mirrors `boards`, `draws` mirrors `drawing` and
`candidates`. Integers stay signed or unsigned throughout: numba would turn a mixture into a float.
"""
