"""unrolled-loop (CMP413)

## What it does
Finds a Python loop of a hundred turns or more in a traced function.

## Why is this bad?
JAX traces every turn: the program grows with the number of turns, and so does
the time to compile it.

## Example
```python
def f(x):
    for _ in range(1000):
        x = x + 1.0
    return x
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - jit
```

## Use instead
A `repeat` layer, or `lax.fori_loop` or `lax.scan` in the function.
```python
def f(x):
    return x + 1.0
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - repeat: 1000
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from composer._rule import Finding, rule, warning
from composer._view import TRACES, StackView


@rule("unrolled-loop", "CMP413", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or not stack.whole.has(*TRACES):
        return
    for fact in stack.facts.loops:
        if fact.turns >= _MANY:
            yield warning(
                f"a Python loop of {fact.turns} turns is traced turn by turn",
                place=fact.place,
                cure=f"- repeat: {fact.turns}     # around one turn; or lax.fori_loop in the"
                " function",
            )


_MANY: Final = 100
