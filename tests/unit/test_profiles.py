"""The rungs of the ladder: what a request leaves out, and how their training is started."""

import sys
from pathlib import Path

import pytest
from campaign_world import CONFIGURATION

from trainee2trainer.artefacts import MANIFEST, checkpoint_folder
from trainee2trainer.contracts.campaign import (
    CampaignCreate,
    TrainingJobCreate,
    TrainingSettings,
    ValidationSettings,
)
from trainee2trainer.store import Store
from trainer_service import checkpoints, rules, training_run
from trainer_service.profiles import PROFILES, filled
from trainer_service.settings import TrainerSettings

SMALL = PROFILES["small"]


def test_what_a_request_leaves_out_is_its_profiles() -> None:
    request = filled(CampaignCreate(profile="small", configuration=CONFIGURATION))
    assert request.training == SMALL.training
    assert request.validation == SMALL.validation
    assert request.template == "plain-v1"


def test_what_a_request_says_stands_field_by_field() -> None:
    asked = TrainingSettings(rollouts=64, lora=None)
    request = filled(
        CampaignCreate(
            profile="small",
            configuration=CONFIGURATION,
            template="compact-v1",
            training=asked,
            validation=ValidationSettings(samples=4),
        )
    )
    assert request.training == SMALL.training.model_copy(update={"rollouts": 64, "lora": None})
    assert request.validation == SMALL.validation.model_copy(update={"samples": 4})
    assert request.template == "compact-v1"


def test_nano_is_what_the_contract_says() -> None:
    request = TrainingJobCreate(configuration=CONFIGURATION)
    assert filled(request) == request


@pytest.mark.parametrize("name", PROFILES)
def test_a_profiles_own_settings_fulfil_the_rules(name: str) -> None:
    rules.budget(PROFILES[name].training)
    rules.validation_sets(filled(CampaignCreate(profile=name, configuration=CONFIGURATION)))


def command(**settings: object) -> list[str]:
    return training_run._command(TrainerSettings.model_validate(settings), "played", "spec.json")


def test_one_process_is_started_as_it_is() -> None:
    assert command() == [sys.executable, "played", "spec.json"]


def test_several_are_started_by_accelerate_in_an_environment_of_their_own() -> None:
    told = command(
        training_processes=4,
        training_python="/opt/vllm/bin/python",
        training_accelerate_config="/etc/fsdp.yaml",
    )
    assert told[:2] == ["/opt/vllm/bin/python", "trainer_service.training.launcher"]
    assert told[2:] == [
        "--config_file",
        "/etc/fsdp.yaml",
        "--num_processes",
        "4",
        "--module",
        "played",
        "spec.json",
    ]


async def test_a_local_model_becomes_its_profiles_start(tmp_path: Path, store: Store, data_dir: Path) -> None:
    model = tmp_path / "downloaded"
    (model / "onnx").mkdir(parents=True)
    for name in ("config.json", "model.safetensors", "merges.txt", "README.md", "pytorch_model.bin"):
        (model / name).write_text(name)
    await checkpoints.register_shipped(store, data_dir, {"small": model})
    folder = await checkpoints.find(store, data_dir, SMALL.checkpoint)
    assert folder == checkpoint_folder(data_dir, "small-start")
    names = {path.name for path in folder.iterdir()}
    assert names == {MANIFEST, "config.json", "model.safetensors", "merges.txt"}
