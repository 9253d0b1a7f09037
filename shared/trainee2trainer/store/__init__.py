"""The SQL store: the truth about everything that was accepted, made or decided."""

from trainee2trainer.store.database import Store, new_id, utcnow

__all__ = ["Store", "new_id", "utcnow"]
