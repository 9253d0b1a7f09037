"""Clients of the services, one class per service, asynchronous; `blocking` wraps one for notebooks."""

from trainee2trainer.client.blocking import Blocking, blocking
from trainee2trainer.client.engineer import EngineerClient
from trainee2trainer.client.env import EnvClient
from trainee2trainer.client.errors import ClientError, ProblemError, UnreachableError
from trainee2trainer.client.policy import PolicyClient
from trainee2trainer.client.trainer import TrainerClient

__all__ = [
    "Blocking",
    "ClientError",
    "EngineerClient",
    "EnvClient",
    "PolicyClient",
    "ProblemError",
    "TrainerClient",
    "UnreachableError",
    "blocking",
]
