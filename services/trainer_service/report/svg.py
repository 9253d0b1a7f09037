"""SVG elements as escaped markup; numbers are written shortly and always the same."""

from markupsafe import Markup, escape

Value = str | float | None


def number(value: float) -> str:
    """At most two decimals, without trailing zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def tag(name: str, *children: Markup | str, **attributes: Value) -> Markup:
    """`tag("text", "2", class_="axis", text_anchor="end")`; None leaves an attribute out."""
    written = [
        Markup(' {}="{}"').format(_name(key), _text(value))
        for key, value in attributes.items()
        if value is not None
    ]
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(name, Markup("").join(written), inner)


def text(x: float, y: float, content: str, class_: str, anchor: str | None = None) -> Markup:
    """A line of text; `anchor` is where (x, y) lies on it: start, middle or end."""
    return tag("text", content, x=x, y=y, class_=class_, text_anchor=anchor)


def picture(width: float, height: float, label: str, *children: Markup, class_: str = "chart") -> Markup:
    """A whole drawing; `label` is what a screen reader says in its place."""
    return tag(
        "svg",
        *children,
        class_=class_,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )


def points(pairs: list[tuple[float, float]]) -> str:
    """The `points` of a polyline."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in pairs)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else number(value)
