"""`python -m engineer_service`: serve on the configured address."""

from engineer_service.app import create_app
from engineer_service.settings import EngineerSettings
from trainee2trainer.web import serve


def main() -> None:
    settings = EngineerSettings()
    serve(create_app(settings), "engineer", settings)


if __name__ == "__main__":
    main()
