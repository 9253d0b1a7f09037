"""The interfaces as committed, and a client method for each of their operations."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainee2trainer import client
from trainee2trainer.settings import SERVICES

sys.path.insert(0, str(Path(__file__).parents[2] / "openapi"))
import snapshots

CLIENTS = {
    "env": client.EnvClient,
    "policy": client.PolicyClient,
    "engineer": client.EngineerClient,
    "trainer": client.TrainerClient,
}
METHODS = {
    "health-live": "live",
    "health-ready": "ready",
    "environments-list_environments": "environments",
    "instances-generate": "generate",
    "instances-get_instance": "instance",
    "pictures-draw_svg": "picture",
    "pictures-draw_gif": "animation",
    "pictures-draw_text": "text_picture",
    "exchange-get_map": "movingai_map",
    "exchange-get_scenario": "movingai_scenario",
    "exchange-import_instances": "import_instances",
    "episodes-create": "create_episode",
    "episodes-get": "episode",
    "episodes-step": "step",
    "episodes-close": "close_episode",
    "benchmarks-list_benchmarks": "benchmarks",
    "benchmarks-get_benchmark": "benchmark",
    "benchmarks-get_instances": "benchmark_instances",
    "benchmarks-get_parquet": "benchmark_parquet",
    "benchmarks-evaluate": "evaluate",
    "verify-verify": "verify",
    "verify-verify_batch": "verify_batch",
    "rollouts-create_rollouts": "rollouts",
    "openai-create_chat_completion": "chat",
    "openai-create_completion": "completions",
    "openai-list_models": "models",
    "openai-get_model": "model",
    "checkpoints-list_checkpoints": "checkpoints",
    "checkpoints-get_checkpoint": "checkpoint",
    "checkpoints-activate_checkpoint": "activate",
    "engineers-list_engineers": "engineers",
    "summaries-create_summary": "summarise",
    "summaries-get_summary": "summary",
    "proposals-create_proposal": "propose",
    "proposals-list_proposals": "proposals",
    "proposals-get_proposal": "proposal",
    "proposals-approve_proposal": "approve",
    "proposals-reject_proposal": "reject",
    "exchanges-generate": "exchanges",
    "campaigns-create": "create_campaign",
    "campaigns-list_campaigns": "campaigns",
    "campaigns-get": "campaign",
    "campaigns-pause": "pause_campaign",
    "campaigns-resume": "resume_campaign",
    "campaigns-cancel": "cancel_campaign",
    "stages-list_stages": "all_stages",
    "stages-list_of_campaign": "stages",
    "events-of_campaign": "campaign_events",
    "events-of_training_job": "training_job_events",
    "reports-get_report": "report",
    "reports-get_report_page": "report_html",
    "comparisons-create": "create_comparison",
    "comparisons-list_comparisons": "comparisons",
    "comparisons-get": "comparison",
    "comparisons-cancel": "cancel_comparison",
    "comparisons-get_report": "comparison_report",
    "comparisons-get_report_page": "comparison_report_html",
    "training-jobs-create": "create_training_job",
    "training-jobs-list_jobs": "training_jobs",
    "training-jobs-get": "training_job",
    "training-jobs-pause": "pause_training_job",
    "training-jobs-resume": "resume_training_job",
    "training-jobs-cancel": "cancel_training_job",
    "profiles-list_profiles": "profiles",
}


def _operations(service: str) -> Iterator[str]:
    for methods in snapshots.document(service)["paths"].values():
        for operation in methods.values():
            yield operation["operationId"]


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name not in snapshots.services():
        pytest.skip(f"there is no {name} service here")
    return name


def test_the_committed_interface_is_the_present_one(service: str) -> None:
    committed = snapshots.path(service)
    assert committed.exists(), "make openapi"
    same = committed.read_text(encoding="utf-8") == snapshots.snapshot(service)
    assert same, f"the interface of {service} has changed: make openapi, and look at the difference"


def test_every_operation_has_a_client_method(service: str) -> None:
    for operation in _operations(service):
        assert operation in METHODS, f"{operation} of {service} has no client method"
        assert callable(getattr(CLIENTS[service], METHODS[operation], None)), operation


def test_operation_ids_are_unique_and_every_error_has_the_one_shape(service: str) -> None:
    operations = list(_operations(service))
    assert len(operations) == len(set(operations))
    for path, methods in snapshots.document(service)["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                if not status.startswith("2") and path != "/readyz":
                    schema = {"$ref": "#/components/schemas/Problem"}
                    assert answer["content"] == {"application/problem+json": {"schema": schema}}, (
                        method,
                        path,
                    )
