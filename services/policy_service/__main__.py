"""`python -m policy_service`: serve on the configured address."""

from policy_service.app import create_app
from policy_service.settings import PolicySettings
from trainee2trainer.web import serve


def main() -> None:
    settings = PolicySettings()
    serve(create_app(settings), "policy", settings)


if __name__ == "__main__":
    main()
