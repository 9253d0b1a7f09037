"""Who works on what: a lease in the store decides, a queue over Redis delivers, a reconciler repairs."""

from trainee2trainer.jobs.leases import Lease, StaleLease, claim, hold, release, renew, working
from trainee2trainer.jobs.queue import Queue
from trainee2trainer.jobs.reconciler import due, reconcile, reconcile_until
from trainee2trainer.jobs.subjects import LeasedRecord, SubjectKind

__all__ = [
    "Lease",
    "LeasedRecord",
    "Queue",
    "StaleLease",
    "SubjectKind",
    "claim",
    "due",
    "hold",
    "reconcile",
    "reconcile_until",
    "release",
    "renew",
    "working",
]
