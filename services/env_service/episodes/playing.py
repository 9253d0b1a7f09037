"""An episode is its board and its actions: everything else follows from executing them."""

from collections.abc import Sequence
from typing import NamedTuple

from env_service.boards import Task, to_task
from env_service.grid import ACTIONS, to_cell
from env_service.prompts import GOAL_MARKS, START_MARKS
from env_service.records import agent_tasks, holes_of
from env_service.rules import Execution, Plan, execute, execute_all
from env_service.solver.certificate import Optima
from env_service.verifier import Item, judge_all
from trainee2trainer.contracts.base import Contract
from trainee2trainer.contracts.environment import Action, BoardTask, FailureCategory, Outcome, RewardWeights
from trainee2trainer.contracts.episode import EndReason, Episode, Observation

LETTERS = "UDLRW"
_NUMBER = {action: number for number, action in enumerate(ACTIONS)}
FEWEST_STEPS, STEPS_PER_OPTIMAL = 16, 4


class Setup(Contract):
    """What an episode was begun with."""

    instance_id: str | None
    board: BoardTask
    optimal_makespan: int
    optimal_sum_of_costs: int
    max_steps: int
    rewards: RewardWeights


class Position(NamedTuple):
    """An episode as the store has it: a letter per action, the agents of a step one after the other."""

    id: str
    setup: Setup
    actions: str
    ended: EndReason | None

    @property
    def agents(self) -> int:
        return len(self.setup.board.agents)

    @property
    def steps(self) -> int:
        return len(self.actions) // self.agents


def begin(
    task: Task, optima: Optima, instance_id: str | None, max_steps: int | None, rewards: RewardWeights
) -> Setup:
    return Setup(
        instance_id=instance_id,
        board=BoardTask(size=task.size, holes=holes_of(task), agents=agent_tasks(task)),
        optimal_makespan=optima.makespan,
        optimal_sum_of_costs=optima.sum_of_costs,
        max_steps=max_steps or max(FEWEST_STEPS, STEPS_PER_OPTIMAL * optima.makespan),
        rewards=rewards,
    )


def spelled(actions: Sequence[Action]) -> str:
    """A step as it is stored."""
    return "".join(LETTERS[_NUMBER[action]] for action in actions)


def advance(position: Position, actions: Sequence[Action]) -> Position:
    """The episode one step later, ended if that broke a rule, brought everybody home, or was the last one."""
    after = position._replace(actions=position.actions + spelled(actions))
    run = execute(to_task(after.setup.board), _plan(after))
    if run.first is not None and run.first.category is not FailureCategory.GOAL_NOT_REACHED:
        return after._replace(ended=EndReason.VIOLATION)
    if run.valid:
        return after._replace(ended=EndReason.SOLVED)
    return after._replace(ended=EndReason.STEP_LIMIT if after.steps >= after.setup.max_steps else None)


def describe(position: Position) -> Episode:
    """The episode as it is told."""
    setup = position.setup
    task = to_task(setup.board)
    run = execute(task, _plan(position))
    played = position.ended not in (None, EndReason.CLOSED, EndReason.IDLE)
    outcome = _outcome(position, task) if played else None
    return Episode(
        id=position.id,
        step=position.steps,
        max_steps=setup.max_steps,
        board=setup.board,
        observation=_observe(task, run),
        done=position.ended is not None,
        ended=position.ended,
        reward=outcome.reward if outcome else None,
        outcome=outcome,
    )


def _plan(position: Position) -> Plan:
    numbers = [LETTERS.index(letter) for letter in position.actions]
    return [numbers[agent :: position.agents] for agent in range(position.agents)]


def _outcome(position: Position, task: Task) -> Outcome:
    setup = position.setup
    optima = Optima(setup.optimal_makespan, setup.optimal_sum_of_costs)
    item = Item(task, optima, _plan(position), setup.instance_id)
    return judge_all([item], setup.rewards, execute_all)[0]


def _observe(task: Task, run: Execution) -> Observation:
    cells = run.trajectory[-1]
    return Observation(
        text=_text(task, cells),
        grid=_grid(task, cells),
        positions=[to_cell(task.size, cell) for cell in cells],
        goals=[to_cell(task.size, cell) for cell in task.goals],
    )


def _text(task: Task, cells: tuple[int, ...]) -> str:
    """Like the board of a prompt, with each agent's letter where the agent is now."""
    marks = dict(zip(task.goals, GOAL_MARKS, strict=False)) | dict(zip(cells, START_MARKS, strict=False))
    lines = [" ".join(row) for row in _rows(task, marks)]
    for agent, (cell, goal) in enumerate(zip(cells, task.goals, strict=True)):
        here, there = to_cell(task.size, cell), to_cell(task.size, goal)
        home = ", on its goal" if cell == goal else f", goal {there} ({GOAL_MARKS[agent]})"
        lines.append(f"Agent {agent}: at {here} ({START_MARKS[agent]}){home}")
    return "\n".join(lines)


def _grid(task: Task, cells: tuple[int, ...]) -> list[list[str]]:
    marks = dict.fromkeys(task.goals, "G") | {cell: str(agent) for agent, cell in enumerate(cells)}
    return _rows(task, marks)


def _rows(task: Task, marks: dict[int, str]) -> list[list[str]]:
    drawn = [marks.get(cell, "H" if task.holes >> cell & 1 else "F") for cell in range(task.size**2)]
    return [drawn[start : start + task.size] for start in range(0, len(drawn), task.size)]
