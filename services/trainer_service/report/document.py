"""A page in one file: our style and script inside, nothing else allowed to load or run."""

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_STATIC = files("trainer_service.report") / "static"
_PAGES = Environment(
    loader=PackageLoader("trainer_service.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def document(template: str, **values: Any) -> str:
    """The template as a whole page; every value in it is escaped."""
    css, script = (_STATIC / "report.css").read_text(), (_STATIC / "report.js").read_text()
    return _PAGES.get_template(template).render(
        policy=_content_policy(css, script),
        # Our own files, not anybody's text.
        css=Markup(css),  # noqa: S704
        script=Markup(script),  # noqa: S704
        **values,
    )


def _content_policy(css: str, script: str) -> str:
    """Only our own style and script are let in, known by their hashes."""
    style, code = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script)
    )
    return f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{code}'"
