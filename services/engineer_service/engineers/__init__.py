"""Who redesigns the environment. Each engineer is a small class: what it is asked, and what it answers.

All of them answer in text, so that reading, validation, trial and fallback are the same for everybody.
"""

from engineer_service.engineers.base import Engineer, Question
from engineer_service.engineers.checkpoint import BASE, ITSELF
from engineer_service.engineers.endpoint import Endpoint
from engineer_service.engineers.fixed import Fixed
from engineer_service.engineers.progress import Progress
from engineer_service.engineers.random_choice import RandomChoice
from engineer_service.engineers.rule import Rule
from engineer_service.engineers.threshold import Threshold
from trainee2trainer.contracts.engineer import EngineerName

ENGINEERS: dict[EngineerName, Engineer] = {
    engineer.card.name: engineer
    for engineer in (ITSELF, BASE, Endpoint(), Rule(), Threshold(), Progress(), RandomChoice(), Fixed())
}

__all__ = ["ENGINEERS", "Engineer", "Question"]
