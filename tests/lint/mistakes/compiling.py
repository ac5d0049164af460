"""Mistakes with jit: static arguments, donation, retracing, purity."""

from __future__ import annotations

import numpy as np
from lint.mistakes.rows import Row, module, pipeline

ZEROS = module("""
    def f(x, n):
        return x + jnp.zeros(n)
""")
FLAG = module("""
    def f(x, train):
        if train:
            return x * 2.0
        return x
""")
DOUBLE = module("def f(x):\n    return x * 2.0\n")
SCALE = module("""
    def f(state, lr):
        return state * lr
""")


def two_draws(out):
    """Not the draw of the global key."""
    assert np.shape(out) == ()


ROWS = (
    Row(
        "J03 #25 size not static",
        "static",
        ZEROS,
        pipeline("jit", args="x: 1.0\nn: 3"),
        "CMP404",
        "jnp.zeros",
        np.ones(3),
        says=("static: [n]",),
    ),
    Row(
        "J03 #25 size not static, out of sight",
        "shapes",
        module("""
            import operator

            def f(x, n):
                return x + operator.call(jnp.zeros, n)
        """),
        pipeline("jit", args="x: 1.0\nn: 3"),
        "CMP233",
        "function",
        np.ones(3),
        right=pipeline("jit", args="x: 1.0\nn: 3", static="[n]"),
        says=("static: [n]",),
    ),
    Row(
        "J05 J06 #22 position out of range",
        "static",
        SCALE,
        pipeline("partial: {keywords: {lr: 2.0}}\njit: {static_argnums: 1}", args="state: 3.0"),
        "CMP202",
        "jit",
        6.0,
        right=pipeline("partial: {keywords: {lr: 2.0}}\njit", args="state: 3.0"),
    ),
    Row(
        "J15 key in a global",
        "static",
        module("""
            KEY = jax.random.key(0)

            def f(x):
                return x + jax.random.normal(KEY)
        """),
        pipeline("jit", args="x: 1.0"),
        "CMP507",
        "jax.random.normal",
        two_draws,
        right=pipeline("jit", args="x: 1.0\nkey: {key: 7}"),
        right_source=module("""
            def f(x, key):
                return x + jax.random.normal(key)
        """),
        says=("key",),
    ),
    Row(
        "J19 P16 donation by keyword in pmap",
        "static",
        module("def f(x, *, state):\n    return x + state\n"),
        pipeline(
            "pmap: {donate_argnums: state}",
            args="x: [1.0, 2.0, 3.0, 4.0]\nstate: [1.0, 1.0, 1.0, 1.0]",
        ),
        "CMP407",
        "pmap",
        [2.0, 3.0, 4.0, 5.0],
        right=pipeline(
            "pmap: {donate_argnums: state}",
            args="x: [1.0, 2.0, 3.0, 4.0]\nstate: [1.0, 1.0, 1.0, 1.0]",
        ),
        right_source=module("def f(x, state):\n    return x + state\n"),
    ),
    Row(
        "J21 M8 #37 donation inside another layer",
        "static",
        DOUBLE,
        pipeline("jit: {donate_argnums: x}\nvmap", args="x: [1.0, 2.0]"),
        "CMP406",
        "jit",
        [2.0, 4.0],
    ),
    Row(
        "J24 jit is not outermost",
        "static",
        DOUBLE,
        pipeline("jit\nvmap", args="x: [1.0, 2.0]"),
        "CMP107",
        "jit",
        [2.0, 4.0],
        right=pipeline("vmap\njit", args="x: [1.0, 2.0]"),
    ),
    Row(
        "J26 declared float, given a whole number",
        "shapes",
        DOUBLE,
        pipeline("jit", args='x: {arange: [0, 3], shape: "f32[3]"}'),
        "CMP065",
        "x:",
        [0.0, 2.0, 4.0],
        right=pipeline("jit", args='x: {arange: [0, 3], dtype: f32, shape: "f32[3]"}'),
    ),
    Row(
        "J31 64 bits become 32",
        "static",
        DOUBLE,
        pipeline("jit", args='x: {ones: "f64[2]"}'),
        "CMP224",
        "x:",
        [2.0, 2.0],
        says=("enable_x64: true",),
        right=pipeline("jit", args="x: {ones: 'f32[2]'}"),
    ),
    Row(
        "J33 NumPy on a tracer",
        "static",
        module("def f(x):\n    return np.sin(x)\n"),
        pipeline("jit", args="x: 0.0"),
        "CMP504",
        "np.sin",
        0.0,
        right=pipeline("jit", args="x: 0.0"),
        right_source=module("def f(x):\n    return jnp.sin(x)\n"),
        says=("jnp.sin",),
    ),
    Row(
        "J34 in-place update",
        "static",
        module("def f(x):\n    x[0] = 5.0\n    return x\n"),
        pipeline("jit", args="x: [1.0, 2.0]"),
        "CMP505",
        "x[0]",
        [5.0, 2.0],
        right=pipeline("jit", args="x: [1.0, 2.0]"),
        right_source=module("def f(x):\n    return x.at[0].set(5.0)\n"),
        says=(".at[",),
    ),
    Row(
        "#20 float static",
        "static",
        module("def f(x, lr):\n    return x * lr\n"),
        pipeline("jit", args="x: 2.0\nlr: 0.5", static="[lr]"),
        "CMP409",
        "static",
        1.0,
    ),
    Row(
        "#21 hidden signature",
        "static",
        module("""
            def logged(function):
                def wrapper(*args):
                    return function(*args)
                return wrapper

            @logged
            def f(x, n):
                return x * n
        """),
        pipeline("jit: {static_argnames: n}", args="x: 2.0\nn: 3"),
        "CMP203",
        "jit",
        6.0,
        right=pipeline("jit: {static_argnames: n}", args="x: 2.0\nn: 3"),
        right_source=module("""
            import functools

            def logged(function):
                @functools.wraps(function)
                def wrapper(*args):
                    return function(*args)
                return wrapper

            @logged
            def f(x, n):
                return x * n
        """),
        says=("functools.wraps",),
    ),
    Row(
        "#24 branch on a flag",
        "static",
        FLAG,
        pipeline("jit", args="x: 2.0\ntrain: true"),
        "CMP405",
        "if train",
        4.0,
        says=("static: [train]",),
    ),
    Row(
        "#39 donation saves nothing",
        "shapes",
        module("def f(x):\n    return jnp.sum(x)\n"),
        pipeline("jit: {donate_argnums: x}", args="x: {ones: 'f32[3]'}"),
        "CMP408",
        "jit",
        3.0,
    ),
    Row(
        "#40 traced value leaks",
        "shapes",
        module("""
            class Cache:
                pass

            def keep(x):
                setattr(Cache, "last", x)

            def f(x):
                keep(x)
                return x * 2.0
        """),
        pipeline("jit", args="x: 2.0"),
        "CMP512",
        "jit",
        4.0,
        right=pipeline("jit", args="x: 2.0"),
        right_source=DOUBLE,
    ),
    Row(
        "#41 value from outside is frozen",
        "static",
        module("""
            CONFIG = {"scale": 2.0}

            def configure(scale):
                CONFIG["scale"] = scale

            def f(x):
                return x * CONFIG["scale"]
        """),
        pipeline("jit", args="x: 2.0"),
        "CMP509",
        "CONFIG",
        4.0,
        right=pipeline("jit", args="x: 2.0\nscale: 2.0"),
        right_source=module("def f(x, scale):\n    return x * scale\n"),
    ),
    Row(
        "#42 jit made in a loop",
        "static",
        module("""
            def f(x):
                for scale in (1.0, 2.0):
                    x = jax.jit(lambda v: v * scale)(x)
                return x
        """),
        pipeline("vmap", args="x: [1.0, 2.0]"),
        "CMP411",
        "jax.jit",
        [2.0, 4.0],
        right=pipeline("vmap\njit", args="x: [1.0, 2.0]"),
        right_source=module("""
            def f(x):
                for scale in (1.0, 2.0):
                    x = x * scale
                return x
        """),
    ),
    Row(
        "#43 numbers of several kinds",
        "shapes",
        SCALE,
        pipeline("jit", args="state: {ones: 'f32[2]'}\nlr: 1"),
        "CMP414",
        "lr",
        [1.0, 1.0],
        right=pipeline("jit", args="state: {ones: 'f32[2]'}\nlr: {value: 1.0, shape: 'f32[]'}"),
    ),
    Row(
        "#44 method without its object",
        "static",
        module("""
            class Model:
                def __init__(self, scale=3.0):
                    self.scale = scale

                def f(self, x):
                    return self.scale * x

                def __call__(self, x):
                    return self.f(x)
        """),
        pipeline("jit", function="Model.f", args="x: 2.0"),
        "CMP412",
        "function",
        6.0,
        right=pipeline("jit", args="x: 2.0").replace("function: m:f", "function: {call: m:Model}"),
        says=("call",),
    ),
    Row(
        "#55 large array captured",
        "shapes",
        module("""
            TABLE = np.ones((2048, 2048), np.float32)

            def f(x):
                return x @ TABLE
        """),
        pipeline("jit", args="x: {ones: 'f32[2048]'}"),
        "CMP511",
        "function",
        np.full(2048, 2048.0),
        right=pipeline("jit", args="x: {ones: 'f32[2048]'}\ntable: {ones: 'f32[2048, 2048]'}"),
        right_source=module("def f(x, table):\n    return x @ table\n"),
    ),
    Row(
        "thousand steps unrolled",
        "static",
        module("""
            def f(x):
                for _ in range(1000):
                    x = x + 1.0
                return x
        """),
        pipeline("jit", args="x: 1.0"),
        "CMP413",
        "for _",
        1001.0,
        right=pipeline("repeat: 1000\njit", args="x: 1.0"),
        right_source=module("def f(x):\n    return x + 1.0\n"),
        says=("repeat",),
    ),
    Row(
        "a print while tracing",
        "static",
        module("def f(x):\n    print(x)\n    return x * 2.0\n"),
        pipeline("jit", args="x: 1.0"),
        "CMP501",
        "print",
        2.0,
        right=pipeline("jit", args="x: 1.0"),
        right_source=module("def f(x):\n    jax.debug.print('{}', x)\n    return x * 2.0\n"),
        says=("jax.debug.print",),
    ),
    Row(
        "random numbers of the host",
        "static",
        module("def f(x):\n    return x + np.random.normal()\n"),
        pipeline("jit", args="x: 1.0"),
        "CMP503",
        "np.random",
        two_draws,
        right=pipeline("jit", args="x: 1.0\nkey: {key: 0}"),
        right_source=module("def f(x, key):\n    return x + jax.random.normal(key)\n"),
        says=("jax.random",),
    ),
    Row(
        "L20 one key in each step",
        "shapes",
        module("""
            def f(key):
                def step(total, _):
                    draw = jax.random.normal(key)
                    return total + draw, draw
                return lax.scan(step, jnp.float32(0.0), None, length=4)[1]
        """),
        pipeline("jit", args="key: {key: 0}"),
        "CMP506",
        "function",
        lambda out: len(np.unique(np.asarray(out))) == 4 or (_ for _ in ()).throw(AssertionError),
        right=pipeline("jit", args="key: {key: 0}"),
        right_source=module("""
            def f(key):
                def step(total, key):
                    draw = jax.random.normal(key)
                    return total + draw, draw
                return lax.scan(step, jnp.float32(0.0), jax.random.split(key, 4))[1]
        """),
        runs=True,
    ),
    Row(
        "P18 text as an argument",
        "static",
        module("def f(x, mode):\n    return x * 2.0 if mode == 'double' else x\n"),
        pipeline("pmap: {in_axes: {x: 0}}", args="x: [1.0, 2.0, 3.0, 4.0]\nmode: double"),
        "CMP217",
        "mode",
        [2.0, 4.0, 6.0, 8.0],
        says=("static: [mode]",),
    ),
    Row(
        "P17 unhashable static",
        "static",
        module("def f(x, sizes):\n    return x * sizes['a']\n"),
        pipeline("jit", args="x: 2.0\nsizes: {value: {a: 3}}", static="[sizes]"),
        "CMP401",
        "sizes",
        6.0,
        right=pipeline("jit", args="x: 2.0\nsizes: {value: {a: 3.0}}"),
    ),
)
