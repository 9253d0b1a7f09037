"""`progress`: data goes to the map sizes whose valid rate moves, up or down (absolute learning progress).

After Portelas et al. 2019, with map sizes as the arms of the bandit and one measurement a stage; the other knobs stay.
"""

from engineer_service.context import Context
from engineer_service.engineers.base import Question, written
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, EngineerName, SizeSummary, StageSummary
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs

EXPLORING = 0.3
"""Share of the data spread evenly: what is never trained on cannot show progress."""
_START = SizeKnobs(data_ratio=0.0, hole_ratio=0.2, wait_ratio=0.2)


class Progress:
    card = EngineerCard(
        name=EngineerName.PROGRESS,
        description="Data in proportion to how much each size's valid rate moved; holes and waits stay.",
        needs_policy=False,
    )
    attempts = False

    def prompt(self, question: Question) -> list[Message]:
        return []

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        summary = question.summary
        moved = {size.size: _progress(size, summary) for size in summary.sizes}
        total, even = sum(moved.values()), 1 / len(moved)
        sizes = {}
        for size in summary.sizes:
            share = moved[size.size] / total if total else even
            knobs = size.configured or _START
            data = EXPLORING * even + (1 - EXPLORING) * share
            sizes[size.size] = knobs.model_copy(update={"data_ratio": data})
        configuration = EnvironmentConfig(agents=summary.configuration.agents, sizes=sizes)
        return written(configuration, "data where something moves")


def _progress(size: SizeSummary, summary: StageSummary) -> float:
    before = summary.history[-1].sizes.get(size.size) if summary.history else None
    return 0.0 if before is None else abs(size.validation.valid - before)
