"""The templates are frozen: a new wording is a new name."""

import random

from env_oracles import random_task

from env_service.boards import Task
from env_service.grid import bit_set
from env_service.plan_reader import read_plan
from env_service.prompts import TEMPLATES
from env_service.rules import execute
from env_service.solver.certificate import Certificate, certify

U, D, L, R, W = range(5)
TASK = Task(4, bit_set([6, 15]), starts=(0, 4), goals=(10, 13))
PLAN = [[R, D, D, R], [W, D, D, R]]

PLAIN = """\
2 agents stand on a frozen lake of 4x4 cells. Each must walk from its start to its own goal.

The lake, row 0 at the top and column 0 at the left (F ice, H hole, other letters starts and goals):
S F F F
s F H F
F F G F
F g F H

Starts and goals as (row, column):
Agent 0: start (0, 0) (S), goal (2, 2) (G)
Agent 1: start (1, 0) (s), goal (3, 1) (g)

Rules:
- In each step every agent does one of UP, DOWN, LEFT, RIGHT, WAIT; all agents move at once.
- No agent may leave the lake or enter a hole.
- Two agents must never stand on the same cell, and must never exchange their cells in one step.
- An agent whose actions have ended stays where it is and still fills its cell.
- At the end every agent stands on its own goal. The fewer steps until the last one arrives, the better.

Answer with one line per agent and nothing after it:
Agent 0: ACTION, ACTION, ...
Agent 1: ACTION, ACTION, ..."""


def test_plain_v1_is_frozen() -> None:
    template = TEMPLATES["plain-v1"]
    assert [message.content for message in template.prompt(TASK)] == [PLAIN]
    assert (
        template.answer(TASK, PLAN) == "Agent 0: RIGHT, DOWN, DOWN, RIGHT\nAgent 1: WAIT, DOWN, DOWN, RIGHT"
    )


def test_compact_v1_is_frozen() -> None:
    template = TEMPLATES["compact-v1"]
    assert [message.content for message in template.prompt(TASK)] == [
        "size 4 holes 1,2 3,3 agent 0,0 to 2,2 agent 1,0 to 3,1 plan"
    ]
    assert template.answer(TASK, PLAN) == (
        "RIGHT 0,1 WAIT 1,0 / DOWN 1,1 DOWN 2,0 / DOWN 2,1 DOWN 3,0 / RIGHT 2,2 RIGHT 3,1"
    )


def test_compact_v1_says_when_there_are_no_holes() -> None:
    prompt = TEMPLATES["compact-v1"].prompt(Task(3, 0, (0, 1), (2, 3)))[0].content
    assert prompt == "size 3 holes none agent 0,0 to 0,2 agent 0,1 to 1,0 plan"


def test_every_template_s_answer_is_read_back_as_a_plan_that_does_the_same() -> None:
    rng = random.Random(2)
    for _ in range(60):
        task = random_task(rng, rng.randint(3, 6), rng.randint(2, 3), 2)
        certificate = certify(task)
        if not isinstance(certificate, Certificate):
            continue
        for template in TEMPLATES.values():
            plan = read_plan(template.answer(task, certificate.plan), len(task.starts))
            assert plan is not None
            run = execute(task, plan)
            assert run.valid
            assert run.sum_of_costs == certificate.sum_of_costs
