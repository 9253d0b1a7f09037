"""`python -m env_service`: serve on the configured address."""

from env_service.app import create_app
from env_service.settings import EnvSettings
from trainee2trainer.web import serve


def main() -> None:
    settings = EnvSettings()
    serve(create_app(settings), "env", settings)


if __name__ == "__main__":
    main()
