"""What composing costs: a parsed pipeline built by composer, the same stack by Hydra."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from measure import Row, interleaved, median, ratio

import composer

ROUNDS = 300
HYDRA = "Hydra's instantiate"


def rows(skipped: dict[str, str], rounds: int = ROUNDS) -> Iterator[Row]:
    """Stacks of 3 and 9 layers; Hydra goes to `skipped` where it is not installed."""
    for layers in (3, 9):
        group = f"composing {layers} layers"
        cases = {"composer": composer_builds(layers)}
        try:
            cases[HYDRA] = hydra_builds(layers)
        except ImportError as error:
            skipped[HYDRA] = f"{error}: pip install jax-composer[bench]"
        times = interleaved(cases, rounds, calls=1)
        each = median(times, "composer") / layers
        if HYDRA in cases:
            share = ratio(times, "composer", HYDRA)
            yield Row(group, HYDRA, median(times, HYDRA))
            yield Row(
                group, "composer", median(times, "composer"), share, HYDRA, "<= 0.50", share <= 0.5
            )
        yield Row(group, "composer, each layer", each, target="< 1 ms", met=each < 1e-3)


def fresh() -> Callable[..., Any]:
    """A new function, around which nothing was composed before."""

    def loss(w: Any, x: Any) -> Any:
        return (w * x).sum()

    return loss


def composer_builds(layers: int) -> Callable[[], Callable[[], object]]:
    """`build` of a pipeline that was read already; the function is new each time."""
    stack = ["grad", *["vmap: {in_axes: {x: 0}}"] * (layers - 2), "jit"]
    text = "composer: 1\nfunction: loss\nstack:\n" + "".join(f"  - {item}\n" for item in stack)
    pipeline = composer.loads(text, functions={"loss": fresh()})
    return lambda: replace(pipeline, functions={"loss": fresh()}).build


def hydra_builds(layers: int) -> Callable[[], Callable[[], object]]:
    """`instantiate` of a config that was read already, around a function found already."""
    instantiate = importlib.import_module("hydra.utils").instantiate
    create = importlib.import_module("omegaconf").OmegaConf.create

    def prepare() -> Callable[[], object]:
        node: dict[str, object] = {"_target_": "jax.grad", "_args_": [fresh()]}
        for _ in range(layers - 2):
            node = {"_target_": "jax.vmap", "_args_": [node], "in_axes": [None, 0]}
        whole = {"_target_": "jax.jit", "_args_": [node], "_convert_": "all"}
        config = create(whole, flags={"allow_objects": True})
        return lambda: instantiate(config)

    return prepare
