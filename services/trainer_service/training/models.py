"""The model of a stage: loaded for training, given its adapters, and saved as any other checkpoint."""

from pathlib import Path

import torch
from accelerate import Accelerator
from peft import LoraConfig, PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from trainee2trainer.contracts.training import LoraSettings
from trainee2trainer.models import checkpoints


def load(
    start: Path, lora: LoraSettings | None, device: torch.device
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, torch.dtype]:
    """On its device, and the type to save it in: that of the start, on a CPU always float32.

    Without adapters it is trained in float32: smaller types lose the small updates.
    """
    model, tokenizer = checkpoints.load(start, str(device))
    dtype = model.dtype
    return (model if lora else model.float()), tokenizer, dtype


def adapters(lora: LoraSettings | None) -> LoraConfig | None:
    # Without dropout: sampler and trainer must be one model.
    return lora and LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def plain(model: PreTrainedModel | PeftModel) -> PreTrainedModel:
    """The model inside its adapters, which work all the same."""
    return model.get_base_model() if isinstance(model, PeftModel) else model


def save(
    trained: torch.nn.Module,
    accelerator: Accelerator,
    tokenizer: PreTrainedTokenizerBase,
    dtype: torch.dtype,
    folder: Path,
) -> None:
    """Writes the whole model, adapters merged, in `dtype`. To be called in every process; the first one writes."""
    model = accelerator.unwrap_model(trained)
    if isinstance(model, PeftModel):
        model = model.merge_and_unload()
        weights = None
    else:
        # Where processes share the weights, all of them give their part.
        weights = accelerator.get_state_dict(trained) if accelerator.num_processes > 1 else None
    if accelerator.is_main_process:
        checkpoints.save(model.to(dtype).eval(), tokenizer, folder, weights)
    accelerator.wait_for_everyone()
