"""From generated boards to what is stored and sent: done in the worker processes, being most of the work."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic_core import to_json

from env_service.generator import Made
from env_service.prompts import TEMPLATES
from env_service.records import to_instance
from trainee2trainer.contracts.environment import Sampler


class Origin(NamedTuple):
    """What the instances of a batch have in common."""

    configuration_id: str
    seed: int
    sampler: Sampler
    template: str | None = None


class Rendered(NamedTuple):
    """An instance as JSON, and the `InstanceRow` that carries it."""

    id: str
    content: str
    line: bytes


def render(made: Sequence[Made], origin: Origin) -> list[Rendered]:
    """The rows in their order, with prompt and reference answer if there is a template."""
    return [_render(one, origin) for one in made]


def _render(made: Made, origin: Origin) -> Rendered:
    instance = to_instance(made, origin.configuration_id, origin.seed, origin.sampler)
    content = instance.model_dump_json()
    prompt, answer = b"null", b"null"
    if origin.template is not None:
        template, task = TEMPLATES[origin.template], made.candidate.task
        prompt = to_json(template.prompt(task))
        answer = to_json(template.answer(task, made.candidate.certificate.plan))
    # The instance is not written twice: an InstanceRow would serialise it again.
    line = b'{"instance":%b,"prompt":%b,"answer":%b}' % (content.encode(), prompt, answer)
    return Rendered(instance.id, content, line)
