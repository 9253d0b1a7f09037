"""Finds JSON-like objects in any text: one pass, a stack instead of recursion, never raises, never evaluates.

Beside strict JSON it takes what models write: single quotes, bare words as keys and values, `=` for `:`,
missing and trailing commas, comments (`//`, `#`), percentages, NaN and Infinity. What cannot go on as an
object is given up there, and the search goes on behind it; objects inside that were complete still count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 12
_MAX_NUMBER_CHARS = 60

# Every branch consumes what it starts on, also a string without its end: no place is looked at twice.
_TOKEN = re.compile(
    r"""
      (?P<comment> //[^\n]* | \#[^\n]* )
    | (?P<string> "(?:[^"\\\n]|\\.)*+"? | '(?:[^'\\\n]|\\.)*+'? )
    | (?P<number> [-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?\ ?%?(?![\w]) | [-+]?(?:Infinity|NaN)\b )
    | (?P<word> [\w\-]+ )
    | (?P<space> \s+ )
    | (?P<mark> . )
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_WORDS = {"true": True, "false": False, "null": None, "none": None}

JsonLike = dict[str, Any]


@dataclass(slots=True)
class _Open:
    """A container that is being read. `key` is the one whose value is awaited, once `colon` was seen."""

    value: Any
    key: str | None = None
    colon: bool = False

    @property
    def closing(self) -> str:
        return "}" if isinstance(self.value, dict) else "]"

    def ready(self) -> bool:
        """Whether a value may come now."""
        return isinstance(self.value, list) or self.colon

    def take(self, value: Any) -> None:
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is not None:
            self.value[self.key] = value
            self.key, self.colon = None, False


@dataclass(slots=True)
class _Reader:
    stack: list[_Open] = field(default_factory=list)

    def feed(self, kind: str, text: str) -> JsonLike | None:
        """Takes the next token; returns an object when this one completes it."""
        top = self.stack[-1]
        if text in {"{", "["} and kind == "mark":
            self._open(text)
        elif kind == "mark" and text == top.closing and top.key is None:
            return self._close()
        elif kind == "mark":
            self._mark(top, text)
        elif top.ready():
            top.take(_scalar(kind, text))
        elif top.key is None and (kind != "string" or _closed(text)):
            top.key = _unquoted(text) if kind == "string" else text
        else:
            self.stack.clear()
        return None

    def _open(self, mark: str) -> None:
        if not (self.stack and self.stack[-1].ready()) or len(self.stack) >= MAX_DEPTH:
            self.stack.clear()
        if self.stack or mark == "{":
            self.stack.append(_Open({} if mark == "{" else []))

    def _close(self) -> JsonLike | None:
        value = self.stack.pop().value
        if self.stack:
            self.stack[-1].take(value)
        return value if isinstance(value, dict) else None

    def _mark(self, top: _Open, mark: str) -> None:
        if mark in ":=" and top.key is not None and not top.colon:
            top.colon = True
        elif mark != "," or top.key is not None:
            self.stack.clear()


def objects(text: str) -> Iterator[JsonLike]:
    """Every complete object, inner ones too, in the order of their ends."""
    reader, place = _Reader(), 0
    while True:
        if not reader.stack:
            place = text.find("{", place)
            if place < 0:
                return
            reader.stack.append(_Open({}))
            place += 1
        token = _TOKEN.match(text, place)
        if token is None:
            return
        place = token.end()
        kind = token.lastgroup or ""
        if kind not in {"space", "comment"} and (found := reader.feed(kind, token.group())) is not None:
            yield found


def _scalar(kind: str, text: str) -> Any:
    if kind == "number":
        return _number(text)
    if kind == "word":
        return _WORDS.get(text.lower(), text)
    return _unquoted(text)


def _number(text: str) -> float:
    # float() of a hundred thousand digits takes a while; nobody means such a number.
    if len(text) > _MAX_NUMBER_CHARS:
        return float("nan")
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _closed(text: str) -> bool:
    return len(text) > 1 and text[-1] == text[0]


def _unquoted(text: str) -> str:
    inner = text[1:-1] if _closed(text) else text[1:]
    text = _ESCAPE.sub(_unescaped, inner) if "\\" in inner else inner
    # An escaped character outside of the basic plane is two halves; a half alone is no character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) == 5:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)
