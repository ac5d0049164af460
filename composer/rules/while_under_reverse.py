"""while-under-reverse (CMP227)

## What it does
Finds `lax.while_loop` in a function that is differentiated in reverse.

## Why is this bad?
Reverse mode needs what each turn computed, and nobody knows how many turns
there will be. JAX raises a ValueError.

## Example
```python
from jax import lax

def f(x):
    return lax.while_loop(lambda v: v < 10.0, lambda v: v * 2.0, x)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - grad
```

## Use instead
Forward mode, or `lax.scan` with a fixed number of turns.
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - jacfwd
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import layer_data
from composer._rule import Finding, Fix, error, rule
from composer._view import REVERSE, LayerView, StackView


@rule("while-under-reverse", "CMP227", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or stack.facts.custom_rules:
        return
    loops = [fact for fact in stack.facts.loops_of_jax if fact.what == "while_loop"]
    for view in stack.layers:
        if loops and view.word in REVERSE and view.word != "hessian":
            simple = view.word == "grad"
            yield error(
                f"{view.word} goes through lax.while_loop in reverse, which JAX cannot: the"
                " number of"
                " turns is not known beforehand",
                place=view.place,
                cure="- jacfwd     # or lax.scan with a fixed number of turns",
                notes=[f"the loop: {loops[0].place}"],
                fix=Fix((view.removed(), view.insert_outside(_forward(view)))) if simple else None,
            )


def _forward(view: LayerView) -> object:
    given = {n: v for n, v in view.transform.items() if n in ("argnums", "has_aux")}
    return layer_data("jacfwd", **given)
