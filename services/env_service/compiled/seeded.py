"""Draws in which two agents meet: mirrors the conflict-seeded sampler of `drawing`."""

from env_service.compiled.bits import ZERO, Word, count, has, high_bit, low_bit, spread
from env_service.compiled.board import Array, Ground, Tables, ground_of
from env_service.compiled.cache import compiled
from env_service.compiled.dice import bring_forward, next_state, scaled
from env_service.compiled.joint import Joint, measure
from env_service.drawing import CROSSINGS, MAX_APPROACH

# Rows of `joint.distance` that a draw uses; the solver fills all of them anew.
_CROSSING, _START = 0, 1


@compiled
def draw(
    tables: Tables, joint: Joint, agents: int, holes: int, state: Word, cells: Array, board: Array
) -> None:
    """Fills `cells` with starts, goals and holes, like a uniform draw. `board` is memory for one bit per cell."""
    total = tables.size * tables.size
    state = bring_forward(total, holes, state, board)
    low, high = ZERO, ZERO
    for place in range(holes):
        cells[2 * agents + place] = board[place]
        low |= low_bit(board[place])
        high |= high_bit(board[place])
    ground = ground_of(tables, low, high)
    for cell in range(total):
        board[cell] = 1 if has(ground.free_low, ground.free_high, cell) else 0
    crossing, fewest = -1, 5
    for _ in range(CROSSINGS):
        state = next_state(state)
        cell = _nth(board, total, scaled(state, total - holes))
        degree = _degree(ground, cell)
        if degree < fewest:
            crossing, fewest = cell, degree
    state = next_state(state)
    steps = 1 + scaled(state, MAX_APPROACH)
    measure(ground, joint, _CROSSING, crossing)
    for agent in range(2):
        state = next_state(state)
        cells[agent] = _pick_at(joint, board, total, steps, state)
    for agent in range(2):
        state = next_state(state)
        measure(ground, joint, _START, cells[agent])
        cells[agents + agent] = _pick_beyond(joint, board, total, crossing, state)
    for agent in range(2, agents):
        for place in (agent, agents + agent):
            state = next_state(state)
            cells[place] = _pick_any(board, total, state)


@compiled
def _degree(ground: Ground, cell: int) -> int:
    low, high = spread(ground, low_bit(cell), high_bit(cell))
    return count(low, high)


@compiled
def _nth(board: Array, total: int, number: int) -> int:
    """The cell of ice, not taken, with so many before it."""
    for cell in range(total):
        if board[cell] == 1:
            if number == 0:
                return cell
            number -= 1
    return -1


@compiled
def _pick_any(board: Array, total: int, state: Word) -> int:
    free = 0
    for cell in range(total):
        free += board[cell]
    cell = _nth(board, total, scaled(state, free))
    board[cell] = 0
    return cell


@compiled
def _pick_wanted(board: Array, total: int, state: Word) -> int:
    """One of the cells marked 2, else of those marked 1; takes the marks off."""
    wanted = 0
    for cell in range(total):
        wanted += board[cell] == 2
    number, chosen = scaled(state, wanted) if wanted > 0 else -1, -1
    for cell in range(total):
        if board[cell] == 2:
            board[cell] = 1
            if number == 0:
                chosen = cell
            number -= 1
    if chosen < 0:
        return _pick_any(board, total, state)
    board[chosen] = 0
    return chosen


@compiled
def _pick_at(joint: Joint, board: Array, total: int, steps: int, state: Word) -> int:
    for cell in range(total):
        if board[cell] == 1 and joint.distance[_CROSSING, cell] == steps:
            board[cell] = 2
    return _pick_wanted(board, total, state)


@compiled
def _pick_beyond(joint: Joint, board: Array, total: int, crossing: int, state: Word) -> int:
    """A cell to which a shortest way from the start leads through the crossing."""
    for cell in range(total):
        further = joint.distance[_CROSSING, cell]
        way = joint.distance[_START, cell] - joint.distance[_START, crossing]
        if board[cell] == 1 and further > 0 and further == way:
            board[cell] = 2
    return _pick_wanted(board, total, state)
