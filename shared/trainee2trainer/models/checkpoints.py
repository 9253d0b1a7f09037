"""Models and tokenizers, to and from a checkpoint directory in the Hugging Face layout."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

# Progress bars are for people at a terminal; ours are processes that log.
logging.disable_progress_bar()

_HOW_IT_WAS_LOADED = ("is_local", "local_files_only")


def load(folder: Path, device: str = "cpu") -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model, ready to answer, and its tokenizer: float32 on a CPU, else as stored.

    Safetensors only, nothing from the network, no code from the checkpoint. Raises OSError or ValueError
    where the directory holds no whole model that transformers knows.
    """
    try:
        model, found = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=torch.float32 if device == "cpu" else "auto",
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    except (SafetensorError, RuntimeError, KeyError) as error:
        raise ValueError(f"{folder.name} cannot be loaded: {error}") from error
    if missing := sorted(found["missing_keys"]):
        # The library would fill them with random numbers and go on.
        raise ValueError(f"{folder.name} lacks {len(missing)} weights, the first is {missing[0]}.")
    return model.to(device).eval(), tokenizer


def save(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
    weights: dict[str, Tensor] | None = None,
) -> None:
    """Writes both to `folder`, which may not hold anything else. Equal weights give equal bytes.

    `weights`: the model's, where they do not lie in the model itself.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty.")
    # Left in, these would make a copy differ from its original.
    for key in _HOW_IT_WAS_LOADED:
        tokenizer.init_kwargs.pop(key, None)
    model.save_pretrained(folder, state_dict=weights)
    tokenizer.save_pretrained(folder)


def end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Ids of the tokens that end an answer: those of the model's generation settings and of its tokenizer."""
    configured = model.generation_config.eos_token_id if model.generation_config else None
    ends = {configured} if isinstance(configured, int) else set(configured or [])
    return sorted(ends | ({tokenizer.eos_token_id} - {None}))
