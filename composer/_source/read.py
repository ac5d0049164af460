"""Facts about one function, with the functions of the same module that it calls.

A fact is what the source says for certain; where it does not say, there is no fact.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from composer._source.collect import Collector
from composer._source.model import Facts
from composer._source.names import FunctionNode, Module
from composer._source.returned import number_of_outputs, returns_mean, returns_scalar

_KEEPS_PARAMETERS = (
    "jax.jit", "jax.custom_vjp", "jax.custom_jvp", "jax.checkpoint", "jax.remat", "staticmethod",
    "functools.partial", "functools.wraps", "functools.lru_cache", "functools.cache", "jax.vmap",
    "jax.grad", "jax.value_and_grad", "jax.pmap", "jax.named_call",
)  # fmt: skip


def facts_in(module: Module, name: str) -> Facts:
    """Facts about one function of a parsed module.

    Args:
        module: The module.
        name: Its name there: `loss`, or `Model.loss`.
    """
    node = module.functions[name]
    collector = Collector(module)
    own = _method(module, node, name)
    names = [p.name for p in _parameters(node)]
    collector.enter(node, name, frozenset(names[1:] if own else names))
    parameters = tuple(_parameters(node))[1 if own == "class" else 0 :]
    hiding = _hiding_decorator(module, node)
    return Facts(
        name,
        module.place(node),
        None if hiding else parameters,
        hiding,
        own == "object",
        returns_scalar(module, node),
        returns_mean(module, node),
        number_of_outputs(node),
        **collector.sorted(),
    )


def _method(module: Module, node: FunctionNode, name: str) -> str | None:
    """`object` or `class` for a method whose first parameter is one; else None."""
    if "." not in name:
        return None
    words = {module.meaning(decorator) for decorator in node.decorator_list}
    if "staticmethod" in words:
        return None
    return "class" if "classmethod" in words else "object"


def _hiding_decorator(module: Module, node: FunctionNode) -> str:
    """The first decorator that may not leave the parameters as they are written."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        meaning = module.meaning(target)
        if meaning in ("classmethod", *_KEEPS_PARAMETERS):
            continue
        wrapper = module.functions.get(meaning)
        if wrapper is None or not _wraps(module, wrapper):
            return meaning or "of the function"
    return ""


def _wraps(module: Module, wrapper: FunctionNode) -> bool:
    """Whether a decorator of this module hands on the signature by functools.wraps."""
    for inner in ast.walk(wrapper):
        if isinstance(inner, ast.FunctionDef) and inner is not wrapper:
            for decorator in inner.decorator_list:
                if (
                    isinstance(decorator, ast.Call)
                    and module.meaning(decorator.func) == "functools.wraps"
                ):
                    return True
    return False


def _parameters(node: FunctionNode) -> Iterator[inspect.Parameter]:
    args, kinds = node.args, inspect.Parameter
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    for number, (arg, default) in enumerate(zip(positional, defaults, strict=True)):
        only = number < len(args.posonlyargs)
        kind = kinds.POSITIONAL_ONLY if only else kinds.POSITIONAL_OR_KEYWORD
        yield kinds(arg.arg, kind, default=_default(default))
    if args.vararg:
        yield kinds(args.vararg.arg, kinds.VAR_POSITIONAL)
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield kinds(arg.arg, kinds.KEYWORD_ONLY, default=_default(default))
    if args.kwarg:
        yield kinds(args.kwarg.arg, kinds.VAR_KEYWORD)


def _default(node: ast.expr | None) -> object:
    if node is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...
