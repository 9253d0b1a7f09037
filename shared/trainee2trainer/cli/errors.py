"""What went wrong, told in words instead of a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from trainee2trainer.client import ClientError
from trainee2trainer.stack import StackError


@contextmanager
def told() -> Iterator[None]:
    """Errors that the user can do something about end the command with their message."""
    try:
        yield
    except (ClientError, StackError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
