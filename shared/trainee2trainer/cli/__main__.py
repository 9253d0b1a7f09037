"""`python -m trainee2trainer.cli`: the same as `t2t`."""

from trainee2trainer.cli import app

app()
