"""writes-outside (CMP502)

## What it does
Finds a function that writes to something outside it: a global, an object, a
list of the module.

## Why is this bad?
It happens while JAX traces, not when the program runs. A traced value that is
kept so leaks: it is of no use later, and JAX raises an UnexpectedTracerError.

## Example
```python
SEEN = []

def f(x):
    SEEN.append(x)
    return x * 2.0
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - jit
```

## Use instead
The value returned, as one more output.
```python
def f(x):
    return x * 2.0, x
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, rule, warning
from composer._view import TRACES, StackView


@rule("writes-outside", "CMP502", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or not stack.whole.has(*TRACES):
        return

    for fact in (*stack.facts.globals, *stack.facts.outer_writes):
        yield warning(
            f"the function writes to {fact.what}, outside it: only while JAX traces, and a"
            " traced value"
            " that is kept there leaks",
            place=fact.place,
            cure="return the value     # as one more output, with has_aux under a derivative",
        )
