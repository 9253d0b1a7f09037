"""The SQL store: the truth about everything that was accepted, made or decided."""

from trainee2trainer.store.database import RawJson, Store, database_now, new_id, utcnow

__all__ = ["RawJson", "Store", "database_now", "new_id", "utcnow"]
