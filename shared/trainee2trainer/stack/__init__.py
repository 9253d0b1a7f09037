"""The embedded stack: everything on this machine, started together and stopped together."""

from trainee2trainer.stack.embedded import Stack
from trainee2trainer.stack.processes import StackError

__all__ = ["Stack", "StackError"]
