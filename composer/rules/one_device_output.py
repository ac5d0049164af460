"""one-device-output (CMP317)

## What it does
Finds a pmap that hands out one device's output, with nothing that makes all
equal.

## Why is this bad?
`out_axes: null` means that all devices hold the same. Nobody checks it: where
they differ, the first device's value comes out, silently.

## Example
```python
def f(x):
    return x * x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - pmap: {out_axes: null}
```

## Use instead
A `sync`, or the outputs of all devices.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - pmap: {sync: pmean}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._order import events_inside
from composer._rule import Finding, Fix, rule, warning
from composer._view import StackView


@rule("one-device-output", "CMP317", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for layer in stack.of("pmap"):
        if layer.get("out_axes") is not None or layer.get("sync") is not None:
            continue
        if any(event.kind == "collective" for event in events_inside(layer)):
            continue
        if layer.inside.differentiates or not layer.below.known:
            continue
        yield warning(
            "pmap: out_axes is null, which hands out the first device's output; no collective"
            " inside makes all devices' outputs equal, so they may differ",
            place=layer.place,
            cure="sync: pmean     # or out_axes: 0, for the outputs of all devices",
            fix=Fix((layer.set("sync", "pmean"), layer.unset("out_axes"))),
        )
