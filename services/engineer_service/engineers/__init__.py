"""Who redesigns the environment. Each engineer is a small class: what it is asked, and what it answers.

All of them answer in text, so that reading, validation, trial and fallback are the same for everybody.
"""

from engineer_service.engineers.base import Engineer, Question
from engineer_service.engineers.fixed import Fixed
from engineer_service.engineers.itself import Itself
from engineer_service.engineers.random_choice import RandomChoice
from trainee2trainer.contracts.engineer import EngineerName

ENGINEERS: dict[EngineerName, Engineer] = {
    engineer.card.name: engineer for engineer in (Itself(), Fixed(), RandomChoice())
}

__all__ = ["ENGINEERS", "Engineer", "Question"]
