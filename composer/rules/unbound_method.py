"""unbound-method (CMP412)

## What it does
Finds a pipeline whose function is a method without its object.

## Why is this bad?
`module:Class.method` is a plain function whose first argument is the object.
JAX would take that for an array.

## Example
```python
class Model:
    def f(self, x):
        return 3.0 * x

    def __call__(self, x):
        return self.f(x)
```
```yaml
composer: 1
function: m:Model.f
args: {x: 2.0}
stack:
  - jit
```

## Use instead
A call that makes the object.
```yaml
composer: 1
function: {call: m:Model}
args: {x: 2.0}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, error, rule
from composer._view import StackView


@rule("unbound-method", "CMP412", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or not stack.facts.method:
        return
    cls = stack.facts.name.rpartition(".")[0]
    yield error(
        f"{stack.facts.name} is a method, and no object of {cls} is bound to it",
        place=stack.place,
        cure=f"function: {{call: module:{cls}}}     # what it makes is called",
    )
