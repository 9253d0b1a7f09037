"""Sampling during training: our batched sampler on the live weights, in place of the library's generate."""

from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from trainee2trainer.models.checkpoints import end_tokens
from trainee2trainer.models.rows import Row
from trainee2trainer.models.sampler import Sampler
from trainer_service.seeds import derive
from trainer_service.training.models import plain


class RolloutSampler:
    """TRL's `rollout_func`. Each sample's randomness hangs on (seed, step, place) alone."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, seed: int, temperature: float, max_tokens: int
    ) -> None:
        self.tokenizer = tokenizer
        self.seed = seed
        self.temperature = temperature
        self.max_tokens = max_tokens
        self._sampler: Sampler | None = None

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """One completion per prompt; the prompts come repeated, once per sample of a group."""
        sampler = self._sampler_of(plain(trainer.accelerator.unwrap_model(trainer.model)))
        ids = self.tokenizer.apply_chat_template(
            prompts, add_generation_prompt=True, tokenize=True, return_dict=True, padding=False
        )["input_ids"]
        step, first = trainer.state.global_step, trainer.accelerator.process_index * len(ids)
        rows = [
            Row(tuple(prompt), derive(self.seed, "rollout", step, place), self.temperature, self.max_tokens)
            for place, prompt in enumerate(ids, first)
        ]
        answers = sampler.run(rows)
        return {
            "prompt_ids": ids,
            "completion_ids": [answer.token_ids for answer in answers],
            # One update per batch: the sampling policy is the one being updated, so no ratio needs them. They
            # are compared with the trainer's.
            "logprobs": [answer.logprobs for answer in answers],
        }

    def _sampler_of(self, model: PreTrainedModel) -> Sampler:
        if self._sampler is None:
            pad = self.tokenizer.pad_token_id or 0
            self._sampler = Sampler(model, end_tokens(model, self.tokenizer), pad)
        return self._sampler
