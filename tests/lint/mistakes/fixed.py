"""What JAX has fixed, or composer cures by itself: lint has nothing to say, the value is right."""

from __future__ import annotations

import math

import numpy as np
from lint.mistakes.rows import Row, module, pipeline

SILENT = ""
"""The code of a row in which nothing may be found."""


def _row(name: str, source: str, text: str, value: object) -> Row:
    return Row(name, "static", source, text, SILENT, "", value)


ROWS = (
    _row(
        "V14 safe norm by cond under vmap of grad",
        module("""
            def f(x):
                square = jnp.sum(x * x)
                return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
        """),
        pipeline("grad\nvmap\njit", args="x: [[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]]"),
        [[0.0, 0.0], [0.6, 0.8], [0.0, 1.0]],
    ),
    _row(
        "G08 negative argnums",
        module("def f(x, y):\n    return x * y * y\n"),
        pipeline("grad: {argnums: y}\njit", args="x: 2.0\ny: 3.0"),
        12.0,
    ),
    _row(
        "G14 #26 static flag through checkpoint",
        module("""
            def f(x, deep):
                return jnp.sin(x) if deep else x
        """),
        pipeline("checkpoint\ngrad\njit", args="x: 0.0\ndeep: true", static="[deep]"),
        1.0,
    ),
    _row(
        "G33 logaddexp under vmap of grad",
        module("def f(x):\n    return jnp.logaddexp(x, 0.0)\n"),
        pipeline("grad\nvmap\njit", args="x: [0.0, 1.0]"),
        [0.5, 1 / (1 + math.exp(-1.0))],
    ),
    _row(
        "V05 keyword call of a mapped function",
        module("def f(x, w):\n    return x * w\n"),
        pipeline("vmap: {in_axes: {x: 0}}\njit", args="w: 3.0\nx: [1.0, 2.0]"),
        [3.0, 6.0],
    ),
    _row(
        "J19 donation in jit",
        module("def f(x, state):\n    return x + state\n"),
        pipeline("jit: {donate_argnums: state}", args="x: [1.0, 2.0]\nstate: [1.0, 1.0]"),
        [2.0, 3.0],
    ),
    _row(
        "P19 negative axis of pmap",
        module("def f(x):\n    return jnp.sum(x)\n"),
        pipeline(
            "pmap: {in_axes: -1, split: true}",
            args="x: [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]",
            run="{simulate_devices: 4}",
        ),
        [4.0, 6.0, 8.0, 10.0],
    ),
    _row(
        "O10 a number with an exponent",
        module("def f(x, lr):\n    return x * lr\n"),
        pipeline("jit", args="x: 2.0\nlr: 1e-3"),
        2e-3,
    ),
    _row(
        "a mean between vmap and grad",
        module("def f(w, x):\n    return (w * x) ** 2\n"),
        pipeline(
            "vmap: {in_axes: {x: 0}}\nreduce: mean\ngrad: {argnums: w}\njit",
            args="w: 2.0\nx: [1.0, 2.0, 3.0]",
        ),
        56.0 / 3.0,
    ),
    _row(
        "rows reduced before the devices are",
        module("def f(params, x, y):\n    return (x * params - y) ** 2\n"),
        pipeline(
            "grad: {argnums: params}\nvmap: {in_axes: {x: 0, y: 0}}\nreduce: mean\n"
            "pmap: {in_axes: {x: 0, y: 0}, split: true, sync: pmean}\njit",
            args="params: 1.0\nx: {arange: [1.0, 9.0]}\ny: {zeros: 'f32[8]'}",
            run="{simulate_devices: 4}",
        ),
        51.0,
    ),
    _row(
        "a key for each row",
        module("""
            def f(x, key):
                return x + 0.0 * jax.random.normal(key)
        """),
        pipeline(
            "vmap: {in_axes: {x: 0, key: 0}}\nsplit_key: {key: key, num: 2}\njit",
            args="x: [1.0, 2.0]\nkey: {key: 0}",
        ),
        [1.0, 2.0],
    ),
    _row(
        "loops of JAX under reverse mode",
        module("""
            def f(x):
                return lax.fori_loop(0, 3, lambda _, v: v * x, x)
        """),
        pipeline("grad\njit", args="x: 2.0"),
        32.0,
    ),
    _row(
        "control flow on shapes and keys of a tree",
        module("""
            def f(params, x):
                if x.shape[0] > 2 and "b" in params and x is not None:
                    return x * params["w"] + params["b"]
                return x
        """),
        pipeline("jit", args="params: {value: {w: 2.0, b: 1.0}}\nx: [1.0, 2.0, 3.0]"),
        np.array([3.0, 5.0, 7.0]),
    ),
)
