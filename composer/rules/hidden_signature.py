"""hidden-signature (CMP203)

## What it does
Finds argument names in the stack of a function whose decorator hides its
arguments.

## Why is this bad?
A wrapper with `*args` has no argument names. Names in the stack cannot be
resolved, and JAX raises a ValueError.

## Example
```python
def logged(function):
    def wrapper(*args):
        return function(*args)
    return wrapper

@logged
def f(x, n):
    return x * n
```
```yaml
composer: 1
function: m:f
args: {x: 2.0, n: 3}
stack:
  - jit: {static_argnames: n}
```

## Use instead
`functools.wraps` in the decorator.
```python
import functools

def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

@logged
def f(x, n):
    return x * n
```
```yaml
composer: 1
function: m:f
args: {x: 2.0, n: 3}
stack:
  - jit: {static_argnames: n}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from composer._rule import Finding, rule, warning
from composer._view import LayerView, StackView


@rule("hidden-signature", "CMP203", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or stack.facts.parameters is not None or not stack.facts.decorator:
        return
    view = next((view for view in stack.layers if _names(view)), None)
    if view is None and not stack.static:
        return
    named = _names(view) if view is not None else list(stack.static)
    yield warning(
        f"the decorator {stack.facts.decorator} may hide the arguments of {stack.facts.name},"
        " and the"
        f" stack names {named[0]!r}",
        place=view.place if view is not None else stack.static_place,
        cure="@functools.wraps(function)     # on the wrapper in the decorator",
        notes=[f"the function: {stack.facts.place}"],
    )


def _names(view: LayerView) -> list[str]:
    found: list[str] = []
    for field in ("argnums", "in_axes", "static_argnums", "static_argnames", "donate_argnums"):
        value = view.get(field)
        several = value if isinstance(value, tuple | Mapping) else (value,)
        found += [item for item in several if isinstance(item, str)]
    return found
