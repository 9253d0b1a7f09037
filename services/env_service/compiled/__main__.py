"""`python -m env_service.compiled` compiles the core and keeps it on disk, so that nobody waits for it later."""

from env_service.compiled import core, executing
from env_service.cores import SMALLEST

if __name__ == "__main__":
    core.warm()
    executing.execute_all([(SMALLEST, [[], []])], 0)
