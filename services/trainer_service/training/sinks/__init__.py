"""Curves to where people look at them. No sink can stop, slow down or change a training."""

from trainer_service.training.sinks.fanout import Sinks

__all__ = ["Sinks"]
