"""What calls in a function's source mean: the names that facts are made of."""

from __future__ import annotations

from typing import Final

COLLECTIVES: Final = frozenset(
    {"pmean", "psum", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute"}
    | {"pshuffle", "pswapaxes", "axis_index", "axis_size"}
)
AXIS_FIRST: Final = frozenset({"axis_index", "axis_size"})
DERIVATIVES: Final = frozenset(
    {"grad", "value_and_grad", "jacfwd", "jacrev", "jacobian", "hessian", "jvp", "vjp", "linearize"}
)
WITH_GRADIENT: Final = frozenset({"value_and_grad", "jvp", "vjp", "linearize"})
COMPILES: Final = frozenset({"jit", "pmap", "pjit"})
LOOPS: Final = frozenset(
    {"while_loop", "fori_loop", "scan", "cond", "switch", "map", "associative_scan"}
)
RULES: Final = frozenset({"jax.custom_vjp", "jax.custom_jvp"})

STATIC_ATTRIBUTES: Final = frozenset({"shape", "ndim", "dtype", "size", "aval", "sharding"})
STATIC_CALLS: Final = frozenset(
    {"len", "isinstance", "issubclass", "hasattr", "callable", "type", "getattr", "id"}
    | {"jax.numpy.ndim", "jax.numpy.shape", "jax.numpy.size", "jax.numpy.issubdtype"}
    | {"jax.numpy.isdtype", "jax.numpy.result_type", "numpy.ndim", "numpy.shape", "numpy.size"}
    | {"jax.numpy.iscomplexobj", "numpy.iscomplexobj", "jax.dtypes.issubdtype"}
)
MAKES_KEYS: Final = frozenset({"jax.random.key", "jax.random.PRNGKey"})
NO_DRAW: Final = frozenset(
    {"key", "PRNGKey", "fold_in", "key_data", "wrap_key_data", "clone", "key_impl"}
)
SIZED: Final = frozenset({"zeros", "ones", "full", "arange", "eye", "empty", "linspace", "tri"})
STATISTICS: Final = frozenset({"mean", "var", "std"})
MUTATORS: Final = frozenset({"append", "extend", "update", "pop", "insert", "setdefault", "clear"})
REDUCTIONS: Final = frozenset({"sum", "mean", "max", "min", "prod", "vdot", "logsumexp", "average"})
TREE_MAPS: Final = frozenset(
    {"jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map", "jax.tree.map_with_path"}
)
