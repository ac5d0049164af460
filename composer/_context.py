"""What a layer is told when it is built, and how it resolves names of arguments."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer._signature import Signature
from composer.errors import ComposeError, Place, fail, nearest

if TYPE_CHECKING:
    import jax


# A layer may trace a function once more to look at its program; those traces are not the
# user's, and `max_traces` must not count them. Each thread and task has its own.
_REHEARSING: ContextVar[bool] = ContextVar("composer_rehearsing", default=False)


@contextlib.contextmanager
def rehearsal() -> Iterator[None]:
    """While this lasts, traces are for looking at only: nobody counts them."""
    token = _REHEARSING.set(True)
    try:
        yield
    finally:
        _REHEARSING.reset(token)


def rehearsing() -> bool:
    """Whether a trace is for looking at only."""
    return _REHEARSING.get()


Annotate = Callable[[Exception, tuple[Any, ...], Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Context:
    """Where a layer stands.

    Attributes:
        signature: Arguments and outputs of the layer below, static ones included.
        word: The layer's word, for messages.
        place: Where the layer is written; None in Python.
        static: Arguments of `signature` that are closed over below this layer: the built
            callable is never called with them.
        exposed: Static arguments that the built callable is called with; only ever
            filled for the outermost layer, and only if it `compiles`.
        compiled_outside: Whether a layer further out compiles (jit).
        axes_outside: Names of the axes that layers further out bind, the nearest first.
        mesh: The pipeline's device mesh: sizes by axis name, or a `jax.sharding.Mesh`.
        name: `__name__` of the user's function, as JAX would print it.
        qualname: Its `__qualname__`.
        number: The layer's position in the stack: 0 is the innermost.
        outermost: Whether no layer stands outside.
        annotate: Adds this layer's line to the note of an exception, from the arguments.
        composition: A token that all layers of one composed callable share, and no others;
            hashable, and weak references to it can be made.
        folder: Where `module:name` references are looked up first.
    """

    signature: Signature
    word: str = "layer"
    place: Place | None = None
    static: frozenset[str] = frozenset()
    exposed: frozenset[str] = frozenset()
    compiled_outside: bool = False
    axes_outside: tuple[str, ...] = ()
    mesh: Mapping[str, int] | jax.sharding.Mesh | None = None
    name: str = "f"
    qualname: str = field(default="")
    number: int = 0
    outermost: bool = True
    composition: object = field(default=None, compare=False, repr=False)
    annotate: Annotate | None = field(default=None, compare=False, repr=False)
    folder: Path | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments that the built callable gets by position, in order."""
        return tuple(name for name in self.signature.positional if name not in self.static)

    def resolve(self, item: int | str, what: str) -> str | int:
        """The name of an argument given by name or by position in the full signature.

        An int comes back where the callable does not tell the name of that position.

        Raises:
            ComposeError: CMP201 unknown name, CMP202 position out of range, CMP203 a
                name where the callable does not tell its arguments.
        """
        if isinstance(item, str):
            self._check_name(item, what)
            return item
        return self._at_position(item, what)

    def argnum(self, item: int | str, what: str) -> int:
        """The position among `arguments` of one argument given by name or position.

        Raises:
            ComposeError: as `resolve`; CMP205 if the argument is static; CMP203 if it
                can be passed by keyword only.
        """
        name = self.resolve(item, what)
        if isinstance(name, int):
            return name
        if name in self.static:
            raise fail(
                ComposeError,
                "CMP205",
                f"{self.word}: {what} names {name!r}, which is static: it holds no array",
                place=self.place,
                cure=f"another argument, or take {name} out of `static:`",
            )
        if name not in self.signature.positional:
            raise fail(
                ComposeError,
                "CMP203",
                f"{self.word}: {what} names {name!r}, which can be passed by keyword only",
                place=self.place,
                notes=[f"arguments by position: {', '.join(self.arguments) or 'none'}"],
                cure=f"remove the `*` before {name} in {self.signature.title}"
                if self.signature.required(name)
                else f"a parameter {name} of its own, by position, in {self.signature.title}",
            )
        return self.arguments.index(name)

    def argnums(
        self, value: int | str | tuple[int | str, ...], what: str = "argnums"
    ) -> int | tuple[int, ...]:
        """Positions for JAX: an int for one argument, a tuple for a tuple of them.

        >>> from composer._signature import signature_of
        >>> ctx = Context(signature_of(lambda n, w, x: w), static=frozenset({"n"}))
        >>> ctx.argnums("x"), ctx.argnums(1), ctx.argnums(("w", 2))
        (1, 0, (0, 1))
        """
        if isinstance(value, tuple):
            return tuple(self.argnum(item, what) for item in value)
        return self.argnum(value, what)

    def by_argument(self, value: Mapping[str, Any], what: str) -> dict[str, Any]:
        """A mapping by argument name, checked; static arguments may not be mapped.

        Raises:
            ComposeError: CMP201 or CMP203 for a name, CMP205 for a static one.
        """
        for name, entry in value.items():
            self._check_name(name, what, write="{what}: {{{name}: ...}}")
            if name in self.static and entry is not None:
                raise fail(
                    ComposeError,
                    "CMP205",
                    f"{self.word}: {what} names {name!r}, which is static: it has no axes",
                    place=self.place,
                    cure=f"remove {name} from {what}",
                )
        return dict(value)

    def by_position(
        self, value: tuple[Any, ...], what: str, args: int, missing: object = None
    ) -> tuple[Any, ...]:
        """Entries for the first `args` positional arguments, from a tuple over all of them.

        Entries of static arguments are taken out, entries of omitted ones left off.

        Raises:
            ComposeError: CMP209, if there are fewer or more entries than arguments.
        """
        names = self.signature.positional
        if not self.signature.open_ended and len(value) > len(names):
            raise self._arity(value, what, f"{self.signature.title} takes {len(names)}")
        kept = tuple(
            entry for i, entry in enumerate(value) if i >= len(names) or names[i] not in self.static
        )
        if len(kept) < args:
            raise self._arity(value, what, f"it is called with {args + len(value) - len(kept)}")
        return kept[:args]

    def _arity(self, value: tuple[Any, ...], what: str, against: str) -> Exception:
        known = self.signature.positional
        return fail(
            ComposeError,
            "CMP209",
            f"{self.word}: {what} has {len(value)} entries, but {against}",
            place=self.place,
            notes=[f"arguments: {', '.join(known)}"] if known else [],
            cure=f"{what}: {{{', '.join(f'{name}: ...' for name in known[:3]) or 'by name'}}}",
        )

    def _check_name(self, name: str, what: str, write: str = "{what}: {name}") -> None:
        if self.signature.parameters is None:
            raise fail(
                ComposeError,
                "CMP203",
                f"{self.word}: {what} names {name!r}, but {self.signature.title} does not tell"
                " the names of its arguments",
                place=self.place,
                cure=f"{what} by position",
            )
        if name in self.signature.names or self.signature.takes_any_keyword:
            return
        close = nearest(name, self.signature.names)
        raise fail(
            ComposeError,
            "CMP201",
            f"{self.word}: {what} names {name!r}, but {self.signature.title} has no such argument",
            place=self.place,
            notes=[f"arguments: {', '.join(self.signature.names) or 'none'}"],
            cure=write.format(what=what, name=close) if close else None,
        )

    def _at_position(self, item: int, what: str) -> str | int:
        names = self.signature.positional
        count = len(names)
        if -count <= item < count:
            return names[item]
        if self.signature.open_ended and item >= 0:
            return item - sum(1 for name in names if name in self.static)
        raise fail(
            ComposeError,
            "CMP202",
            f"{self.word}: {what} is {item}, but {self.signature.title} has {count}"
            f" argument{'s' if count != 1 else ''} by position",
            place=self.place,
            notes=[f"arguments: {', '.join(f'{i} {n}' for i, n in enumerate(names)) or 'none'}"],
            cure=f"{what}: {names[-1]}" if names else None,
        )

    def named(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Give glue code the name of the user's function, which JAX prints in programs."""
        return with_name(fn, self.name, self.qualname or self.name)

    def find(self, ref: object, what: str) -> Callable[..., Any]:
        """The function that a parameter names as `module:name`, or is already.

        Raises:
            InputError: CMP069, the reference cannot be resolved.
            ComposeError: CMP204, what it stands for cannot be called.
        """
        found = ref
        if isinstance(ref, str):
            from composer._reference import resolve

            found = resolve(ref, folder=self.folder, place=self.place)
        if callable(found):
            return found
        raise fail(
            ComposeError,
            "CMP204",
            f"{self.word}: {what} is {type(found).__name__} {ref!r}, which cannot be called",
            place=self.place,
        )

    def noted(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`fn`, whose exceptions carry the note of the stack even where nothing stands outside.

        For layers that compile by themselves: the object that they hand out is JAX's, and
        no frame of ours can stand around it.
        """
        annotate = self.annotate
        if annotate is None:
            return fn

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return fn(*args, **kwargs)
            except Exception as error:
                annotate(error, args, kwargs)
                raise

        return call

    def check_mesh_axes(self, names: Iterable[str]) -> None:
        """Refuse axis names that the pipeline's mesh does not have.

        Raises:
            ComposeError: CMP304 no mesh, CMP305 no such axis.
        """
        wanted = sorted(names)
        if not wanted:
            return
        if self.mesh is None:
            raise self._no_mesh()
        known = list(self.mesh) if isinstance(self.mesh, Mapping) else list(self.mesh.axis_names)
        for name in wanted:
            if name not in known:
                close = nearest(name, known)
                raise fail(
                    ComposeError,
                    "CMP305",
                    f"{self.word}: the mesh has no axis {name!r}",
                    place=self.place,
                    notes=[f"axes: {', '.join(known)}"],
                    cure=close,
                )

    def device_mesh(self) -> jax.sharding.Mesh:
        """The pipeline's mesh over the first devices, with Auto axes.

        Raises:
            ComposeError: CMP304, if no mesh is declared.
            SetupError: CMP090, if there are fewer devices than it needs.
        """
        if self.mesh is None:
            raise self._no_mesh()
        from composer._devices import make_mesh

        return make_mesh(self.mesh, self.word, self.place)

    def _no_mesh(self) -> Exception:
        return fail(
            ComposeError,
            "CMP304",
            f"{self.word} needs a device mesh, but none is declared",
            place=self.place,
            cure="mesh: {data: 4}     # at the top level of the pipeline, or mesh={...} in Python",
        )


def with_name(fn: Callable[..., Any], name: str, qualname: str) -> Callable[..., Any]:
    """Set the names only: copying `__dict__` as functools.wraps does can overwrite fields."""
    if isinstance(fn, functools.partial):
        raise TypeError("a partial object has no name of its own")
    fn.__name__ = name
    fn.__qualname__ = qualname
    return fn
