"""What the return statements of a function say of its outputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from composer._source import words
from composer._source.names import FunctionNode, Module

_DEEPEST = 8


def returned(node: FunctionNode | ast.Lambda) -> list[ast.expr]:
    """What a function returns, one expression a return statement."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    return [n.value for n in _own(node) if isinstance(n, ast.Return) and n.value is not None]


def number_of_outputs(node: FunctionNode | ast.Lambda) -> int | None:
    """How many outputs there are, where every return says the same."""
    local = assigned_once(node)
    counts: set[int | None] = set()
    for value in returned(node):
        value = _looked_up(value, local)
        if isinstance(value, ast.Tuple):
            starred = any(isinstance(item, ast.Starred) for item in value.elts)
            counts.add(None if starred else len(value.elts))
        else:
            counts.add(
                1
                if isinstance(value, ast.BinOp | ast.UnaryOp | ast.Constant) or _reduces(value)
                else None
            )
    return counts.pop() if len(counts) == 1 else None


def returns_scalar(module: Module, node: FunctionNode | ast.Lambda) -> bool | None:
    """Whether one scalar comes out; None where not every return says."""
    local = assigned_once(node)
    verdicts = {_scalar(module, value, local, 0) for value in returned(node)}
    return verdicts.pop() if len(verdicts) == 1 else None


def returns_mean(module: Module, node: FunctionNode | ast.Lambda) -> bool | None:
    """Whether what comes out is a mean; None where not every return says."""
    local = assigned_once(node)
    verdicts = {_mean(module, value, local, 0) for value in returned(node)}
    return verdicts.pop() if len(verdicts) == 1 else None


def assigned_once(node: FunctionNode | ast.Lambda) -> dict[str, ast.expr]:
    """Names that are assigned once, with what."""
    seen: dict[str, list[ast.expr]] = {}
    for inner in _own(node):
        if isinstance(inner, ast.Assign) and len(inner.targets) == 1:
            target = inner.targets[0]
            if isinstance(target, ast.Name):
                seen.setdefault(target.id, []).append(inner.value)
        elif isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
            seen.setdefault(inner.target.id, []).extend([inner.value] * 2)
    return {name: values[0] for name, values in seen.items() if len(values) == 1}


def _own(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield child
        yield from _own(child)


def _looked_up(value: ast.expr, local: dict[str, ast.expr]) -> ast.expr:
    for _ in range(_DEEPEST):
        if not (isinstance(value, ast.Name) and value.id in local):
            break
        value = local[value.id]
    return value


def _reduces(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _last_word(value) in words.REDUCTIONS


def _last_word(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _scalar(module: Module, value: ast.expr, local: dict[str, ast.expr], depth: int) -> bool | None:
    """True for a full reduction or arithmetic of such; None where the source doesn't say."""
    if depth > _DEEPEST:
        return None
    value = _looked_up(value, local)
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) or None
    if isinstance(value, ast.UnaryOp):
        return _scalar(module, value.operand, local, depth + 1)
    if isinstance(value, ast.BinOp):
        sides = [_scalar(module, side, local, depth + 1) for side in (value.left, value.right)]
        return True if sides == [True, True] else None
    if isinstance(value, ast.Tuple | ast.List | ast.Dict):
        return False
    if isinstance(value, ast.Call):
        return _call_is_scalar(module, value, local, depth)
    return None


def _call_is_scalar(
    module: Module, call: ast.Call, local: dict[str, ast.expr], depth: int
) -> bool | None:
    meaning, name = module.meaning(call.func), _last_word(call)
    if meaning.startswith("jax.lax.") and name in ("pmean", "psum", "pmax", "pmin") and call.args:
        return _scalar(module, call.args[0], local, depth + 1)
    library = meaning.startswith(("jax.numpy.", "numpy.", "jax.scipy."))
    if library and name in ("sqrt", "exp", "log", "square", "abs", "negative") and call.args:
        return _scalar(module, call.args[0], local, depth + 1)
    by_axis = any(k.arg in ("axis", "keepdims", "dims") for k in call.keywords) or (
        library and len(call.args) > 1 and name != "vdot"
    )
    if name == "vdot":
        return True if library else None
    if name not in ("sum", "mean", "max", "min", "prod") or by_axis:
        return None
    return True if library or (isinstance(call.func, ast.Attribute) and not call.args) else None


def _mean(module: Module, value: ast.expr, local: dict[str, ast.expr], depth: int) -> bool | None:
    """True for a mean, also scaled, negated or with something added; False for a sum."""
    if depth > _DEEPEST:
        return None
    value = _looked_up(value, local)
    if isinstance(value, ast.UnaryOp):
        return _mean(module, value.operand, local, depth + 1)
    if isinstance(value, ast.BinOp):
        sides = {_mean(module, side, local, depth + 1) for side in (value.left, value.right)}
        sides.discard(None)
        return (
            sides.pop()
            if len(sides) == 1 and isinstance(value.op, ast.Add | ast.Sub | ast.Mult)
            else None
        )
    if isinstance(value, ast.Call) and _last_word(value) in ("mean", "average", "pmean"):
        return True
    if isinstance(value, ast.Call) and _last_word(value) in ("sum", "vdot"):
        return False
    return None
