"""Text to token ids and back, the way a checkpoint's own tokenizer does it."""

import threading
from collections.abc import Iterable
from typing import Any

from jinja2 import TemplateError

from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.policy import Prompt

_BROKEN_CHARACTER = "\N{REPLACEMENT CHARACTER}"


class PromptRefusedError(ValueError):
    """This checkpoint cannot take this prompt; the message is the rule it breaks."""


class Vocabulary:
    """Of one checkpoint: `size` tokens, and a context of `context` tokens for prompt and answer together."""

    def __init__(self, tokenizer: Any, size: int, context: int) -> None:
        self.size = size
        self.context = context
        self._tokenizer = tokenizer
        # Encoding changes the tokenizer's own state for the time it takes; decoding does not.
        self._encoding = threading.Lock()

    def encode(self, prompt: Prompt) -> list[int]:
        """The prompt's token ids. Raises PromptRefusedError: none, too many or unknown ones."""
        ids = self._ids(prompt)
        if not ids:
            raise PromptRefusedError("must not be empty")
        if len(ids) >= self.context:
            raise PromptRefusedError(
                f"must have at most {self.context - 1} tokens, for one to fit after it; it has {len(ids)}"
            )
        if min(ids) < 0 or max(ids) >= self.size:
            raise PromptRefusedError(f"token ids must be from 0 to {self.size - 1}")
        return ids

    def _ids(self, prompt: Prompt) -> list[int]:
        if not isinstance(prompt, str) and all(isinstance(part, int) for part in prompt):
            return list(prompt)  # type: ignore[arg-type]  # just looked
        with self._encoding:
            if isinstance(prompt, str):
                return list(self._tokenizer(prompt).input_ids)
            return self._chat(prompt)  # type: ignore[arg-type]  # neither text nor ids

    def _chat(self, messages: list[Message]) -> list[int]:
        if self._tokenizer.chat_template is None:
            raise PromptRefusedError("this checkpoint has no chat template: send text or token ids")
        conversation = [message.model_dump() for message in messages]
        try:
            ids = self._tokenizer.apply_chat_template(
                conversation, add_generation_prompt=True, tokenize=True, return_dict=False
            )
        except TemplateError as error:
            raise PromptRefusedError(f"the checkpoint's chat template refuses it: {error}") from error
        return list(ids)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these tokens, without special ones such as the end token."""
        text: str = self._tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text


class Writer:
    """Turns tokens into text one by one; all pieces together are what decoding all tokens gives.

    A token's text hangs on its neighbours (a space before it, half a character): so each piece is the
    difference between decoding a few tokens with and without the newest.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ids: list[int] = []
        self._start = 0
        self._written = 0

    def add(self, token_id: int, *, last: bool = False) -> str:
        """The text that this token adds. Empty while a character is incomplete, but for the last token."""
        self._ids.append(token_id)
        before = self._vocabulary.decode(self._ids[self._start : self._written])
        now = self._vocabulary.decode(self._ids[self._start :])
        text = now[len(before) :]
        # A token without text, such as a special one, is no neighbour to measure the next one by.
        if not text or (not last and text.endswith(_BROKEN_CHARACTER)):
            return ""
        self._start, self._written = self._written, len(self._ids)
        return text
