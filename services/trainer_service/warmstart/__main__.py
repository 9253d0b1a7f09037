"""`python -m trainer_service.warmstart [FOLDER]`: makes the nano rung's starting checkpoint and its report."""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from trainee2trainer import artefacts
from trainee2trainer.client import EngineerClient, EnvClient
from trainee2trainer.models import checkpoints, nano
from trainer_service.profiles import shipped
from trainer_service.seeds import derive
from trainer_service.settings import TrainerSettings
from trainer_service.warmstart import lessons, measuring
from trainer_service.warmstart.learning import learn
from trainer_service.warmstart.settings import EvaluationSettings, WarmstartSettings

REPORT = "warmstart.json"


async def make(folder: Path, settings: WarmstartSettings) -> dict[str, Any]:
    """Fetches lessons, learns, measures; puts checkpoint and report into `folder`. Returns the report."""
    services = TrainerSettings()
    tokenizer = nano.tokenizer()
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    model = nano.model(derive(settings.seed, "weights"))
    async with EnvClient(services.url("env")) as env, EngineerClient(services.url("engineer")) as engineer:
        print("Fetching boards and exchanges ...", flush=True)
        plans = await lessons.plans(env, tokenizer, settings)
        exchanges = await lessons.exchanges(engineer, tokenizer, settings)
        seconds = _learn(model, plans, exchanges, settings)
        report = await _report(env, engineer, model, tokenizer, settings)
    _publish(model, tokenizer, report, folder)
    print(json.dumps(report, indent=2), f"\nLearning took {seconds:.0f} s.")
    return report


def _learn(
    model: PreTrainedModel,
    plans: list[lessons.Lesson],
    exchanges: list[lessons.Lesson],
    settings: WarmstartSettings,
) -> float:
    started = time.perf_counter()
    columns = (
        TextColumn("learning"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"),
    )
    with Progress(*columns, TimeRemainingColumn()) as progress:
        task = progress.add_task("learning", total=settings.steps, loss=0.0)
        learn(
            model,
            plans,
            exchanges,
            settings,
            lambda step, loss: progress.update(task, completed=step, loss=loss),
        )
    return time.perf_counter() - started


async def _report(
    env: EnvClient,
    engineer: EngineerClient,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    settings: WarmstartSettings,
) -> dict[str, Any]:
    """No times and no machine in it: the same seed gives the same bytes."""
    sizes, evaluation = sorted(settings.configuration.sizes), EvaluationSettings()
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "settings": settings.model_dump(mode="json"),
        "evaluation": evaluation.model_dump(mode="json"),
        "plans": await measuring.plans(env, model, tokenizer, sizes, evaluation),
        "engineer": await measuring.exchanges(engineer, model, tokenizer, sizes, evaluation),
    }


def _publish(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, report: dict[str, Any], folder: Path
) -> None:
    """Replaces `folder` by the new checkpoint, whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".warmstart-") as scratch:
        fresh = Path(scratch) / "checkpoint"
        checkpoints.save(model, tokenizer, fresh)
        (fresh / REPORT).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        artefacts.seal(fresh)
        if folder.exists():
            shutil.rmtree(folder)
        artefacts.publish(fresh, folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="t2t warmstart", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=shipped("nano-v1"), help="where it is put")
    parser.add_argument("--seed", type=int, default=WarmstartSettings().seed)
    parser.add_argument("--steps", type=int, default=WarmstartSettings().steps)
    arguments = parser.parse_args()
    settings = WarmstartSettings(seed=arguments.seed, steps=arguments.steps)
    asyncio.run(make(arguments.folder, settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
