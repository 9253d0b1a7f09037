"""Between the numbers used in here and the contracts spoken outside."""

from env_service.boards import Task, instance_id, split_of, to_task
from env_service.drawing import GENERATOR_VERSION
from env_service.generator import Made
from env_service.grid import ACTIONS, members, to_cell
from env_service.rules import Plan
from env_service.solver.certificate import Certificate, Optima
from trainee2trainer.contracts.environment import (
    Action,
    AgentTask,
    BoardTask,
    Cell,
    Instance,
    Provenance,
    Sampler,
    Split,
)

_NUMBERS = {action: number for number, action in enumerate(ACTIONS)}


def to_instance(made: Made, configuration_id: str, seed: int, sampler: Sampler = Sampler.UNIFORM) -> Instance:
    """The instance of a generated board, with its certificates and its provenance."""
    candidate = made.candidate
    provenance = Provenance.model_construct(
        generator_version=GENERATOR_VERSION,
        configuration_id=configuration_id,
        seed=seed,
        index=made.address,
        draw=candidate.draw,
        sampler=sampler,
    )
    return certified(candidate.task, candidate.certificate, split_of(candidate.form), provenance)


def certified(
    task: Task, certificate: Certificate, split: Split, provenance: Provenance | None = None
) -> Instance:
    """The instance of a board and its certificates."""
    # What we made ourselves is not validated again: that took two thirds of the time.
    return Instance.model_construct(
        id=instance_id(task),
        size=task.size,
        holes=holes_of(task),
        agents=agent_tasks(task),
        optimal_makespan=certificate.makespan,
        optimal_sum_of_costs=certificate.sum_of_costs,
        reference_plan=[[ACTIONS[action] for action in lane] for lane in certificate.plan],
        needs_wait=certificate.needs_wait,
        wait_proof=certificate.proof,
        plan_has_wait=certificate.plan_has_wait,
        split=split,
        provenance=provenance,
    )


def holes_of(task: Task) -> list[Cell]:
    return [to_cell(task.size, hole) for hole in members(task.holes)]


def agent_tasks(task: Task) -> list[AgentTask]:
    """Each agent's start and goal."""
    return [
        AgentTask.model_construct(start=to_cell(task.size, start), goal=to_cell(task.size, goal))
        for start, goal in zip(task.starts, task.goals, strict=True)
    ]


def task_of(instance: Instance) -> Task:
    """The bare board of an instance."""
    return to_task(BoardTask(size=instance.size, holes=instance.holes, agents=instance.agents))


def optima_of(instance: Instance) -> Optima:
    return Optima(instance.optimal_makespan, instance.optimal_sum_of_costs)


def to_plan(plan: list[list[Action]]) -> Plan:
    """A contract's plan as action numbers."""
    return [[_NUMBERS[action] for action in lane] for lane in plan]
