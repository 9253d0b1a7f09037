"""`python -m trainer_service`: serve on the configured address."""

from trainee2trainer.web import serve
from trainer_service.app import create_app
from trainer_service.settings import TrainerSettings


def main() -> None:
    settings = TrainerSettings()
    serve(create_app(settings), "trainer", settings)


if __name__ == "__main__":
    main()
