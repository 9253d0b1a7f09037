"""`threshold`: each map size's difficulty follows its own accuracy, as RLVE's controller does for its tasks.

Above the window a size gets harder by one notch, below it easier; data is shared equally. One notch is a bit of
both knobs, the order of which cannot matter to a rule that knows nothing of them.
"""

from engineer_service.context import Context
from engineer_service.engineers.base import Question, written
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, EngineerName, SizeSummary
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs

TOO_HARD, TOO_EASY = 0.4, 0.7
"""The window of valid rates in training that is left alone."""
HOLE_NOTCH, WAIT_NOTCH = 0.05, 0.15
MAX_HOLES = 0.5
_UNTRAINED = SizeKnobs(data_ratio=0.0, hole_ratio=0.0, wait_ratio=0.0)


class Threshold:
    card = EngineerCard(
        name=EngineerName.THRESHOLD,
        description="Harder where a size is valid more often than 70 %, easier below 40 %.",
        needs_policy=False,
    )
    attempts = False

    def prompt(self, question: Question) -> list[Message]:
        return []

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        sizes = {size.size: _moved(size) for size in question.summary.sizes}
        agents = question.summary.configuration.agents
        return written(EnvironmentConfig(agents=agents, sizes=sizes), "accuracy within its window")


def _moved(size: SizeSummary) -> SizeKnobs:
    knobs = size.configured or _UNTRAINED
    # What was not trained on is judged by its validation.
    accuracy = (size.training if size.training and size.training.samples else size.validation).valid
    direction = (accuracy > TOO_EASY) - (accuracy < TOO_HARD)
    return SizeKnobs(
        data_ratio=1.0,
        hole_ratio=min(MAX_HOLES, max(0.0, knobs.hole_ratio + direction * HOLE_NOTCH)),
        wait_ratio=min(1.0, max(0.0, knobs.wait_ratio + direction * WAIT_NOTCH)),
    )
