"""What went wrong, told in words instead of a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from stamina import instrumentation

from trainee2trainer.client import ClientError, UnreachableError
from trainee2trainer.stack import StackError


@contextmanager
def told() -> Iterator[None]:
    """Errors that the user can do something about end the command with their message."""
    instrumentation.set_on_retry_hooks([])  # log lines for services; here only what came of it counts
    try:
        yield
    except UnreachableError as error:
        sys.exit(f"error: {error}\nIs a stack running there? t2t up starts one; T2T_PORT_BASE says where.")
    except (ClientError, StackError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
