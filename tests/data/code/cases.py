"""Pipelines whose plain JAX is compared: the text of a file, and the arguments of a call."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One pipeline.

    Attributes:
        function: A name in tests/data/code/model.py.
        stack: The layers as YAML writes them on one line.
        args: Python for the arguments of a call, by names in model.py.
        kwargs: The same for keyword arguments.
        more: Further keys of the file.
    """

    function: str
    stack: str
    args: str
    kwargs: str = "{}"
    more: str = ""


ALL = "params: {value: 1}, x: {value: 1}, y: {value: 1}"
MESH = "mesh: {data: 4}"
GRID = "mesh: {data: 2, model: 2}"
BATCH = "in_axes: {x: 0, y: 0}"

CASES: dict[str, Case] = {
    "nothing": Case("loss", "[]", "(P, X, Y)"),
    "jit": Case("loss", "[jit]", "(P, X, Y)"),
    "grad": Case("loss", "[grad]", "(P, X, Y)"),
    "grad_by_name": Case("loss", "[grad: {argnums: x}, jit]", "(P, X, Y)"),
    "grad_of_two": Case("loss", "[grad: {argnums: [x, params]}, jit]", "(P, X, Y)"),
    "grad_aux": Case("with_aux", "[grad: {has_aux: true}, jit]", "(P, X, Y)"),
    "value_and_grad": Case("loss", "[value_and_grad: {argnums: params}, jit]", "(P, X, Y)"),
    "jacfwd": Case("example_loss", "[jacfwd: {argnums: y}, jit]", "(P, X, Y)"),
    "jacrev": Case("example_loss", "[jacrev, jit]", "(P, X, Y)"),
    "hessian": Case("loss", "[hessian: {argnums: params}, jit]", "(P, X, Y)"),
    "third_derivative": Case("sum_of_squares", "[grad, grad: {argnums: 0}]", "(P[0],)"),
    "vmap": Case("example_loss", "[vmap: {in_axes: {x: 0, y: 0}}]", "(P, X, Y)"),
    "vmap_all": Case("add", "[vmap: {in_axes: {x: 0, y: 0}}, jit]", "(X, X)"),
    "vmap_minus": Case("doubled", "[vmap: {in_axes: -1, out_axes: 1}, jit]", "(X,)"),
    "vmap_tree": Case(
        "tree_loss", "[vmap: {in_axes: {params: {w: 0, b: null}, x: 1}}]",
        "({'w': np.stack([P, V]), 'b': P[0]}, np.stack([X, X], 1), Y)",
    ),
    "vmap_list": Case("pair_loss", "[vmap: {in_axes: {pair: [0, 0]}}, jit]", "(PAIR, P)"),
    "vmap_tuple": Case("pair_loss", "[vmap: {in_axes: {pair: [0, 0]}}, jit]", "(tuple(PAIR), P)"),
    "vmap_size": Case(
        "doubled", "[vmap: {in_axes: null, axis_size: 3, axis_name: i, out_axes: 0}]", "(X,)"
    ),
    "vmap_keyword_only": Case(
        "scaled", "[vmap: {in_axes: {x: 0, by: 0}}, jit]", "(MANY,)", "{'by': MANY, 'offset': P[0]}"
    ),
    "vmap_keywords_eager": Case("scaled", "[vmap]", "(MANY,)", "{'offset': MANY, 'by': MANY}"),
    "vmap_open": Case("total", "[vmap, jit]", "(MANY, MANY)"),
    "vmap_chunk": Case("example_loss", f"[vmap: {{{BATCH}, chunk: 3}}, jit]", "(P, X, Y)"),
    "vmap_chunk_axes": Case("doubled", "[vmap: {in_axes: 1, out_axes: 1, chunk: 1}]", "(X,)"),
    "vmap_chunk_tree": Case(
        "pair_loss", "[vmap: {in_axes: {pair: [0, 0]}, chunk: 3}, jit]", "(PAIR, P)"
    ),
    "vmap_chunk_size": Case(
        "doubled", "[vmap: {in_axes: {x: null}, axis_size: 4, chunk: 2}, jit]", "(X,)"
    ),
    "per_example": Case(
        "example_loss", f"[grad, vmap: {{{BATCH}}}, reduce: mean, jit]", "(P, X, Y)"
    ),
    "reduce_all": Case("doubled", "[reduce: {op: sum, axis: null}, grad, jit]", "(X,)"),
    "reduce_some": Case(
        "with_aux", "[reduce: {op: sum, axis: [0, 1], outputs: [1.x]}, jit]", "(P, X, Y)"
    ),
    "select": Case("with_aux", "[select: 0, grad, jit]", "(P, X, Y)"),
    "select_named": Case(
        "with_aux", "[select: [aux.x, loss], jit]", "(P, X, Y)",
        more="returns: [loss, {aux: {n, x}}]",
    ),
    "select_field": Case("stats", "[select: 0.mean, grad, jit]", "(X,)"),
    "drop": Case("with_aux", "[select: {drop: 1.x}, jit]", "(P, X, Y)"),
    "drop_one": Case("with_aux", "[select: {drop: -1}, jit]", "(P, X, Y)"),
    "partial": Case("power", "[partial: {keywords: {n: 3}}, jit]", "(X,)"),
    "partial_first": Case("add", "[partial: {args: [2.5]}, vmap, jit]", "(MANY,)"),
    "partial_static": Case(
        "power", "[partial: {keywords: {n: 3}}, vmap, jit]", "(X,)", more="static: [n]"
    ),
    "static": Case("power", "[vmap: {in_axes: {x: 0}}, jit]", "(X, 3)", more="static: [n]"),
    "static_deep": Case(
        "power", "[reduce: {op: sum, axis: null}, grad, vmap: {in_axes: {x: 0}}, jit]",
        "(X, 3)", more="static: [n]",
    ),
    "static_inner_jit": Case(
        "power", "[jit, vmap: {in_axes: {x: 0}}]", "(X, 3)", more="static: [n]"
    ),
    "static_function": Case(
        "activated", "[vmap: {in_axes: {x: 0}}, jit]", "(X, jnp.tanh, 2)",
        more="static: [activation, n]",
    ),
    "jit_static": Case("power", "[jit: {static_argnums: [n]}]", "(X, 3)"),
    "jit_options": Case("loss", "[jit: {keep_unused: true, inline: true}, jit]", "(P, X, Y)"),
    "jit_donate": Case("doubled", "[jit: {donate_argnums: x}]", "(jnp.array(MANY),)"),
    "jit_inside": Case("loss", "[jit, grad, jit]", "(P, X, Y)"),
    "jit_after_partial": Case(
        "power", "[partial: {keywords: {n: 3}}, jit: {donate_argnames: [x]}]", "(jnp.array(X),)"
    ),
    "jit_shardings": Case(
        "loss", "[jit: {in_shardings: {x: [data], y: [data]}, out_shardings: []}]", "(P, X, Y)",
        more=MESH,
    ),
    "jit_sharding_tree": Case(
        "with_aux", "[jit: {out_shardings: {loss: [], aux: {n: [], x: [data, null]}}}]",
        "(P, X, Y)", more=f"{MESH}\nreturns: [loss, aux]",
    ),
    "defaults": Case(
        "defaulted", "[vmap: {in_axes: {x: 0}}, jit]", "(MANY,)", more="args: {x: {value: 1}}"
    ),
    "default_in_the_middle": Case(
        "defaulted", "[vmap: {in_axes: {x: 0, y: 0}}, jit]", "(MANY,)", "{'y': MANY}",
        more="args: {x: {value: 1}, y: {value: 1}}",
    ),
    "all_given": Case("defaulted", "[vmap: {in_axes: {x: 0, y: 0}}]", "(MANY, 2, MANY)"),
    "checkpoint": Case("named_point", "[checkpoint, grad, jit]", "(X,)"),
    "checkpoint_policy": Case(
        "named_point", "[checkpoint: {policy: dots_saveable, prevent_cse: false}, grad, jit]",
        "(X,)",
    ),
    "checkpoint_names": Case(
        "named_point", "[checkpoint: {policy: {save_only_these_names: [sin]}}, grad, jit]", "(X,)"
    ),
    "checkpoint_both": Case(
        "named_point",
        "[checkpoint: {policy: {save_from_both_policies: [dots_saveable, nothing_saveable]}}, jit]",
        "(X,)",
    ),
    "shard_map": Case(
        "predict", "[shard_map: {in_specs: {x: [data]}, out_specs: [data]}]", "(P, X)", more=MESH
    ),
    "shard_map_jit": Case(
        "predict", "[shard_map: {in_specs: [[], [data]], out_specs: [data]}, jit]", "(P, X)",
        more=MESH,
    ),
    "shard_map_grid": Case(
        "doubled",
        "[shard_map: {in_specs: {x: [[data, model]]}, out_specs: {y: [[data, model]]}}, jit]",
        "(SQUARE,)", more=f"{GRID}\nreturns: [y]",
    ),
    "shard_map_own": Case(
        "doubled",
        "[shard_map: {in_specs: [d], out_specs: [d], mesh: {d: 2}, axis_names: [d],"
        " check_vma: false}]",
        "(X,)",
    ),
    "shard_map_static": Case(
        "power", "[shard_map: {in_specs: {x: [data]}, out_specs: [data]}, jit]", "(X, 2)",
        more=f"{MESH}\nstatic: [n]",
    ),
    "shard_map_keywords": Case(
        "scaled", "[shard_map: {in_specs: {x: [data], by: [data]}, out_specs: [data]}, jit]",
        "(MANY,)", "{'offset': P[0], 'by': MANY}", more=MESH,
    ),
    "pmap": Case("doubled", "[pmap]", "(SQUARE,)"),
    "pmap_axes": Case(
        "loss", f"[pmap: {{{BATCH}, axis_name: i}}]",
        "(P, X.reshape(4, 2, 2), Y.reshape(4, 2))",
    ),
    "pmap_sync": Case(
        "grads", f"[pmap: {{{BATCH}, sync: pmean}}]", "(P, X.reshape(4, 2, 2), Y.reshape(4, 2))"
    ),
    "pmap_sync_tree": Case(
        "grads", f"[pmap: {{{BATCH}, sync: {{loss: null, grads: psum}}}}]",
        "(P, X.reshape(4, 2, 2), Y.reshape(4, 2))",
    ),
    "pmap_devices": Case("doubled", "[pmap: {devices: [1, 0]}]", "(SQUARE[:2],)"),
    "pmap_list": Case(
        "pair_loss", "[pmap: {in_axes: {pair: [0, 0]}}]",
        "([X.reshape(4, 2, 2), Y.reshape(4, 2)], P)",
    ),
    "pmap_static": Case("power", "[pmap: {in_axes: {x: 0}}]", "(SQUARE, 2)", more="static: [n]"),
    "split": Case("predict", "[pmap: {in_axes: {x: 0}, split: true}]", "(P, X)"),
    "split_jit": Case("loss", f"[pmap: {{{BATCH}, split: true, sync: pmean}}, jit]", "(P, X, Y)"),
    "split_grad": Case(
        "loss", f"[value_and_grad, pmap: {{{BATCH}, split: true, sync: pmean}}, jit]", "(P, X, Y)"
    ),
    "split_merge": Case("predict", "[pmap: {in_axes: {x: 0}, split: true, merge: true}]", "(P, X)"),
    "split_back": Case(
        "predict", "[pmap: {in_axes: {x: 0}, split: true, out_axes: -1}]", "(P, X)"
    ),
    "split_merge_back": Case(
        "doubled", "[pmap: {in_axes: -1, split: true, merge: true, out_axes: -1}]", "(X.T,)"
    ),
    "split_out_tree": Case(
        "rows_and_total",
        "[pmap: {axis_name: d, in_axes: {x: 0}, split: true, out_axes: [0, null]}, jit]",
        "(X,)",
    ),
    "split_out_back": Case(
        "rows_of", "[pmap: {in_axes: {x: 0}, split: true, out_axes: [-1, 1]}, jit]", "(X,)"
    ),
    "split_words": Case(
        "grads", f"[pmap: {{{BATCH}, split: true, sync: {{loss: pmin, _: null}}}}]", "(P, X, Y)"
    ),
    "split_counts": Case(
        "counted", "[pmap: {split: true, sync: {n: psum, any: pmax, mean: device0}}]", "(MANY,)"
    ),
    "split_named": Case(
        "with_aux", f"[pmap: {{{BATCH}, split: true, sync: {{loss: pmean, n: psum, _: null}}}}]",
        "(P, X, Y)", more="returns: [loss, {aux: {n, x}}]",
    ),
    "split_list": Case(
        "pair_loss", "[pmap: {in_axes: {pair: [0, -1]}, split: true, merge: true}, jit]",
        "(PAIR, P)",
    ),
    "split_drop": Case(
        "loss", f"[pmap: {{{BATCH}, split: true, remainder: drop, sync: pmean}}]",
        "(P, X[:7], Y[:7])",
    ),
    "split_drop_list": Case(
        "pair_loss",
        "[pmap: {in_axes: {pair: [0, 0]}, split: true, remainder: drop, merge: true}]",
        "([X[:7], Y[:7]], P)",
    ),
    "split_pad": Case(
        "weighted",
        "[pmap: {in_axes: {x: 0, y: 0, w: 0}, split: true, remainder: pad, weights: w,"
        " sync: pmean}]",
        "(P, X[:7], Y[:7], ONES[:7])",
    ),
    "split_pad_even": Case(
        "weighted",
        "[pmap: {in_axes: {x: 0, y: 0, w: 0}, split: true, remainder: pad, weights: w,"
        " sync: pmean}, jit]",
        "(P, X, Y, ONES)",
    ),
    "split_pad_rows": Case(
        "weighted_rows",
        "[pmap: {in_axes: {x: 0, y: 0, w: 0}, split: true, remainder: pad, weights: w,"
        " merge: true, sync: {loss: pmean, rows: null}}]",
        "(P, X[:7], Y[:7], ONES[:7])",
    ),
    "split_devices": Case(
        "doubled", "[pmap: {split: true, axis_size: 2, donate_argnums: x}]", "(jnp.array(X),)"
    ),
    "split_ids": Case("doubled", "[pmap: {split: true, devices: [1, 0]}, jit]", "(X,)"),
    "split_static": Case(
        "power", "[pmap: {in_axes: {x: 0}, split: true}, jit]", "(X, 3)", more="static: [n]"
    ),
    "split_static_alone": Case(
        "power", "[pmap: {in_axes: {x: 0}, split: true}]", "(X, 3)", more="static: [n]"
    ),
    "split_keywords": Case(
        "scaled", "[pmap: {in_axes: {x: 0, by: 0}, split: true, merge: true}, jit]", "(MANY,)",
        "{'by': MANY, 'offset': P[0]}",
    ),
    "jvp": Case("loss", "[jvp: {tangents: {params: v}}, jit]", "(P, X, Y, V)"),
    "jvp_all": Case("add", "[jvp: {tangents: {x: dx, y: dy}}]", "(P, V, V, P)"),
    "jvp_aux": Case(
        "with_aux", "[jvp: {tangents: {params: v}, has_aux: true}, jit]", "(P, X, Y, V)"
    ),
    "jvp_keyword": Case(
        "defaulted", "[jvp: {tangents: {x: v}}, jit]", "(P,)", "{'v': V}",
        more="args: {x: {value: 1}, v: {value: 1}}",
    ),
    "hvp": Case("loss", "[grad, jvp: {tangents: {params: v}}, select: 1, jit]", "(P, X, Y, V)"),
    "vjp": Case("predict", "[vjp: {cotangent: ct}, jit]", "(P, X, Y)"),
    "vjp_one": Case(
        "predict", "[vjp: {cotangent: ct, argnums: params, value: true}, jit]", "(P, X, Y)"
    ),
    "vjp_two": Case(
        "with_aux",
        "[vjp: {cotangent: ct, argnums: [y, params], value: true, has_aux: true}, jit]",
        "(P, X, Y, np.float32(2))",
    ),
    "vjp_aux": Case(
        "with_aux", "[vjp: {cotangent: ct, argnums: y, has_aux: true}]",
        "(P, X, Y, np.float32(2))",
    ),
    "scan": Case("rnn", "[scan, jit]", "(P, X, V)"),
    "scan_pair": Case(
        "two_carries", "[scan: {carry: [h, c], xs: x, reverse: true, unroll: 2}, jit]",
        "(P[0], P[1], MANY)",
    ),
    "scan_rows": Case(
        "rnn", "[scan: {carry: h, xs: [w, x]}, vmap: {in_axes: {h: 0}}]", "(P, MANY, MANY)"
    ),
    "scan_length": Case("oscillator", "[scan: {carry: v, xs: null, length: 3}]", "(P, V, P)"),
    "map": Case("add", "[map, jit]", "(MANY, MANY)"),
    "map_some": Case(
        "example_loss", "[map: {xs: [y, x], batch_size: 3}, jit]", "(P, X, Y)"
    ),
    "repeat": Case("doubled", "[repeat: 5, jit]", "(X,)"),
    "repeat_pair": Case("oscillator", "[repeat: {n: 3, carry: [x, v]}, jit]", "(P, V, P[0])"),
    "repeat_grad": Case(
        "step", "[repeat: {n: 3, unroll: 3}, reduce: {op: sum, axis: null}, grad, jit]", "(P, V)"
    ),
    "checkify": Case("log_checked", "[checkify, jit]", "(MANY,)"),
    "checkify_sets": Case("log_checked", "[checkify: [nan_checks, div_checks], jit]", "(MANY,)"),
    "checkify_none": Case("doubled", "[checkify: {errors: []}, vmap, jit]", "(MANY,)"),
    "cast": Case("loss", "[cast: {arguments: bf16, outputs: f32}, jit]", "(P, X, Y)"),
    "cast_some": Case(
        "with_aux",
        "[cast: {arguments: {params: f32, x: f32, _: null},"
        " outputs: {loss: f32, n: i16, _: bf16}}, jit]",
        "(P.astype(np.float16), X, Y)",
        more="returns: [loss, {aux: {n, x}}]",
    ),
    "cast_out": Case("add", "[cast: {outputs: c64}, jit]", "(X, X)"),
    "split_key_rows": Case(
        "noise", "[vmap: {in_axes: {x: 0, key: 0}}, split_key: {key: key, like: x}, jit]",
        "(KEY, X)",
    ),
    "split_key_num": Case(
        "noise", "[vmap: {in_axes: {x: 0, key: 0}}, split_key: {key: key, num: 8}]", "(KEY, X)"
    ),
    "split_key_axis": Case(
        "noise", "[split_key: {key: key, axis_name: i}, vmap: {in_axes: {x: 0}, axis_name: i}]",
        "(KEY, X)",
    ),
    "split_key_fold": Case("noise", "[split_key: {key: key, fold: x}, jit]", "(KEY, 3)"),
    "collective": Case(
        "loss", f"[grad, collective: {{op: pmean, axis_name: i}}, vmap: {{{BATCH}, axis_name: i}}]",
        "(P, X[:, None], Y[:, None])",
    ),
    "collective_some": Case(
        "counted",
        "[collective: {op: psum, axis_name: i, outputs: [n, any]}, vmap: {axis_name: i}, jit]",
        "(X,)",
    ),
    "collective_gather": Case(
        "doubled",
        "[collective: {op: all_gather, axis_name: i, axis: -1}, vmap: {axis_name: i}, jit]",
        "(X,)",
    ),
    "collective_scatter": Case(
        "doubled",
        "[collective: {op: psum_scatter, axis_name: i, tiled: true}, vmap: {axis_name: i}, jit]",
        "(SQUARE,)",
    ),
    "collective_exchange": Case(
        "doubled",
        "[collective: {op: all_to_all, axis_name: i, split_axis: 0, concat_axis: 0},"
        " vmap: {axis_name: i}, jit]",
        "(SQUARE,)",
    ),
    "collective_permute": Case(
        "doubled",
        "[collective: {op: ppermute, axis_name: i, perm: [[0, 1], [1, 0]]},"
        " vmap: {axis_name: i}, jit]",
        "(SQUARE[:2],)",
    ),
    "stop_gradient": Case("loss", "[stop_gradient: params, grad: {argnums: x}, jit]", "(P, X, Y)"),
    "stop_gradient_part": Case(
        "tree_loss", "[stop_gradient: [params.b, x], grad, jit]", "(TREE, X, Y)"
    ),
    "stop_gradient_out": Case(
        "with_aux", "[stop_gradient: {outputs: [1]}, grad: {has_aux: true}, jit]", "(P, X, Y)"
    ),
    "then": Case("predict", "[then: 'model:halved', jit]", "(P, X)"),
    "then_unpack": Case("rows_of", "[then: {function: 'model:product', unpack: true}]", "(X,)"),
    "apply": Case(
        "predict",
        "[apply: {function: 'jax.numpy:vectorize', keywords: {signature: '(k),(n,k)->(n)'}}, jit]",
        "(P, X)",
    ),
    "apply_call": Case(
        "sum_of_squares", "[apply: {function: 'jax:jvp', how: call, arguments: [x, v]}, jit]",
        "((X,), (X,))",
    ),
    "apply_factory": Case(
        "doubled", "[apply: {function: 'functools:lru_cache', how: factory}]", "(2,)"
    ),
    "method": Case("Model.apply", "[vmap: {in_axes: {x: 0}}, jit]", "(P, X)"),
    "name_clash": Case(
        "step", "[grad: {argnums: w}, jit]", "(P[0], P[1])", more="name: step"
    ),
}  # fmt: skip
"""By name. Every word of the catalogue stands in one of them."""

EXTRA: dict[str, str] = {
    "factory": "function: {call: 'model:affine', scale: 2.0, shift: 1.0}\nstack: [vmap, jit]",
    "beside": "function: 'model.py:doubled'\nstack: [jit]\nrun: {enable_x64: false}",
    "sub_pipeline": (
        "function: model:laplace\nstatic: [u]\n"
        "args: {u: {function: 'model:sum_of_squares', stack: [grad]}, x: {value: 1.5}}\n"
        "stack: [jit]"
    ),
}
"""Whole files, each with its own way to name the function."""
