"""What both wrappers share: boards by seed, observations as arrays, and the rules of episodes."""

from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from env_service.boards import Task
from env_service.candidates import find
from env_service.episodes.playing import Position, advance, begin, describe
from env_service.generator import draw_one
from env_service.grid import ACTIONS
from env_service.records import optima_of, task_of
from env_service.solver.certificate import Optima
from trainee2trainer.contracts.environment import EnvironmentConfig, Instance, RewardWeights, Split
from trainee2trainer.contracts.episode import EndReason, Episode

Observed = dict[str, NDArray[np.int8]]

NO_CELL, ICE, HOLE = 0, 1, 2
_MAX_SEED = 2**31


class Options(TypedDict, total=False):
    """What both environments take by name: a fixed `instance` instead of a configuration, the `split` to draw from,
    `max_steps` and `rewards`, all as of episodes."""

    instance: Instance
    split: Split
    max_steps: int
    rewards: RewardWeights


class Game:
    """Boards of one configuration, or one fixed instance, played by the rules of episodes."""

    def __init__(
        self,
        configuration: EnvironmentConfig | None,
        *,
        instance: Instance | None = None,
        split: Split = Split.TRAIN,
        max_steps: int | None = None,
        rewards: RewardWeights = RewardWeights(),
    ) -> None:
        if (configuration is None) == (instance is None):
            raise ValueError("give exactly one of configuration and instance")
        self._configuration, self._instance = configuration, instance
        self._split, self._max_steps, self._rewards = split, max_steps, rewards
        self.agents = configuration.agents if configuration else len(_given(instance).agents)
        self.side = max(configuration.sizes) if configuration else _given(instance).size
        self.episode: Episode | None = None
        self._position: Position | None = None

    def space(self) -> spaces.Dict:
        """The board, padded to the largest map size, and each agent's cell and goal as (row, column)."""
        cells = spaces.Box(0, self.side - 1, (self.agents, 2), np.int8)
        board = spaces.Box(NO_CELL, HOLE, (self.side, self.side), np.int8)
        return spaces.Dict({"board": board, "positions": cells, "goals": cells})

    def reset(self, seed: int | None, random: np.random.Generator) -> Observed:
        """The board that the service draws by this seed; without one, by the next number of `random`."""
        seed = seed if seed is not None else int(random.integers(_MAX_SEED))
        task, optima = self._board(seed)
        setup = begin(task, optima, None, self._max_steps, self._rewards)
        self._position = Position("episode", setup, "", None)
        return self._look()

    def step(self, actions: list[int]) -> Observed:
        """All agents act at once. Raises ValueError before a reset and after the end."""
        if self._position is None or self._position.ended is not None:
            raise ValueError("call reset first: there is no episode, or it is over")
        self._position = advance(self._position, [ACTIONS[action] for action in actions])
        return self._look()

    @property
    def reward(self) -> float:
        """Of the whole plan: 0 until the end."""
        return (self.episode.reward or 0.0) if self.episode else 0.0

    @property
    def terminated(self) -> bool:
        return self.episode is not None and self.episode.ended in (EndReason.SOLVED, EndReason.VIOLATION)

    @property
    def truncated(self) -> bool:
        return self.episode is not None and self.episode.ended is EndReason.STEP_LIMIT

    @property
    def info(self) -> dict[str, Any]:
        """How it ended, and the verdict, once it has."""
        if self.episode is None or self.episode.outcome is None:
            return {}
        return {"ended": self.episode.ended, "outcome": self.episode.outcome.model_dump(mode="json")}

    def text(self) -> str:
        return self.episode.observation.text if self.episode else ""

    def _board(self, seed: int) -> tuple[Task, Optima]:
        if self._configuration is None:
            instance = _given(self._instance)
            return task_of(instance), optima_of(instance)
        made = draw_one(self._configuration, seed, split=self._split, find=find)
        certificate = made.candidate.certificate
        return made.candidate.task, certificate.optima

    def _look(self) -> Observed:
        assert self._position is not None
        self.episode = describe(self._position)
        board = np.full((self.side, self.side), NO_CELL, np.int8)
        size = self.episode.board.size
        board[:size, :size] = ICE
        for hole in self.episode.board.holes:
            board[hole] = HOLE
        seen = self.episode.observation
        return {
            "board": board,
            "positions": np.array(seen.positions, np.int8),
            "goals": np.array(seen.goals, np.int8),
        }


def _given(instance: Instance | None) -> Instance:
    assert instance is not None
    return instance
