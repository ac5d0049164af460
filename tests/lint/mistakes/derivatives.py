"""Mistakes with derivatives, checkpoint and checkify."""

from __future__ import annotations

import numpy as np
from lint.mistakes.rows import Row, module, pipeline

CUSTOM = module("""
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x)

    def forward(x):
        return f(x), x

    def backward(x, g):
        return (g * jnp.cos(x),)

    f.defvjp(forward, backward)
""")
LOOP = module("""
    def f(x):
        return lax.while_loop(lambda v: v < 10.0, lambda v: v * 2.0, x)
""")
POWER = module("""
    def f(x, n):
        y = x
        for _ in range(n - 1):
            y = y * x
        return y
""")
CHECKED = module("""
    from jax.experimental import checkify

    def f(x):
        checkify.check(x > 0, "x must be positive")
        return jnp.log(x)
""")
COUNTED = module("""
    def f(params, x):
        return params["w"] * x
""")
LINE = module("""
    def f(x, params):
        return jnp.mean((x @ params - 1.0) ** 2)
""")
WIDE = module("""
    def f(x):
        return jnp.stack([jnp.sum(x), jnp.sum(x * x)])
""")


def no_error_and_log(out):
    error, value = out
    assert error.get() is None
    np.testing.assert_allclose(np.asarray(value).ravel(), [0.5], rtol=1e-6)


ROWS = (
    Row(
        "G01 #48 forward over a custom_vjp",
        "static",
        CUSTOM,
        pipeline("hessian", args="x: 1.0"),
        "CMP228",
        "hessian",
        -np.sin(1.0),
        right=pipeline("jacrev\njacrev", args="x: 1.0"),
        says=("jacrev",),
    ),
    Row(
        "G02 #5 integer argument",
        "static",
        module("def f(x):\n    return x * 2.0\n"),
        pipeline("grad", args="x: 3"),
        "CMP212",
        "grad",
        2.0,
        right=pipeline("grad", args="x: 3.0"),
        says=("float",),
    ),
    Row(
        "G03 L09 #5 integer leaf",
        "static",
        COUNTED,
        pipeline("grad: {argnums: params}", args="params: {value: {w: 2.0, n: 3}}\nx: 5.0"),
        "CMP212",
        "grad",
        5.0,
        right=pipeline("grad: {argnums: params}", args="params: {value: {w: 2.0}}\nx: 5.0"),
        says=("params",),
    ),
    Row(
        "G05 #48 reverse over while_loop",
        "static",
        LOOP,
        pipeline("grad", args="x: 3.0"),
        "CMP227",
        "grad",
        4.0,
        right=pipeline("jacfwd", args="x: 3.0"),
        says=("jacfwd",),
    ),
    Row(
        "G06 G07 number of steps not static",
        "static",
        POWER,
        pipeline("grad: {argnums: x}\njit", args="x: 2.0\nn: 3"),
        "CMP405",
        "range",
        12.0,
        says=("static: [n]",),
    ),
    Row(
        "G10 gradient with respect to the data",
        "static",
        LINE,
        pipeline("grad", args="x: {ones: 'f32[4, 2]'}\nparams: {ones: 'f32[2]'}"),
        "CMP229",
        "grad",
        [2.0, 2.0],
        says=("params",),
        runs=True,
    ),
    Row(
        "G13 nondiff_argnums on an array",
        "shapes",
        module("""
            import functools

            @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
            def scaled(a, x):
                return a * x

            @scaled.defjvp
            def rule(a, primals, tangents):
                return a * primals[0], a * tangents[0]

            def f(x):
                def step(carry, row):
                    return scaled(row, carry), None
                return lax.scan(jax.checkpoint(step), x, jnp.array([2.0, 3.0]))[0]
        """),
        pipeline("grad", args="x: 1.0"),
        "CMP233",
        "grad",
        6.0,
        right=pipeline("grad", args="x: 1.0"),
        right_source=module("""
            def scaled(a, x):
                return a * x

            def f(x):
                def step(carry, row):
                    return scaled(row, carry), None
                return lax.scan(jax.checkpoint(step), x, jnp.array([2.0, 3.0]))[0]
        """),
    ),
    Row(
        "G22 Jacobian in the slow direction",
        "shapes",
        WIDE,
        pipeline("jacfwd", args="x: {ones: 'f32[512]'}"),
        "CMP226",
        "jacfwd",
        np.stack([np.ones(512), np.full(512, 2.0)]),
        says=("jacrev",),
    ),
    Row(
        "G23 has_aux missing",
        "static",
        module("def f(x):\n    return x * x, {'n': x}\n"),
        pipeline("grad", args="x: 3.0"),
        "CMP234",
        "grad",
        [6.0, 3.0],
        says=("has_aux: true",),
    ),
    Row(
        "G24 has_aux with one output",
        "static",
        module("def f(x):\n    return x * x\n"),
        pipeline("grad: {has_aux: true}", args="x: 3.0"),
        "CMP234",
        "grad",
        6.0,
    ),
    Row(
        "G34 custom_vjp of another dtype",
        "shapes",
        module("""
            @jax.custom_vjp
            def half(x):
                return x * 0.5

            def forward(x):
                return half(x), None

            def backward(_, g):
                return (g.astype(jnp.float32) * 0.5,)

            half.defvjp(forward, backward)

            def f(x):
                return jnp.sum(half(x)).astype(jnp.float32)
        """),
        pipeline("grad", args='x: {ones: "bf16[3]"}'),
        "CMP235",
        "grad",
        np.full(3, 0.5),
        right=pipeline("grad", args='x: {ones: "bf16[3]"}'),
        right_source=module("""
            @jax.custom_vjp
            def half(x):
                return x * 0.5

            def forward(x):
                return half(x), None

            def backward(_, g):
                return (g * 0.5,)

            half.defvjp(forward, backward)

            def f(x):
                return jnp.sum(half(x)).astype(jnp.float32)
        """),
    ),
    Row(
        "#45 check without checkify",
        "static",
        CHECKED,
        pipeline("jit", args="x: 1.6487212707"),
        "CMP105",
        "checkify.check",
        no_error_and_log,
        says=("checkify",),
    ),
    Row(
        "#46 derivative of a checked function",
        "static",
        CHECKED,
        pipeline("checkify\ngrad\njit", args="x: 2.0"),
        "CMP104",
        "grad",
        no_error_and_log,
        right=pipeline("grad\ncheckify\njit", args="x: 2.0"),
        says=("checkify",),
    ),
    Row(
        "remat outside grad",
        "static",
        module("def f(x):\n    return jnp.sin(x)\n"),
        pipeline("grad\ncheckpoint\njit", args="x: 0.0"),
        "CMP101",
        "checkpoint",
        1.0,
    ),
)
