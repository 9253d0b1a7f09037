"""One training stage, run in a child process of the worker: `python -m trainer_service.training SPEC`."""
