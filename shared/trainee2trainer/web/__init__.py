"""What every service's HTTP face has in common."""

from trainee2trainer.web.app import create_app
from trainee2trainer.web.serve import serve

__all__ = ["create_app", "serve"]
