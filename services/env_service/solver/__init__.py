"""Exact solver for small boards: sum of costs and makespan optima, with a certificate of what needs a wait.

`certificate` asks the questions; `search` answers them by Conflict-Based Search (Sharon et al. 2015) over
`paths`; `joint` searches all agents at once where the former gives up, and proves what has no solution. All
in plain Python: the reference for, and the stand-in of, the compiled core.
"""
