"""Parameters that are code: `module:name` in text, the callable itself in Python.

Imports no JAX.
"""

from __future__ import annotations

from composer.plugin import Transform


def check_callable(layer: Transform, field: str, value: object) -> None:
    """Refuse what is neither a reference nor a callable.

    Raises:
        ParameterError: CMP037.
    """
    if isinstance(value, str):
        module, colon, name = value.rpartition(":")
        if module and colon and name:
            return
        raise layer.wrong(
            field,
            f"is {value!r}, which does not say in which module it is",
            cure=f"{field}: {module or 'module'}:{name or 'function'}",
        )
    if not callable(value):
        raise layer.wrong(
            field,
            f"is a {type(value).__name__}, which cannot be called",
            cure=f"{field}: module:function",
        )


def named_callables(**given: object) -> dict[str, str]:
    """Those of the parameters that name code by text."""
    return {field: value for field, value in given.items() if isinstance(value, str)}
