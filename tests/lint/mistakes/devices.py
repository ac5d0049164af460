"""Mistakes with pmap, shard_map and collectives."""

from __future__ import annotations

import numpy as np
from lint.mistakes.rows import Row, module, pipeline

LOSS = module("""
    def f(params, x, y):
        return jnp.mean((x * params - y) ** 2)
""")
# x = 1..8, y = 0, params = 1: the gradient is 2 * mean(x^2) = 2 * 204 / 8 = 51.
DATA = "params: 1.0\nx: {arange: [1.0, 9.0]}\ny: {zeros: 'f32[8]'}"
SHARD = "shard_map: {in_specs: {x: [data], y: [data]}, out_specs: []}"
GRAD = "value_and_grad: {argnums: params}\nselect: 1\n"
SQUARE = module("def f(x):\n    return x * x\n")
EIGHT = "x: {arange: [0.0, 8.0]}"
FOUR = "x: [0.0, 1.0, 2.0, 3.0]"
CENTRED = module("""
    def f(x):
        return x - lax.pmean(x, "batch")
""")
NORMAL = module("""
    def f(x):
        mean = jnp.mean(x, axis=0)
        return x - mean
""")

ROWS = (
    Row(
        "P03-P05 #31 rows do not divide",
        "static",
        SQUARE,
        pipeline(
            "pmap: {split: true}", args="x: {arange: [0.0, 30.0]}", run="{simulate_devices: 4}"
        ),
        "CMP301",
        "pmap",
        np.arange(28.0).reshape(4, 7) ** 2,
        right=pipeline(
            "pmap: {split: true, remainder: drop}",
            args="x: {arange: [0.0, 30.0]}",
            run="{simulate_devices: 4}",
        ),
    ),
    Row(
        "#31 P34 batch is not split",
        "static",
        SQUARE,
        pipeline("pmap", args=EIGHT, run="{simulate_devices: 4}"),
        "CMP301",
        "pmap",
        np.arange(8.0).reshape(4, 2) ** 2,
        says=("split: true",),
    ),
    Row(
        "P35 #32 scalar mapped over devices",
        "static",
        module("def f(x, s):\n    return x * s\n"),
        pipeline("pmap", args=FOUR + "\ns: 2.0"),
        "CMP209",
        "pmap",
        [0.0, 2.0, 4.0, 6.0],
    ),
    Row(
        "E01 #32 sizes over devices differ",
        "static",
        module("def f(x, y):\n    return x + y\n"),
        pipeline("pmap", args=FOUR + "\ny: [1.0, 2.0]"),
        "CMP214",
        "pmap",
        [1.0, 2.0, 3.0, 4.0],
        right=pipeline("pmap", args=FOUR + "\ny: {ones: 'f32[4]'}"),
    ),
    Row(
        "P11 P12 sum of the shards' gradients",
        "static",
        LOSS,
        pipeline(GRAD + SHARD, args=DATA, mesh="{data: 4}"),
        "CMP315",
        "shard_map",
        51.0,
        runs=True,
    ),
    Row(
        "#30 mean of a summed gradient",
        "static",
        LOSS,
        pipeline(
            GRAD + "collective: {op: pmean, axis_name: data}\n" + SHARD, args=DATA, mesh="{data: 4}"
        ),
        "CMP314",
        "collective",
        51.0,
        runs=True,
    ),
    Row(
        "one device's gradient",
        "static",
        LOSS,
        pipeline(
            "collective: {op: pmean, axis_name: data}\n"
            + GRAD
            + "shard_map: {in_specs: {x: [data], y: [data]}, out_specs: [], check_vma: false}",
            args=DATA,
            mesh="{data: 4}",
        ),
        "CMP316",
        "collective",
        51.0,
        runs=True,
    ),
    Row(
        "rows averaged across devices",
        "static",
        module("def f(params, x, y):\n    return (x * params - y) ** 2\n"),
        pipeline(
            "grad: {argnums: params}\nvmap: {in_axes: {x: 0, y: 0}}\n"
            "pmap: {in_axes: {x: 0, y: 0}, split: true, sync: pmean}",
            args=DATA,
        ),
        "CMP311",
        "pmap",
        51.0,
        says=("reduce: mean",),
        runs=True,
    ),
    Row(
        "#28 unbound axis",
        "static",
        CENTRED,
        pipeline("vmap: {axis_name: rows}", args=FOUR),
        "CMP112",
        "lax.pmean",
        [-1.5, -0.5, 0.5, 1.5],
        right=pipeline("vmap: {axis_name: batch}", args=FOUR),
        says=("batch",),
    ),
    Row(
        "P30 one name for two axes",
        "static",
        CENTRED,
        pipeline(
            "vmap: {axis_name: batch}\npmap: {axis_name: batch}",
            args="x: [[0.0, 1.0], [4.0, 5.0], [8.0, 9.0], [12.0, 13.0]]",
        ),
        "CMP310",
        "pmap",
        np.array([[0, 1], [4, 5], [8, 9], [12, 13]]) - 6.5,
        right=pipeline(
            "vmap: {axis_name: rows}\npmap: {axis_name: batch}",
            args="x: [[0.0, 1.0], [4.0, 5.0], [8.0, 9.0], [12.0, 13.0]]",
        ),
        right_source=module('def f(x):\n    return x - lax.pmean(x, ("rows", "batch"))\n'),
        runs=True,
    ),
    Row(
        "#33 nested pmap",
        "static",
        SQUARE,
        pipeline("pmap: {axis_size: 2}\npmap: {axis_size: 2}", args="x: [[0.0, 1.0], [2.0, 3.0]]"),
        "CMP309",
        "pmap",
        [[0.0, 1.0], [4.0, 9.0]],
        right=pipeline("vmap\npmap: {axis_size: 2}", args="x: [[0.0, 1.0], [2.0, 3.0]]"),
        says=("vmap",),
    ),
    Row(
        "P14 #34 jit around pmap",
        "static",
        SQUARE,
        pipeline("pmap\njit", args=FOUR),
        "CMP102",
        "jit",
        [0.0, 1.0, 4.0, 9.0],
    ),
    Row(
        "P21 plain pmap for export",
        "static",
        SQUARE,
        pipeline("pmap", args=FOUR),
        "CMP320",
        "pmap",
        [0.0, 1.0, 4.0, 9.0],
        right=pipeline("pmap: {split: true, merge: true}", args=FOUR),
        says=("split: true",),
    ),
    Row(
        "#57 derivative of a parallel layer",
        "static",
        module("def f(w, x):\n    return w * x * x\n"),
        pipeline(
            "pmap: {in_axes: {x: 0}}\nreduce: mean\ngrad: {argnums: w}", args="w: 1.0\n" + FOUR
        ),
        "CMP103",
        "grad",
        3.5,
        right=pipeline(
            "grad: {argnums: w}\npmap: {in_axes: {x: 0}, axis_name: d, sync: pmean}",
            args="w: 1.0\n" + FOUR,
        ),
    ),
    Row(
        "P20 one device's output",
        "shapes",
        SQUARE,
        pipeline("pmap: {out_axes: null}", args=FOUR),
        "CMP317",
        "pmap",
        3.5,
        right=pipeline("pmap: {sync: pmean}", args=FOUR),
        says=("sync",),
    ),
    Row(
        "P29 unsplit output that differs",
        "shapes",
        SQUARE,
        pipeline("shard_map: {in_specs: {x: [data]}, out_specs: []}", args=FOUR, mesh="{data: 4}"),
        "CMP233",
        "shard_map",
        [0.0, 1.0, 4.0, 9.0],
        right=pipeline(
            "shard_map: {in_specs: {x: [data]}, out_specs: [data]}", args=FOUR, mesh="{data: 4}"
        ),
    ),
    Row(
        "P32 statistics of one device",
        "static",
        NORMAL,
        pipeline("pmap: {split: true, merge: true}", args=EIGHT),
        "CMP323",
        "jnp.mean",
        np.arange(8.0) - 3.5,
        right=pipeline("pmap: {split: true, merge: true, axis_name: d}", args=EIGHT),
        right_source=module("""
            def f(x):
                mean = lax.pmean(jnp.mean(x, axis=0), "d")
                return x - mean
        """),
        runs=True,
    ),
    Row(
        "#54 constraint inside a mapped function",
        "shapes",
        module("""
            from jax.sharding import NamedSharding, PartitionSpec

            def f(x):
                mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("data",))
                layout = NamedSharding(mesh, PartitionSpec("data"))
                return lax.with_sharding_constraint(x * 2.0, layout)
        """),
        pipeline("vmap\njit", args="x: {ones: 'f32[4, 4]'}", mesh="{data: 4}"),
        "CMP322",
        "vmap",
        np.full((4, 4), 2.0),
        right=pipeline(
            "vmap\njit: {out_shardings: [data]}", args="x: {ones: 'f32[4, 4]'}", mesh="{data: 4}"
        ),
        right_source=module("def f(x):\n    return x * 2.0\n"),
    ),
)
