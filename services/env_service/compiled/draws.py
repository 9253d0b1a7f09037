"""The loop over draws: mirrors `drawing` and `candidates`."""

from typing import NamedTuple

import numpy as np

from env_service.boards import HELD_OUT_BELOW
from env_service.compiled.bits import ZERO, Word, high_bit, low_bit
from env_service.compiled.board import AGENTS, CELLS, Array, Tables, ground_of
from env_service.compiled.cache import compiled, entry
from env_service.compiled.certificate import CERTIFIED, EXHAUSTED, PARITY, Solver, certify
from env_service.compiled.dice import bring_forward, first_state
from env_service.compiled.forms import Sheet, form, make_sheet
from env_service.compiled.lanes import TIMES
from env_service.compiled.seeded import draw as draw_seeded

_HELD_OUT_BELOW = np.uint64(HELD_OUT_BELOW)

# The places of rejections; the first three are the solver's verdicts, less one.
WRONG_SPLIT, WRONG_WAIT, CAUSES = 3, 4, 5


class Found(NamedTuple):
    """What a search of several streams found, row by row of all requests: `count[r]` rows of request r are filled.

    `rejected` counts draws rejected before each row; `dry[r]` those at the end of a dry stream, else -1. `deck`,
    `board`, `causes` and `sheet` are memory for the draw at hand.
    """

    count: Array
    dry: Array
    draw: Array
    cells: Array
    holes: Array
    form: Array
    values: Array
    plan: Array
    arrival: Array
    rejected: Array
    deck: Array
    board: Array
    causes: Array
    sheet: Sheet


def make_found(requests: int, rows: int, holes: int) -> Found:
    """Room for the answers to `requests` requests for `rows` candidates in all."""
    return Found(
        count=np.zeros(requests, np.int64),
        dry=np.full((requests, CAUSES), -1, np.int64),
        draw=np.zeros(rows, np.int64),
        cells=np.zeros((rows, 2 * AGENTS), np.int64),
        holes=np.zeros((rows, holes), np.int64),
        form=np.zeros(rows, np.uint64),
        values=np.zeros((rows, 3), np.int64),
        plan=np.zeros((rows, AGENTS, TIMES), np.uint8),
        arrival=np.zeros((rows, AGENTS), np.int64),
        rejected=np.zeros((rows, CAUSES), np.int64),
        deck=np.zeros(CELLS, np.int64),
        board=np.zeros(CELLS, np.int64),
        causes=np.zeros(CAUSES, np.int64),
        sheet=make_sheet(),
    )


@compiled
def draw(
    tables: Tables,
    solver: Solver,
    agents: int,
    holes: int,
    seeded: bool,
    key: Word,
    number: int,
    found: Found,
) -> None:
    """Puts starts, goals and holes of a draw to the front of the deck."""
    state = first_state(key, number)
    if seeded:
        draw_seeded(tables, solver.joint, agents, holes, state, found.deck, found.board)
    else:
        bring_forward(tables.size * tables.size, 2 * agents + holes, state, found.deck)


@compiled
def _examine(
    tables: Tables,
    solver: Solver,
    agents: int,
    holes: int,
    needs_wait: bool,
    held_out: bool,
    cells: Array,
    sheet: Sheet,
) -> tuple[int, Word]:
    """-1 if the drawn board fits, else the place of the cause; and its form."""
    starts, goals = cells[:agents], cells[agents : 2 * agents]
    hole_cells = cells[2 * agents : 2 * agents + holes]
    form_ = form(tables, starts, goals, hole_cells, sheet)
    if (form_ < _HELD_OUT_BELOW) != held_out:
        return WRONG_SPLIT, form_
    low, high = ZERO, ZERO
    for hole in hole_cells:
        low |= low_bit(hole)
        high |= high_bit(hole)
    verdict = certify(ground_of(tables, low, high), tables, solver, starts, goals)
    if verdict != CERTIFIED:
        return verdict - 1, form_
    proof = solver.found[2]
    if (proof == PARITY or proof == EXHAUSTED) != needs_wait:
        return WRONG_WAIT, form_
    return -1, form_


@entry
def find(
    tables: Tables,
    solver: Solver,
    agents: int,
    holes: int,
    seeded: bool,
    needs_wait: bool,
    held_out: bool,
    max_draws: int,
    keys: Array,
    firsts: Array,
    wanted: Array,
    found: Found,
) -> None:
    """Answers requests for one recipe and split: the streams `keys`, from draw `firsts`, `wanted` candidates each."""
    cells, rejected = found.deck, found.causes
    row = 0
    for request in range(len(keys)):
        number = firsts[request]
        end = row + wanted[request]
        while row < end:
            rejected[:] = 0
            cause, form_ = 0, ZERO
            for _ in range(max_draws):
                draw(tables, solver, agents, holes, seeded, keys[request], number, found)
                number += 1
                cause, form_ = _examine(
                    tables, solver, agents, holes, needs_wait, held_out, cells, found.sheet
                )
                if cause < 0:
                    break
                rejected[cause] += 1
            if cause >= 0:
                for place in range(CAUSES):
                    found.dry[request, place] = rejected[place]
                break
            found.count[request] += 1
            _write(found, row, number - 1, form_, cells, agents, holes, solver, rejected)
            row += 1
        row = end


@compiled
def _write(
    found: Found,
    row: int,
    number: int,
    form_: Word,
    cells: Array,
    agents: int,
    holes: int,
    solver: Solver,
    rejected: Array,
) -> None:
    found.draw[row] = number
    found.form[row] = form_
    for place in range(2 * agents):
        found.cells[row, place] = cells[place]
    for place in range(holes):
        found.holes[row, place] = cells[2 * agents + place]
    for place in range(len(solver.found)):
        found.values[row, place] = solver.found[place]
    for agent in range(agents):
        found.arrival[row, agent] = solver.arrival[agent]
        for time in range(solver.arrival[agent]):
            found.plan[row, agent, time] = solver.plan[agent, time]
    for cause in range(CAUSES):
        found.rejected[row, cause] = rejected[cause]


@entry
def certify_one(
    tables: Tables, solver: Solver, starts: Array, goals: Array, hole_low: Word, hole_high: Word
) -> int:
    """The certificate of one board, in the solver's `found`, `plan` and `arrival`."""
    return certify(ground_of(tables, hole_low, hole_high), tables, solver, starts, goals)
