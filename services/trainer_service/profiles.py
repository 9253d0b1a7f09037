"""The rungs of the policy ladder: where each starts, and the settings that suit it."""

from dataclasses import dataclass, field
from pathlib import Path

import trainee2trainer
from trainee2trainer.contracts.campaign import Profile, TrainingSettings, ValidationSettings


@dataclass(frozen=True, slots=True)
class Rung:
    """A profile before it is known whether its checkpoint is there."""

    name: str
    description: str
    checkpoint: str
    template: str
    training: TrainingSettings = field(default_factory=TrainingSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)

    def card(self, available: bool) -> Profile:
        return Profile(
            name=self.name,
            description=self.description,
            starting_checkpoint=self.checkpoint,
            available=available,
            template=self.template,
            training=self.training,
            validation=self.validation,
        )


PROFILES = {
    rung.name: rung
    for rung in (
        Rung(
            name="nano",
            description="Less than a million parameters: trains on a laptop's CPU in minutes.",
            checkpoint="nano-v1",
            template="compact-v1",
        ),
    )
}


def shipped(checkpoint: str) -> Path:
    """Where the package carries a starting checkpoint; the folder need not exist."""
    return Path(trainee2trainer.__file__).parent / "models" / "pretrained" / checkpoint
