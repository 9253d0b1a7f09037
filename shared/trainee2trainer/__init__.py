"""Trainee2Trainer: language models that redesign their own training environment."""

from importlib.metadata import version

__version__ = version("trainee2trainer")
