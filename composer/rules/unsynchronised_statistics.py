"""unsynchronised-statistics (CMP323)

## What it does
Finds a mean or variance over the batch axis inside a layer over devices, with
no collective.

## Why is this bad?
Each device normalises by the statistics of its own rows. The mean of the
devices' variances is not the variance of all rows either: average the mean and
the mean of squares.

## Example
```python
import jax.numpy as jnp

def f(x):
    return x - jnp.mean(x, axis=0)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[8]"}
stack:
  - pmap: {split: true, merge: true}
```

## Use instead
A pmean of the statistics inside the function.
```python
import jax.numpy as jnp
from jax import lax

def f(x):
    return x - lax.pmean(jnp.mean(x, axis=0), "d")
```
```yaml
composer: 1
function: m:f
args: {x: "f32[8]"}
stack:
  - pmap: {split: true, merge: true, axis_name: d}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._order import axes_of
from composer._rule import Finding, rule, warning
from composer._view import StackView


@rule("unsynchronised-statistics", "CMP323", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    layers = stack.of("pmap", "shard_map")
    if stack.facts is None or not layers or stack.facts.collectives:
        return
    if (
        stack.whole.has("vmap", "map")
        or stack.of("collective")
        or layers[-1].get("sync") is not None
    ):
        return
    for fact in stack.facts.statistics:
        axes = axes_of(layers[-1])
        yield warning(
            f"{fact.what} over axis 0 inside {layers[-1].title}: each device has its own, of"
            " its own"
            " rows, and no collective makes them one",
            place=fact.place,
            cure=f'jax.lax.pmean(jnp.{fact.what}(...), "{axes[0]}")'
            + ("     # the mean, and the mean of squares" if fact.what != "mean" else ""),
        )
