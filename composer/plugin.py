"""All that the author of a transform imports.

A transform is one frozen class whose fields are its documented, typed parameters;
an instance is a layer's worth of parameters. The same class serves YAML, Python and
the documentation:

    class Scale(Transform):
        \"\"\"Multiply the output by a factor.\"\"\"

        word: ClassVar[str] = "scale"
        by: Annotated[float, "The factor."] = 1.0

        def build(self, fn, ctx):
            def scaled(*args, **kwargs):
                return self.by * fn(*args, **kwargs)

            return scaled

        def reference(self, fn, ctx):
            return lambda *args, **kwargs: np.asarray(fn(*args, **kwargs)) * self.by

Lint rules of a transform are methods marked with `rule`: they look at the layers around
and yield what `error`, `warning` or `info` makes, without JAX:

        @rule("scale-by-one")
        def changes_nothing(self, layer):
            if self.by == 1.0:
                yield info("scale by 1 changes nothing", fix=Fix((layer.removed(),), safe=True))

JAX is imported inside `build` and `reference`, never at the top: pipelines are read,
listed and linted without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

import msgspec
import pluggy

from composer._context import Context, rehearsal
from composer._freeze import Uncacheable, canonical_key, frozen
from composer._page import Page, cannot_write
from composer._parameters import ParameterError, check_value, default_of, parameters, same
from composer._rule import Edit, Finding, Fix, error, info, rule, warning
from composer._signature import Output, Signature
from composer.errors import ComposeError, Diagnostic, fail, nearest

__all__ = [
    "ComposeError",
    "Context",
    "Diagnostic",
    "Edit",
    "Finding",
    "Fix",
    "Output",
    "Page",
    "ParameterError",
    "Signature",
    "Transform",
    "cannot_write",
    "error",
    "fail",
    "hookimpl",
    "info",
    "nearest",
    "rehearsal",
    "rule",
    "warning",
]

hookimpl: Final = pluggy.HookimplMarker("composer")
"""Marks a function of a plugin as the implementation of one of composer's hooks."""

RESERVED: Final = frozenset(
    {"id", "word", "build", "reference", "signature", "binds", "prepare", "cost", "copy"}
    | {
        "shorthand",
        "aliases",
        "compiles",
        "references",
        "binds_axes",
        "name_after",
        "marks_static",
        "check",
        "code",
        "validate",
        "wrong",
        "items",
        "stack_key",
        "unsealed",
    }
)
"""Names that a parameter cannot have: the layer itself, or a method, is called so."""


class Transform(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """One kind of transform; an instance holds the parameters of one layer.

    Class variables:
        word: The name in YAML.
        aliases: Other words for the same transform.
        shorthand: The parameter that a bare value stands for: with `shorthand = "op"`,
            `- reduce: mean` means `- reduce: {op: mean}`. None: no bare value.
        marks_static: Whether the layer, outermost, takes static arguments itself and marks
            those in `ctx.exposed` for JAX; the others have them closed over.
        unsealed: Parameters that can read or write files; sealed text refuses them.

    Raises:
        ParameterError: CMP037, when an instance is made with a value of a wrong type.
    """

    word: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    shorthand: ClassVar[str | None] = None
    marks_static: ClassVar[bool] = False
    unsealed: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        declared = {
            name
            for name, kind in inspect.get_annotations(cls).items()
            if "ClassVar" not in str(kind)
        }
        clash = sorted(declared & RESERVED)
        if clash:
            raise fail(
                ComposeError,
                "CMP042",
                f"transform class {cls.__name__}: the name of parameter {clash[0]!r} is reserved",
                notes=[f"reserved: {', '.join(sorted(RESERVED))}"],
                cure="another name for the parameter",
            )

    def __post_init__(self) -> None:
        for field in parameters(type(self)):
            value = frozen(getattr(self, field.name))
            msgspec.structs.force_setattr(self, field.name, value)
            check_value(type(self).word or type(self).__name__, field, value)
        self.check()

    def check(self) -> None:
        """Check what the types of the fields can't say. Call `self.wrong(...)` to refuse."""

    def wrong(
        self,
        field: str,
        message: str,
        cure: str | None = None,
        path: tuple[str | int, ...] = (),
    ) -> ParameterError:
        """The error for a parameter of this layer, to be raised by the caller.

        Args:
            field: The parameter.
            message: What is wrong, to be read behind its name.
            cure: What to write instead.
            path: Keys and positions inside the value, for the caret.
        """
        text = f"{self.word}: {field} {message}"
        return ParameterError(field, Diagnostic("CMP037", text, None, (), cure), path)

    def signature(self, sig: Signature) -> Signature:
        """Arguments and outputs after this layer, from those of the layer below."""
        return sig

    def validate(self, ctx: Context) -> None:
        """Resolve every argument name and position that the parameters mention.

        Called when the stack is composed, before anything is traced.

        Raises:
            ComposeError: a name or position does not exist in `ctx.signature`.
        """

    def binds(self, sig: Signature) -> Mapping[str, object]:
        """Arguments of the layer below that this layer fills with fixed values."""
        return {}

    def name_after(self, name: str) -> str:
        """What JAX calls the wrapped callable, where `name` is what it calls the one below."""
        return name

    def binds_axes(self) -> tuple[str, ...]:
        """Names of the axes that collectives inside this layer can use."""
        return ()

    def references(self) -> Mapping[str, str]:
        """Parameters that name code as `module:name`; sealed text refuses them."""
        return {}

    def compiles(self) -> bool:
        """Whether `build` returns a compiled object with JAX's own methods, such as `lower`.

        Such a layer, outermost, is handed out as it is; it binds keywords itself.
        """
        return False

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """Wrap `fn`; never call it here. Imports JAX here, not at the top of the module."""
        raise NotImplementedError(f"{type(self).__name__} does not define build")

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The same function made in a slow and obviously right way, to be compared with."""
        raise NotImplementedError(f"{type(self).__name__} does not define reference")

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """What `build` does, as a Python expression: for `composer code`.

        Args:
            fn: An expression for the function below, called by position with
                `page.arguments(ctx)`.
            ctx: As for `build`.
            page: The module that is being written; it takes imports and definitions.

        Raises:
            ComposeError: CMP609, there is no such text; that is so unless a plugin says how.
        """
        raise cannot_write(
            f"{self.word}: {type(self).__name__} does not say how it is written as plain JAX",
            ctx.place,
            f"def code(self, fn, ctx, page): ...     # in {type(self).__module__}",
        )

    def items(self) -> Iterator[tuple[str, object]]:
        """The parameters that differ from their defaults, by their names in YAML."""
        for field in parameters(type(self)):
            value = getattr(self, field.name)
            if field.required or not same(value, default_of(field)):
                yield field.encode_name, value

    def stack_key(self) -> object:
        """A hashable key, equal for equal layers only: 0, 0.0 and False differ.

        Raises:
            Uncacheable: a parameter holds an array or another value that has no key.
        """
        values = (
            (field.name, canonical_key(getattr(self, field.name)))
            for field in parameters(type(self))
        )
        return (type(self), *values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        try:
            return self.stack_key() == other.stack_key()
        except Uncacheable:
            return self is other

    # msgspec gives its structs a __ne__ of their own, which compares identities.
    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        try:
            return hash(self.stack_key())
        except Uncacheable:
            return id(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"{type(self).__name__}({shown})"
