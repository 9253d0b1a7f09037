"""The things a worker works on: each is a row with a status, a lease and a fencing token."""

from enum import StrEnum

from trainee2trainer.store.tables import CampaignRecord, TrainingJobRecord

LeasedRecord = CampaignRecord | TrainingJobRecord

WORKABLE = ("queued", "running")
"""The statuses in which somebody should be working."""


class SubjectKind(StrEnum):
    CAMPAIGN = "campaign"
    TRAINING_JOB = "training_job"

    @property
    def table(self) -> type[LeasedRecord]:
        return CampaignRecord if self is SubjectKind.CAMPAIGN else TrainingJobRecord
