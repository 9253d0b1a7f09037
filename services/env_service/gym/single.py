"""One controller for all agents, as a Gymnasium environment."""

from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from env_service.gym.playing import Game, Observed, Options
from trainee2trainer.contracts.environment import EnvironmentConfig


class MapfEnv(gymnasium.Env[Observed, NDArray[np.int64]]):
    """`MapfEnv(configuration)` or `MapfEnv(instance=...)`; an action is one number per agent, in the order UP,
    DOWN, LEFT, RIGHT, WAIT. `reset(seed=s)` plays the board that an episode of the service with seed s has.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 2}  # noqa: RUF012 - gymnasium's own declaration

    def __init__(
        self,
        configuration: EnvironmentConfig | None = None,
        *,
        render_mode: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        self._game = Game(configuration, **options)
        self.render_mode = render_mode
        self.observation_space: spaces.Space[Any] = self._game.space()
        self.action_space = spaces.MultiDiscrete([5] * self._game.agents)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """The board of `seed`; without one, of the next number that the last seed leads to."""
        super().reset(seed=seed)
        return self._game.reset(seed, self.np_random), {}

    def step(self, action: NDArray[np.int64]) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        seen = self._game.step([int(number) for number in action])
        game = self._game
        return seen, game.reward, game.terminated, game.truncated, game.info

    def render(self) -> str | None:
        return self._game.text() if self.render_mode == "ansi" else None
