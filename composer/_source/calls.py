"""What the expressions of one function's body say: calls above all."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from composer._source import words
from composer._source.model import Branch, Collective, Derivative, Draw, Spot
from composer._source.names import FunctionNode
from composer._source.returned import returns_mean

if TYPE_CHECKING:
    from composer._source.collect import Collector
    from composer._source.walk import Walk


class Calls:
    """The state of a walk, and its expressions. Statements are `Walk`'s.

    Attributes:
        parameters: The function's own parameters.
        values: Names in sight that hold values of the outermost function's arguments.
        local: Names that are bound somewhere in the function.
        gradients: Names that hold what a derivative gave.
        keys: The keys that were used so far, with their last use.
        turns: How many Python loops stand around.
    """

    defined: dict[str, FunctionNode | ast.Lambda]

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
        self.collector, self.node, self.name = collector, node, name
        self.module, self.found = collector.module, collector.found
        self.derivatives, self.outer = derivatives, outer
        self.parameters = frozenset(parameter_names(node))
        self.values = set(values)
        self.stored = {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        inner = {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef)}
        self.local: set[str] = {*self.parameters, *self.stored, *inner}
        if outer is not None:
            self.local |= outer.local
        self.gradients = set(gradients)
        self.makes_gradients: dict[str, str] = dict(outer.makes_gradients) if outer else {}
        self.origins: dict[str, str] = dict(outer.origins) if outer else {}
        self.keys: dict[str, ast.AST] = {}
        self.turns = 0
        self.returns: list[ast.expr] = []

    # What names stand for

    def meaning(self, node: ast.expr) -> str:
        """A dotted name with its import resolved; empty where a local name hides it."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.local:
            return ""
        return self.module.meaning(node)

    def note(self, kind: str, what: str, node: ast.AST) -> None:
        """One fact more."""
        self.found[kind].append(Spot(what, self.module.place(node)))

    def origin(self, name: str) -> str:
        """The parameter of the outermost function that a name's value comes from."""
        return self.origins.get(name, name)

    def forget(self, name: str) -> None:
        """A name was given another value."""
        self.keys.pop(name, None)
        self.values.discard(name)
        self.gradients.discard(name)
        self.makes_gradients.pop(name, None)
        self.origins.pop(name, None)

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        """A name is given the value of an expression."""
        if isinstance(target, ast.Tuple | ast.List):
            whole = self._gradient_word(value)
            for number, part in enumerate(target.elts):
                self._bind_part(part, value, number, whole)
            return
        if not isinstance(target, ast.Name):
            return
        name, word = target.id, self._gradient_word(value)
        makes = self._derivative_made(value)
        plain = value.id if isinstance(value, ast.Name) else None
        carried = (plain in self.values, plain in self.gradients, self.origins.get(plain or ""))
        self.forget(name)
        if word is not None or carried[1] or self._has_gradient(value):
            self.gradients.add(name)
        if makes is not None:
            self.makes_gradients[name] = makes
        if carried[0]:
            self.values.add(name)
            self.origins[name] = carried[2] or plain or name
        if isinstance(value, ast.Lambda):
            self.defined[name] = value

    def _bind_part(self, part: ast.expr, value: ast.expr, number: int, word: str | None) -> None:
        inner = (
            value.elts[number]
            if isinstance(value, ast.Tuple | ast.List) and number < len(value.elts)
            else None
        )
        if inner is not None:
            self.bind(part, inner)
            return
        if isinstance(part, ast.Name):
            self.forget(part.id)
            # Of value_and_grad and its like the first output is the value.
            if word is not None and (number > 0 or word not in words.WITH_GRADIENT):
                self.gradients.add(part.id)

    def _gradient_word(self, value: ast.expr) -> str | None:
        """The derivative that a call evaluates: `jax.grad(f)(x)`, or `g(x)` with g = grad(f)."""
        if not isinstance(value, ast.Call):
            return None
        made = self._derivative_made(value.func)
        if made is not None:
            return made
        if isinstance(value.func, ast.Name):
            return self.makes_gradients.get(value.func.id)
        return None

    def _derivative_made(self, value: ast.expr) -> str | None:
        """The derivative that an expression is: `jax.grad(f)`."""
        if not isinstance(value, ast.Call):
            return None
        meaning = self.meaning(value.func)
        last = meaning.rpartition(".")[2]
        return last if meaning.startswith("jax.") and last in words.DERIVATIVES else None

    def _has_gradient(self, node: ast.AST) -> bool:
        """Whether an expression holds what a derivative gave."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id in self.gradients:
                return True
            if isinstance(inner, ast.Call) and self._gradient_word(inner) is not None:
                return True
        return False

    def values_in(self, node: ast.AST) -> set[str]:
        """Arguments whose values, not only shapes or identities, an expression asks for."""
        if isinstance(node, ast.Name):
            return {node.id} & self.values
        if isinstance(node, ast.Attribute):
            return set() if node.attr in words.STATIC_ATTRIBUTES else self.values_in(node.value)
        if isinstance(node, ast.Compare) and any(
            isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops
        ):
            return set()
        if isinstance(node, ast.Call):
            if self.meaning(node.func) in words.STATIC_CALLS:
                return set()
            parts: list[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
            return set().union(*(self.values_in(part) for part in parts))
        if isinstance(node, ast.Subscript):
            # x["key"] of a tree is often a Python value: only plain names are certain.
            return set() if _is_text(node) else self.values_in(node.value)
        if isinstance(node, ast.Lambda):
            return set()
        return set().union(*(self.values_in(child) for child in ast.iter_child_nodes(node)), set())

    # Expressions

    def expression(self, node: ast.AST) -> None:
        """Walk an expression: parts first, then the whole."""
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.IfExp):
            for name in sorted(self.values_in(node.test)):
                place = self.module.place(node.test)
                self.found["branches"].append(Branch("if", self.origin(name), place))
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context | ast.operator):
                self.expression(child)
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self._read(node)

    def _read(self, node: ast.Name) -> None:
        """A name of the module that some function of it changes."""
        name = node.id
        if name not in self.local and name in self.module.changed & self.module.assigned.keys():
            self.note("frozen_reads", name, node)

    def _call(self, node: ast.Call) -> None:
        meaning = self.meaning(node.func)
        self._known(node, meaning, meaning.rpartition(".")[2])
        self._mutates(node)
        self._follow(node, meaning)

    def _known(self, node: ast.Call, meaning: str, last: str) -> None:
        if meaning == "print":
            self.note("prints", "print", node)
        elif meaning.startswith("jax.lax.") and last in words.COLLECTIVES:
            self._collective(node, last)
        elif meaning.startswith("jax.random."):
            self._random(node, last)
        elif meaning.startswith(("numpy.random.", "random.", "time.")):
            self.note("host_random", meaning, node)
        elif meaning.startswith("numpy."):
            for name in sorted(self._given_values(node)):
                self.note("numpy_calls", f"{meaning} on {self.origin(name)}", node)
        elif meaning.startswith("jax.lax.") and last in words.LOOPS:
            self.note("loops_of_jax", last, node)
        elif meaning.startswith("jax.") and last in words.DERIVATIVES:
            self._derivative(node, last)
        elif meaning.startswith("jax.") and last in words.COMPILES:
            self.note("compiled", f"{last} in a loop" if self.turns else last, node)
        elif last == "with_sharding_constraint":
            self.note("constraints", last, node)
        elif meaning.endswith("checkify.check"):
            self.note("checks", "check", node)
        if meaning.startswith("jax.numpy.") and last in words.SIZED:
            self._sizes(node)
        if meaning.startswith("jax.numpy.") and last in words.STATISTICS:
            self._statistic(node, last)

    def _collective(self, node: ast.Call, op: str) -> None:
        given = [k.value for k in node.keywords if k.arg == "axis_name"]
        position = 0 if op in words.AXIS_FIRST else 1
        axis = given[0] if given else node.args[position] if len(node.args) > position else None
        several = axis.elts if isinstance(axis, ast.Tuple | ast.List) else [axis]
        of_gradient = (
            bool(node.args) and op not in words.AXIS_FIRST and self._has_gradient(node.args[0])
        )
        returned = any(node is value or self._names_it(value, node) for value in self.returns)
        for item in several:
            fact = Collective(
                op, self._axis(item), self.module.place(node), self.name, self.derivatives,
                of_gradient, returned,
            )  # fmt: skip
            self.found["collectives"].append(fact)

    def _axis(self, node: ast.expr | None) -> str | None:
        value: object = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Name) and node.id not in self.local:
            value = self.module.constants.get(node.id)
        elif isinstance(node, ast.Name):
            value = self._default(node.id)
        return value if isinstance(value, str) else None

    def _default(self, name: str) -> object:
        """The literal default of a parameter."""
        if isinstance(self.node, ast.Lambda):
            return None
        args = self.node.args
        named = [a.arg for a in (*args.posonlyargs, *args.args)]
        pairs = [*zip(reversed(named), reversed(args.defaults), strict=False)]
        pairs += [
            (a.arg, d)
            for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
            if d is not None
        ]
        return next((d.value for n, d in pairs if n == name and isinstance(d, ast.Constant)), None)

    def _names_it(self, value: ast.expr, node: ast.AST) -> bool:
        """Whether a returned name was assigned this very call."""
        if not isinstance(value, ast.Name):
            return False
        return any(
            isinstance(n, ast.Assign)
            and n.value is node
            and any(isinstance(t, ast.Name) and t.id == value.id for t in n.targets)
            for n in ast.walk(self.node)
        )

    def _derivative(self, node: ast.Call, word: str) -> None:
        target = node.args[0] if node.args else None
        name = target.id if isinstance(target, ast.Name) else None
        function = self.function(target)
        mean = returns_mean(self.module, function) if function is not None else None
        place = self.module.place(node)
        self.found["derivatives"].append(Derivative(word, place, name, self.derivatives, mean))

    def _random(self, node: ast.Call, last: str) -> None:
        if last in words.NO_DRAW or not node.args or not isinstance(node.args[0], ast.Name):
            return
        name, place = node.args[0].id, self.module.place(node)
        parameter = self.origin(name) if name in self.values else None
        self.found["draws"].append(Draw(name, last, place, parameter))
        if name not in self.local:
            self.note("global_keys", name, node)
        elif name in self.keys or (self.turns and not self._made_in_loop(name)):
            self.found["reused_keys"].append(Draw(name, last, place, parameter))
        self.keys[name] = node

    def _made_in_loop(self, name: str) -> bool:
        """Whether some loop around makes the key anew in each turn."""
        for loop in ast.walk(self.node):
            if isinstance(loop, ast.For | ast.While):
                bound = {
                    n.id
                    for n in ast.walk(loop)
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }
                if name in bound:
                    return True
        return False

    def _given_values(self, node: ast.Call) -> set[str]:
        return set().union(*(self.values_in(argument) for argument in node.args), set())

    def _sizes(self, node: ast.Call) -> None:
        if node.args and not (
            self.meaning(node.func).endswith(("linspace", "full")) and len(node.args) < 1
        ):
            for name in sorted(self.values_in(node.args[0])):
                self.note("sizes", self.origin(name), node)

    def _statistic(self, node: ast.Call, last: str) -> None:
        axis = next((k.value for k in node.keywords if k.arg == "axis"), None)
        first = axis.elts[0] if isinstance(axis, ast.Tuple) and axis.elts else axis
        if isinstance(first, ast.Constant) and first.value == 0:
            self.note("statistics", last, node)

    def _mutates(self, node: ast.Call) -> None:
        if not (isinstance(node.func, ast.Attribute) and node.func.attr in words.MUTATORS):
            return
        base = node.func.value
        while isinstance(base, ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name) or base.id in self.module.imports:
            return
        if base.id == "self" or (base.id not in self.local and base.id in self.module.names):
            self.note("outer_writes", base.id, node)

    # Functions that are called or passed on

    def function(self, node: ast.AST | None) -> FunctionNode | ast.Lambda | None:
        """The function of this module that an expression is."""
        if isinstance(node, ast.Lambda):
            return node
        if isinstance(node, ast.Name):
            if node.id in self.defined:
                return self.defined[node.id]
            return None if node.id in self.local else self.module.functions.get(node.id)
        if isinstance(node, ast.Call) and self.meaning(node.func) in (
            "functools.partial", "jax.checkpoint", "jax.remat", "jax.jit", "jax.vmap",
        ):  # fmt: skip
            return self.function(node.args[0]) if node.args else None
        return None

    def _follow(self, node: ast.Call, meaning: str) -> None:
        """Enter a function that is called, and those that are passed to others."""
        called = self.function(node.func)
        if called is not None:
            given = self._given(called, node)
            values = frozenset(n for n, value in given.items() if self.values_in(value))
            gradients = frozenset(n for n, value in given.items() if self._has_gradient(value))
            self._enter(called, node, values, self.derivatives, gradients)
        last = meaning.rpartition(".")[2]
        deeper = meaning.startswith("jax.") and last in words.DERIVATIVES
        over_gradients = meaning in words.TREE_MAPS and any(map(self._has_gradient, node.args[1:]))
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            function = self.function(argument)
            if function is None:
                continue
            own = frozenset(parameter_names(function))
            self._enter(
                function,
                argument,
                own,
                self.derivatives + deeper,
                own if over_gradients else frozenset(),
            )

    def _enter(
        self,
        function: FunctionNode | ast.Lambda,
        node: ast.AST,
        own: frozenset[str],
        derivatives: int,
        gradients: frozenset[str] = frozenset(),
    ) -> None:
        local = function in self.defined.values() or isinstance(function, ast.Lambda)
        around = (
            frozenset(self.values) - frozenset(parameter_names(function)) if local else frozenset()
        )
        name = getattr(function, "name", "lambda")
        outer: Any = self if local else None
        self.collector.enter(function, name, own | around, derivatives, outer, gradients)

    def _given(self, function: FunctionNode | ast.Lambda, node: ast.Call) -> dict[str, ast.expr]:
        """What a called function's parameters are given."""
        args = function.args
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
        return given | {k.arg: k.value for k in node.keywords if k.arg}


def parameter_names(node: FunctionNode | ast.Lambda) -> list[str]:
    """Names of all parameters."""
    args = node.args
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    found += [extra for extra in (args.vararg, args.kwarg) if extra is not None]
    return [argument.arg for argument in found]


def _is_text(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
