"""Mined stacks as pipelines: the same plan, written in composer's YAML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
from corpus import decorators, handnest
from corpus.filling import DERIVATIVES, MESH, Spec, leaves
from corpus.mined import LIBRARIES
from corpus.slots import LENGTH, Plan

import composer
from composer._yaml import dump
from composer.plugin import Transform

Params = dict[str, Any]

FUNCTION: Final = "f"
"""What the text calls the function."""


class NotText(Exception):
    """The pipeline holds a value that no text can hold: an object, an array, code."""


def built(made: Plan) -> Callable[..., Any]:
    """The composed callable: by way of the text of a pipeline, where text can hold it."""
    try:
        text = pipeline_text(made)
    except NotText:
        return stack_in_python(made)(made.function)
    return composer.loads(text, functions={FUNCTION: made.function}).build()


def has_text(made: Plan) -> bool:
    """Whether the pipeline can be written as text."""
    try:
        pipeline_text(made)
    except NotText:
        return False
    return True


def pipeline_text(made: Plan) -> str:
    """The stack as a pipeline.

    Raises:
        NotText: a parameter is no plain data.
    """
    data: dict[str, Any] = {"composer": 1, "function": FUNCTION}
    if _mesh(made) is not None:
        data["mesh"] = MESH
    stack = []
    for number in range(len(made.layers)):
        word, params = layer_of(made, number)
        if word == "apply":
            raise NotText(word)
        stack.append({word: _plain(params)} if params else word)
    return dump({**data, "stack": stack})


def stack_in_python(made: Plan) -> composer.Stack:
    """The stack put together in Python, for values that no text can hold."""
    layers = []
    for number in range(len(made.layers)):
        word, params = layer_of(made, number)
        layers.append(_class_of(word)(**{key: _object(item) for key, item in params.items()}))
    return composer.Stack(*layers, mesh=_mesh(made))


def _mesh(made: Plan) -> Mapping[str, int] | None:
    return MESH if made.needs_mesh else None


def _class_of(word: str) -> type[Transform]:
    found: type[Transform] = getattr(composer, word.title().replace("_", ""))
    return found


def _plain(value: Any) -> Any:
    """The value as YAML writes it.

    Raises:
        NotText: it is no plain data, or specs in a tree, whose lists would be ambiguous.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        if any(isinstance(leaf, Spec) for item in value for leaf in _inside(item)):
            raise NotText("specs in a tree")
        return [_plain(item) for item in value]
    raise NotText(type(value).__name__)


def _inside(value: Any) -> list[Any]:
    """What stands below the first level of a tree of specs."""
    return leaves(value) if isinstance(value, dict) or not isinstance(value, Spec) else []


def _object(value: Any) -> Any:
    """The value as Python passes it: specs are JAX's own."""
    return handnest.specs(value)


# One transform


def layer_of(made: Plan, number: int) -> tuple[str, Params]:
    """The word and the parameters of one layer."""
    layer = made.layers[number]
    params = dict(layer.kwargs)
    if layer.transform in (*DERIVATIVES, "checkpoint", "remat", "partial", "checkify"):
        return layer.transform, params
    if layer.transform in WRITTEN:
        return WRITTEN[layer.transform](made, number, params)
    library, _, name = layer.transform.partition(".")
    function = f"{LIBRARIES[library]}:{name or library}"
    return "apply", {"function": function, "keywords": params}


def _vmap(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    """JAX maps what is passed by keyword on axis 0; composer by in_axes, so by name."""
    keywords = list(made.kwargs)
    if keywords and params.get("in_axes", 0) != 0:
        axes, live = params["in_axes"], made.live[number]
        per_name = axes if isinstance(axes, tuple) else (axes,) * len(live)
        by_name = dict(zip(live, per_name, strict=True)) | dict.fromkeys(keywords, 0)
        params["in_axes"] = {name: axis for name, axis in by_name.items() if axis is not None}
    return made.layers[number].transform, params


def _jit(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    if "device" in params:
        params["device"] = jax.devices()[params["device"]]
    return "jit", params


def _shard_map(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    params.pop("mesh", None)
    if "check_rep" in params:
        params["check_vma"] = params.pop("check_rep")
    return "shard_map", params


def _method(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "partial", {"args": (2,)}


def _jvp(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    names = made.live[number][: params["n_primals"]]
    if not all(name.isidentifier() for name in names):
        return "apply", {"function": _jvp_of_all, "keywords": {"count": len(names)}}
    return "jvp", {"tangents": {name: f"{name}_tangent" for name in names}}


def _jvp_of_all(fn: Callable[..., Any], count: int) -> Callable[..., Any]:
    """jvp of a function whose arguments have no names that tangents could go by."""
    return lambda *args: jax.jvp(fn, args[:count], args[count:])


def _vjp(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "vjp", {"cotangent": "cotangent", "value": True}


def _scan(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "scan", params


def _map(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "map", params


def _applied(function: str, how: str = "decorator") -> Any:
    def write(made: Plan, number: int, params: Params) -> tuple[str, Params]:
        return "apply", {"function": function, "keywords": params, "how": how}

    return write


def _linearize(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "apply", {"function": "jax:linearize", "how": "call"}


def _linear_transpose(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "apply", {"function": "jax:linear_transpose", "how": "call"}


def _fori_loop(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    keywords = {"steps": LENGTH}
    return "apply", {"function": decorators.counted, "keywords": keywords, "arguments": ("init",)}


def _while_loop(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "apply", {"function": decorators.until_ten}


def _custom_jvp(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "apply", {"function": decorators.with_jvp, "keywords": params}


def _custom_vjp(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "apply", {"function": decorators.with_vjp}


def _filter_custom_vjp(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "apply", {"function": decorators.with_filtered_vjp}


def _nnx_custom_vjp(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "apply", {"function": decorators.with_graph_vjp, "keywords": params}


def _filter_jvp(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    return "apply", {"function": _filtered_jvp, "keywords": {"count": params["n_primals"]}}


def _filtered_jvp(fn: Callable[..., Any], count: int) -> Callable[..., Any]:
    import equinox

    return lambda *args: equinox.filter_jvp(fn, args[:count], args[count:])


def _filter_pmap(made: Plan, number: int, params: Params) -> tuple[str, Params]:
    if "devices" in params:
        params["devices"] = [jax.devices()[n] for n in params["devices"]]
    return "apply", {"function": "equinox:filter_pmap", "keywords": params}


WRITTEN: Final[Mapping[str, Callable[[Plan, int, Params], tuple[str, Params]]]] = {
    "vmap": _vmap,
    "pmap": _vmap,
    "jit": _jit,
    "shard_map": _shard_map,
    "method": _method,
    "jvp": _jvp,
    "vjp": _vjp,
    "lax.scan": _scan,
    "lax.map": _map,
    "lax.fori_loop": _fori_loop,
    "lax.while_loop": _while_loop,
    "lax.associative_scan": _applied("jax.lax:associative_scan", "call"),
    "linearize": _linearize,
    "linear_transpose": _linear_transpose,
    "custom_jvp": _custom_jvp,
    "custom_vjp": _custom_vjp,
    "eqx.filter_custom_vjp": _filter_custom_vjp,
    "eqx.filter_jvp": _filter_jvp,
    "eqx.filter_pmap": _filter_pmap,
    "nnx.custom_vjp": _nnx_custom_vjp,
    "nnx.split_rngs": _applied("flax.nnx:split_rngs", "factory"),
    "vectorize": _applied("jax.numpy:vectorize"),
}
