"""GRPO with TRL: group-relative advantages, one update per batch of fresh samples (Shao et al. 2024)."""

import os
from pathlib import Path

import torch
from accelerate import PartialState
from transformers import PreTrainedTokenizerBase, set_seed
from trl import GRPOConfig

from trainee2trainer.client import EnvClient
from trainee2trainer.client.blocking import Blocking
from trainee2trainer.contracts.campaign import TrainingSettings
from trainer_service.seeds import derive
from trainer_service.training import models
from trainer_service.training import spec as names
from trainer_service.training.data import read_dataset
from trainer_service.training.judging import Judge
from trainer_service.training.lines import Lines
from trainer_service.training.reporting import MetricsWriter
from trainer_service.training.rollouts import RolloutSampler
from trainer_service.training.saving import Saver
from trainer_service.training.sinks import Sinks
from trainer_service.training.spec import TrainingSpec
from trainer_service.training.watching import WatchedTrainer

_WARMUP_STEPS = 4
"""Adam's first steps are large: its averages are still empty at the start of every stage."""


def run(spec: TrainingSpec) -> bool:
    """Trains one stage as `spec` says and leaves its checkpoint in the folder. False when told to end before.

    With several processes each calls this; the first one writes.
    """
    torch.set_num_threads(spec.threads)
    settings, seed = spec.identity.settings, derive(spec.identity.seed, "training") % 2**31
    set_seed(seed)
    processes = PartialState(cpu=not torch.cuda.is_available())
    model, tokenizer, dtype = models.load(spec.start, settings.lora, processes.device)
    folder, first = spec.folder, processes.is_main_process
    with (
        Blocking(EnvClient(spec.env_url)) as env,
        Lines(folder / names.ROLLOUTS if first else Path(os.devnull)) as rollouts,
        Lines(folder / names.METRICS if first else Path(os.devnull)) as metrics,
        Sinks(spec.sinks if first else [], spec.run) as sinks,
    ):
        judge = Judge(env, settings.rewards, rollouts)
        saver = Saver(spec, metrics, rollouts)
        trainer = WatchedTrainer(
            model=model,
            args=configuration(settings, folder, seed, processes.num_processes, spec.vllm_url),
            reward_funcs=judge,
            train_dataset=read_dataset(folder / names.INSTANCES),
            processing_class=tokenizer,
            rollout_func=_sampler(tokenizer, spec) if settings.sampler == "own" else None,
            peft_config=models.adapters(settings.lora),
            callbacks=[MetricsWriter(judge, metrics, sinks), saver],
        )
        saver.accelerator = trainer.accelerator
        trainer.train(resume_from_checkpoint=str(spec.resume) if spec.resume else None)
    if saver.drained:
        return False
    models.save(trainer.model_wrapped, trainer.accelerator, tokenizer, dtype, folder / names.CHECKPOINT)
    return True


def _sampler(tokenizer: PreTrainedTokenizerBase, spec: TrainingSpec) -> RolloutSampler:
    settings = spec.identity.settings
    return RolloutSampler(tokenizer, spec.identity.seed, settings.temperature, settings.max_tokens)


def configuration(
    settings: TrainingSettings, folder: Path, seed: int, processes: int = 1, vllm_url: str | None = None
) -> GRPOConfig:
    """The library's settings for ours. A step is `prompts_per_step * group_size` samples and one update.

    Raises ValueError where the processes cannot share a step evenly.
    """
    samples = settings.prompts_per_step * settings.group_size
    if samples % processes:
        raise ValueError(f"A step of {samples} samples cannot be shared evenly by {processes} processes.")
    each = samples // processes
    pieces = each // _piece(each, settings.samples_at_once)
    return GRPOConfig(
        output_dir=str(folder / names.DRAFTS),
        max_steps=max(1, settings.rollouts // samples),
        per_device_train_batch_size=each // pieces,
        gradient_accumulation_steps=pieces,
        num_generations=settings.group_size,
        steps_per_generation=pieces,
        num_iterations=1,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=_WARMUP_STEPS,
        temperature=settings.temperature,
        max_completion_length=settings.max_tokens,
        epsilon=settings.clip_low,
        epsilon_high=settings.clip_high,
        beta=settings.kl_coefficient,
        loss_type=settings.loss,
        scale_rewards="group",
        seed=seed,
        use_cpu=not torch.cuda.is_available(),
        bf16=torch.cuda.is_available(),
        activation_checkpointing=settings.recompute,
        use_vllm=settings.sampler == "vllm",
        vllm_mode=settings.vllm.mode,
        vllm_gpu_memory_utilization=settings.vllm.memory_share,
        vllm_tensor_parallel_size=settings.vllm.tensor_parallel,
        vllm_server_base_url=vllm_url,
        ddp_find_unused_parameters=False,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        save_strategy="no",  # the saver says when
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
    )


def _piece(samples: int, most: int) -> int:
    """The largest number of samples, up to the limit, that divides a step evenly."""
    return next(size for size in range(min(samples, most), 0, -1) if samples % size == 0)
