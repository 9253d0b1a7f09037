"""Errors in the OpenAPI document as they really are: problem+json, of one shape, with a request id."""

from typing import Any

from fastapi import FastAPI

from trainee2trainer.contracts.base import Problem

MEDIA_TYPE = "application/problem+json"
_REF = "#/components/schemas/"
_FRAMEWORKS_OWN = {"HTTPValidationError", "ValidationError"}


def describe_problems(app: FastAPI) -> None:
    """Corrects the document that `app` makes."""
    make = app.openapi

    def openapi() -> dict[str, Any]:
        document = make()
        for methods in document["paths"].values():
            for operation in methods.values():
                _correct(operation["responses"])
        schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
        for name in _FRAMEWORKS_OWN & set(schemas):
            del schemas[name]
        problem = Problem.model_json_schema(ref_template=_REF + "{model}", mode="serialization")
        schemas |= problem.pop("$defs")
        schemas["Problem"] = problem
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way of extending it


def _correct(responses: dict[str, Any]) -> None:
    responses.setdefault("default", {"description": "Any other error."})
    for status, answer in responses.items():
        if status[0] not in "45d" or _is_other_model(answer):
            continue
        answer["content"] = {MEDIA_TYPE: {"schema": {"$ref": _REF + "Problem"}}}


def _is_other_model(answer: dict[str, Any]) -> bool:
    """No problem in spite of its status: what a service that is not ready tells of itself."""
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").removeprefix(_REF)
    return bool(name) and name not in {"Problem", *_FRAMEWORKS_OWN}
