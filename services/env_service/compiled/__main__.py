"""`python -m env_service.compiled` compiles the core and keeps it on disk, so that nobody waits for it later."""

from env_service.compiled.core import warm

if __name__ == "__main__":
    warm()
