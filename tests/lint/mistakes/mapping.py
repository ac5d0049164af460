"""Mistakes with vmap: axes, sizes, keys, order."""

from __future__ import annotations

import numpy as np
from lint.mistakes.rows import Row, module, pipeline


def four_draws(out):
    assert len(np.unique(np.asarray(out))) == 4


SUMS = module("""
    def f(a, b):
        return jnp.sum(a) * jnp.sum(b)
""")
TEN_BY_FOUR = """
    a: {ones: 'f32[10, 4]'}
    b: {ones: 'f32[10, 2]'}
"""
SCALED = module("""
    def f(x, *, scale):
        return jnp.sum(x * scale)
""")
CUBIC = module("""
    def f(x):
        return 4.0 * x**3 / 3.0
""")
NOISY = module("""
    def f(x, key):
        return x + jax.random.normal(key)
""")
KEYED = "x: {zeros: 'f32[4]'}\nkey: {key: 0}"
X33 = "x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]"
ADDED = module("""
    def f(x, w):
        return jnp.sum(x) + jnp.sum(w)
""")
OUTER = module("""
    def f(a, b):
        return 10.0 * a + b
""")
TREE = module("""
    def f(x):
        return x["a"] + x["b"]
""")
AB = "x: {value: {a: [1.0, 2.0], b: [10.0, 20.0]}}"

ROWS = (
    Row(
        "V01 #8 other axis",
        "static",
        SUMS,
        pipeline("vmap: {in_axes: [0, 1]}", args=TEN_BY_FOUR),
        "CMP214",
        "vmap",
        np.full(10, 8.0),
        right=pipeline("vmap: {in_axes: [0, 0]}", args=TEN_BY_FOUR),
        says=("0",),
    ),
    Row(
        "V03 #9 keyword of another size",
        "static",
        SCALED,
        pipeline("vmap", args="x: {ones: 'f32[5, 3]'}\nscale: [1.0, 10.0, 100.0]"),
        "CMP231",
        "vmap",
        np.full(5, 111.0),
    ),
    Row(
        "V04 keyword of the same size",
        "static",
        SCALED,
        pipeline("vmap", args=X33 + "\nscale: [1.0, 10.0, 100.0]"),
        "CMP231",
        "vmap",
        [321.0, 654.0, 987.0],
        runs=True,
    ),
    Row(
        "V05 #9 too few axes",
        "static",
        module("def f(x, w, b):\n    return x * w + b\n"),
        pipeline("vmap: {in_axes: [0, null]}", args="x: [1.0, 2.0]\nw: 3.0\nb: 1.0"),
        "CMP209",
        "vmap",
        [4.0, 7.0],
        right=pipeline("vmap: {in_axes: {x: 0}}", args="x: [1.0, 2.0]\nw: 3.0\nb: 1.0"),
        says=("in_axes: {",),
    ),
    Row(
        "V06 #16 out_axes null",
        "shapes",
        module("def f(x):\n    return x * x\n"),
        pipeline("vmap: {out_axes: null}", args="x: [1.0, 2.0]"),
        "CMP216",
        "vmap",
        [1.0, 4.0],
        right=pipeline("vmap: {out_axes: 0}", args="x: [1.0, 2.0]"),
        says=("out_axes",),
    ),
    Row(
        "V08 V09 #1 grad outside vmap, per example",
        "static",
        CUBIC,
        pipeline("vmap\ngrad", args="x: [1.0, 2.0, 3.0]"),
        "CMP211",
        "grad",
        [4.0, 16.0, 36.0],
        right=pipeline("grad\nvmap", args="x: [1.0, 2.0, 3.0]"),
    ),
    Row(
        "V08 V09 #1 grad outside vmap, of the mean",
        "static",
        module("def f(w, x):\n    return w**2 * x**2\n"),
        pipeline("vmap: {in_axes: {x: 0}}\ngrad: {argnums: w}", args="w: 2.0\nx: [1.0, 2.0, 3.0]"),
        "CMP211",
        "grad",
        56.0 / 3.0,
        right=pipeline(
            "vmap: {in_axes: {x: 0}}\nreduce: mean\ngrad: {argnums: w}",
            args="w: 2.0\nx: [1.0, 2.0, 3.0]",
        ),
        says=("reduce: mean",),
    ),
    Row(
        "V10 one key for all rows",
        "static",
        NOISY,
        pipeline("vmap: {in_axes: {x: 0}}", args=KEYED),
        "CMP508",
        "vmap",
        four_draws,
        runs=True,
    ),
    Row(
        "V10 one key for all rows, in another module",
        "shapes",
        module("""
            def draw(key):
                return jax.random.normal(key)
            noise = {"n": draw}
            def f(x, key):
                return x + noise["n"](key)
        """),
        pipeline("vmap: {in_axes: {x: 0}}", args=KEYED),
        "CMP508",
        "vmap",
        four_draws,
        right=pipeline(
            "vmap: {in_axes: {x: 0, key: 0}}\nsplit_key: {key: key, num: 4}", args=KEYED
        ),
        runs=True,
    ),
    Row(
        "V18 #11 axes with a key too many",
        "shapes",
        TREE,
        pipeline("vmap: {in_axes: {x: {a: 0, b: 0, c: 0}}}", args=AB),
        "CMP213",
        "vmap",
        [11.0, 22.0],
        right=pipeline("vmap: {in_axes: {x: {a: 0, b: 0}}}", args=AB),
    ),
    Row(
        "#11 axes with a key too few",
        "shapes",
        TREE,
        pipeline("vmap: {in_axes: {x: {a: 0}}}", args=AB),
        "CMP213",
        "vmap",
        [11.0, 22.0],
        right=pipeline("vmap: {in_axes: {x: {a: 0, b: 0}}}", args=AB),
        says=("b",),
    ),
    Row(
        "V19 #14 scalar mapped",
        "static",
        module("def f(x, s):\n    return x * s\n"),
        pipeline("vmap", args="x: [1.0, 2.0]\ns: 3.0"),
        "CMP209",
        "vmap",
        [3.0, 6.0],
    ),
    Row(
        "V02 square array hides the axis",
        "static",
        module("def f(x):\n    return jnp.sum(x * x)\n"),
        pipeline("vmap", args=X33),
        "CMP225",
        "vmap",
        [66.0, 93.0, 126.0],
        right=pipeline("vmap: {in_axes: {x: 1}}", args=X33),
        runs=True,
    ),
    Row(
        "#15 parameters mapped by accident",
        "static",
        module("def f(w, x):\n    return w @ x\n"),
        pipeline("vmap", args="w: [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]\n" + X33),
        "CMP225",
        "vmap",
        [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0], [14.0, 16.0, 18.0]],
        right=pipeline(
            "vmap: {in_axes: {x: 0}}",
            args="w: [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]\n" + X33,
        ),
        runs=True,
    ),
    Row(
        "#13 nothing mapped",
        "static",
        ADDED,
        pipeline("vmap: {in_axes: {x: null}}", args="x: {ones: 'f32[2, 3]'}\nw: {ones: 'f32[3]'}"),
        "CMP206",
        "vmap",
        [6.0, 6.0],
        right=pipeline(
            "vmap: {in_axes: {x: 0}}", args="x: {ones: 'f32[2, 3]'}\nw: {ones: 'f32[3]'}"
        ),
    ),
    Row(
        "V23 nested vmap in the two orders",
        "static",
        OUTER,
        pipeline(
            "vmap: {in_axes: {a: 0}}\nvmap: {in_axes: {b: 0}}",
            args="a: [1.0, 2.0, 3.0]\nb: [4.0, 5.0]",
        ),
        "CMP230",
        "vmap: {in_axes: {b",
        [[14.0, 15.0], [24.0, 25.0], [34.0, 35.0]],
        right=pipeline(
            "vmap: {in_axes: {b: 0}}\nvmap: {in_axes: {a: 0}}",
            args="a: [1.0, 2.0, 3.0]\nb: [4.0, 5.0]",
        ),
        runs=True,
    ),
    Row(
        "#47 V16 n776 both branches",
        "static",
        module("""
            def f(x):
                return lax.cond(x > 0, lambda v: v * 2.0, lambda v: v, x)
        """),
        pipeline("vmap", args="x: [1.0, -1.0]"),
        "CMP106",
        "lax.cond",
        [2.0, -1.0],
        right=pipeline("map", args="x: [1.0, -1.0]"),
    ),
    Row(
        "L03 a batch without vmap",
        "shapes",
        module("""
            def f(w, x):
                return lax.dot_general(w, x, (((1,), (0,)), ((), ())))
        """),
        pipeline("jit", args="w: {ones: 'f32[2, 3]'}\nx: {ones: 'f32[5, 3]'}"),
        "CMP233",
        "function",
        np.full((5, 2), 3.0),
        right=pipeline(
            "vmap: {in_axes: {x: 0}}\njit", args="w: {ones: 'f32[2, 3]'}\nx: {ones: 'f32[5, 3]'}"
        ),
    ),
    Row(
        "T18 #56 rows that do not fit",
        "shapes",
        module("""
            def f(x):
                y = jnp.outer(x, x)
                return jnp.sum(y @ y)
        """),
        pipeline("vmap", args='x: "f32[65536, 4096]"'),
        "CMP232",
        "vmap",
        None,
        right=pipeline("vmap: {chunk: 1}", args='x: "f32[65536, 4096]"'),
        says=("chunk:",),
    ),
    Row(
        "n774 spmd_axis_name",
        "static",
        module("def f(x):\n    return x + 1.0\n"),
        pipeline("vmap: {spmd_axis_name: data}\njit", args="x: [1.0, 2.0]", mesh="{data: 1}"),
        "CMP319",
        "vmap",
        [2.0, 3.0],
    ),
)
