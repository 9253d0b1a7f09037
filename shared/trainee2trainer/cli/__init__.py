"""`t2t`: the command line."""

from trainee2trainer.cli.main import app

__all__ = ["app"]
