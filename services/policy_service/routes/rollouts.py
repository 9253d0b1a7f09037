"""Rollouts: many prompts, several samples each, with token ids and log-probabilities."""

import asyncio

from fastapi import APIRouter, Request, Response

from policy_service import asking
from policy_service.asking import Asked, Located, Sampling
from policy_service.backend import Answer
from policy_service.context import ContextDep
from policy_service.routes.common import SAMPLING
from trainee2trainer.contracts.policy import RolloutGroup, RolloutRequest, RolloutResponse, Sample

router = APIRouter(prefix="/v1", tags=["rollouts"])


@router.post("/rollouts", response_model=RolloutResponse, responses=SAMPLING)
async def create_rollouts(body: RolloutRequest, request: Request, context: ContextDep) -> Response:
    """Samples answers. The same request gets the same answer: everything random hangs on its seed.

    A sample that we failed to finish has an `error` and no finish reason, and must not be scored.
    """
    loaded = await asking.find(context, body.checkpoint)
    located: list[Located] = [
        (["body", "prompts", place], prompt) for place, prompt in enumerate(body.prompts)
    ]
    how = Sampling(body.n, body.temperature, body.max_tokens, body.seed)
    asked = await asking.ask(context, loaded, located, how)
    answers = await asking.answers(context, asked, request)
    content = await asyncio.to_thread(_render, asked, answers, body)
    return Response(content, media_type="application/json", headers=asked.headers)


def _render(asked: Asked, answers: list[Answer], body: RolloutRequest) -> str:
    samples = [
        Sample(
            text=asked.loaded.vocabulary.decode(answer.token_ids),
            token_ids=answer.token_ids,
            logprobs=answer.logprobs if body.logprobs else None,
            finish_reason=answer.finish_reason,
            error=answer.error,
        )
        for answer in answers
    ]
    groups = [
        RolloutGroup(prompt_token_ids=prompt, samples=samples[place * body.n : (place + 1) * body.n])
        for place, prompt in enumerate(asked.prompts)
    ]
    return RolloutResponse(checkpoint=asked.loaded.checkpoint_id, groups=groups).model_dump_json()
