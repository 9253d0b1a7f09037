"""Each agent by itself, all at once, as a PettingZoo environment."""

from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from env_service.gym.playing import Game, Observed, Options
from trainee2trainer.contracts.environment import EnvironmentConfig


class MapfParallelEnv(ParallelEnv[str, Observed, int]):
    """Every agent sees everything and earns what the joint plan earns, at the end. See `MapfEnv`."""

    metadata = {"name": "mapf_frozenlake_v0", "render_modes": ["ansi"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        configuration: EnvironmentConfig | None = None,
        *,
        render_mode: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        self._game = Game(configuration, **options)
        self.render_mode = render_mode
        self.possible_agents = [f"agent_{number}" for number in range(self._game.agents)]
        self.agents: list[str] = []
        self._random = np.random.default_rng()
        self._seen = {agent: self._game.space() for agent in self.possible_agents}
        self._acts = {agent: spaces.Discrete(5) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self._seen[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self._acts[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observed], dict[str, dict[str, Any]]]:
        """The board of `seed`; without one, of the next number that the last seed leads to."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        return self._all(self._game.reset(seed, self._random)), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        dict[str, Observed],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        game, agents = self._game, self.agents
        seen = game.step([int(actions[agent]) for agent in agents])
        result = (
            self._all(seen),
            dict.fromkeys(agents, game.reward),
            dict.fromkeys(agents, game.terminated),
            dict.fromkeys(agents, game.truncated),
            dict.fromkeys(agents, game.info),
        )
        if game.terminated or game.truncated:
            self.agents = []
        return result

    def render(self) -> str | None:
        return self._game.text() if self.render_mode == "ansi" else None

    def _all(self, seen: Observed) -> dict[str, Observed]:
        return {agent: {name: values.copy() for name, values in seen.items()} for agent in self.agents}
