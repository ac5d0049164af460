"""The walk through one function's body."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from composer._source.calls import Calls
from composer._source.model import Branch, Loop
from composer._source.names import FunctionNode

if TYPE_CHECKING:
    from composer._source.collect import Collector

_FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class Walk(Calls):
    """One function's body, statement by statement."""

    def __init__(
        self,
        collector: Collector,
        node: FunctionNode | ast.Lambda,
        name: str,
        values: frozenset[str],
        derivatives: int,
        outer: Walk | None,
        gradients: frozenset[str],
    ) -> None:
        super().__init__(collector, node, name, values, derivatives, outer, gradients)
        self.defined: dict[str, FunctionNode | ast.Lambda] = dict(outer.defined) if outer else {}

    def run(self) -> None:
        """Walk the whole body."""
        if isinstance(self.node, ast.Lambda):
            self.returns = [self.node.body]
            self.expression(self.node.body)
            return
        self._custom_rules(self.node)
        self.returns = [
            n.value for n in own_nodes(self.node) if isinstance(n, ast.Return) and n.value
        ]
        for inner in own_nodes(self.node, functions=True):
            if isinstance(inner, _FUNCTION):
                self.defined[inner.name] = inner
        self.block(self.node.body)

    def block(self, statements: list[ast.stmt]) -> bool:
        """Walk statements; whether they end by leaving the function or the loop."""
        for statement in statements:
            self.statement(statement)
        last = statements[-1] if statements else None
        return isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)

    def statement(self, node: ast.stmt) -> None:
        """Walk one statement and those inside it."""
        if isinstance(node, _FUNCTION):
            self._custom_rules(node)
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.While):
            self._branch("while", node.test)
            self.expression(node.test)
            self._turn(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._for(node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            if any(name in self.stored for name in node.names):
                self.note("globals", ", ".join(node.names), node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(node)
        else:
            if isinstance(node, ast.Assert):
                self._branch("assert", node.test)
            self._inside(node)

    def _inside(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr):
                self.expression(child)
            elif not isinstance(child, ast.expr_context | ast.operator):
                self._inside(child)

    def _if(self, node: ast.If) -> None:
        """Both arms begin with the same keys: only one of them runs."""
        self._branch("if", node.test)
        self.expression(node.test)
        before = dict(self.keys)
        after: list[dict[str, ast.AST]] = []
        for arm in (node.body, node.orelse):
            self.keys = dict(before)
            if not self.block(arm):
                after.append(self.keys)
        self.keys = {}
        for keys in after or [before]:
            self.keys |= keys

    def _turn(self, body: list[ast.stmt]) -> None:
        """The body of a loop; what stands in it runs again and again."""
        self.turns += 1
        self.block(body)
        self.turns -= 1

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        turns = self._number_of_turns(node.iter)
        if turns is not None:
            self.found["loops"].append(Loop(turns, self.module.place(node)))
        if isinstance(node.iter, ast.Call) and self.meaning(node.iter.func) == "range":
            for argument in node.iter.args:
                self._branch("for", argument)
        self.expression(node.iter)
        for name in stored_names(node.target):
            self.forget(name)
        self._turn(node.body)
        self.block(node.orelse)

    def _number_of_turns(self, iterable: ast.expr) -> int | None:
        if not (isinstance(iterable, ast.Call) and self.meaning(iterable.func) == "range"):
            return None
        numbers = [number for number in map(self._number, iterable.args) if number is not None]
        if not numbers or len(numbers) != len(iterable.args):
            return None
        try:
            return len(range(*numbers))
        except (ValueError, OverflowError, TypeError):
            return None

    def _number(self, node: ast.expr) -> int | None:
        value = self.module.constants.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Constant):
            value = node.value
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _branch(self, kind: str, test: ast.expr) -> None:
        for name in sorted(self.values_in(test)):
            self.found["branches"].append(Branch(kind, self.origin(name), self.module.place(test)))

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        if node.value is not None:
            self.expression(node.value)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            self._written(target, node)
        if isinstance(node, ast.AugAssign) or node.value is None:
            return
        for target in targets:
            self.bind(target, node.value)

    def _written(self, target: ast.expr, node: ast.AST) -> None:
        if not isinstance(target, ast.Subscript | ast.Attribute):
            return
        base: ast.expr = target.value
        while isinstance(base, ast.Subscript | ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name):
            return
        if base.id in self.parameters:
            kind = "outer_writes" if isinstance(target, ast.Attribute) else "argument_writes"
            if base.id in self.values or base.id == "self":
                written = ast.unparse(target) if kind == "argument_writes" else base.id
                self.note(kind, written, node)
        elif base.id not in self.local:
            self.note("outer_writes", base.id, node)

    def _custom_rules(self, node: FunctionNode) -> None:
        for decorator in node.decorator_list:
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            inner = decorator.args if isinstance(decorator, ast.Call) else []
            for word in map(self.meaning, [target, *inner]):
                if word in ("jax.custom_vjp", "jax.custom_jvp"):
                    self.note("custom_rules", word.rpartition(".")[2], decorator)


def own_nodes(node: ast.AST, *, functions: bool = False) -> Iterator[ast.AST]:
    """Nodes of a function's body, without those inside functions defined in it.

    Args:
        node: The function.
        functions: Yield those functions too, but nothing inside them.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, *_SCOPES):
            if functions:
                yield child
            continue
        yield child
        yield from own_nodes(child, functions=functions)


_SCOPES: Final = ((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef),)


def stored_names(target: ast.expr) -> Iterator[str]:
    """Names that an assignment target binds."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
