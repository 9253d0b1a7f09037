"""How a policy does on boards with more agents than it was trained with."""

from pydantic import Field

from trainee2trainer.contracts.base import Contract
from trainee2trainer.contracts.engineer import Rates
from trainee2trainer.contracts.environment import MapSize


class TransferResult(Contract):
    """A checkpoint on held-out boards with another number of agents, of the validation set's sizes and ratios."""

    agents: int
    overall: Rates
    sizes: dict[MapSize, Rates] = Field(description="By map size.")
