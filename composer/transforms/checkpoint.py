"""`checkpoint`: recompute in the backward pass instead of keeping everything in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from composer.plugin import Context, Page, Transform, nearest
from composer.transforms._derivative import Argnums


class Checkpoint(Transform, frozen=True):
    """Recompute in the backward pass instead of keeping everything, as `jax.checkpoint`.

    Changes memory and time of a gradient that is taken outside it, never a value.
    Around a whole function without a `policy` it saves nothing: put it on the repeated
    block. `policy` is a name of `jax.checkpoint_policies`; policies that take arguments
    are mappings: `{save_only_these_names: [a, b]}`.

    Source: `jax.checkpoint`.
    """

    word: ClassVar[str] = "checkpoint"
    aliases: ClassVar[tuple[str, ...]] = ("remat",)

    prevent_cse: Annotated[bool | tuple[bool, ...], "Keep XLA from undoing the recomputation."] = (
        True
    )
    policy: Annotated[object, "What may be kept: a name of jax.checkpoint_policies."] = None
    static_argnums: Annotated[Argnums, "Arguments that are compile-time constants."] = ()

    def check(self) -> None:
        """A policy is a name, or one name with its arguments."""
        if isinstance(self.policy, bool | int | float | tuple) or (
            isinstance(self.policy, dict) and len(self.policy) != 1
        ):
            raise self.wrong("policy", "is a name, or one name with its arguments")

    def validate(self, ctx: Context) -> None:
        """Resolve `static_argnums`."""
        for item in _several(self.static_argnums):
            ctx.resolve(item, "static_argnums")

    def build(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """`jax.checkpoint(fn, ...)`."""
        import jax

        made: Callable[..., Any] = jax.checkpoint(
            fn,
            prevent_cse=self.prevent_cse,
            policy=self._policy(self.policy),
            static_argnums=self._static_numbers(ctx),
        )
        return made

    def _static_numbers(self, ctx: Context) -> tuple[int, ...]:
        names = [ctx.resolve(item, "static_argnums") for item in _several(self.static_argnums)]
        return tuple(
            ctx.argnum(n, "static_argnums") if isinstance(n, str) else n
            for n in names
            if n not in ctx.static
        )

    def code(self, fn: str, ctx: Context, page: Page) -> str:
        """`jax.checkpoint(fn, ...)`."""
        nums, cse = self._static_numbers(ctx), self.prevent_cse
        return page.call(
            f"{page.use('jax')}.checkpoint",
            fn,
            prevent_cse=None if cse is True else page.literal(cse, ctx, "prevent_cse"),
            policy=None if self.policy is None else self._policy_code(self.policy, ctx, page),
            static_argnums=page.literal(nums, ctx, "static_argnums") if nums else None,
        )

    def _policy_code(self, policy: object, ctx: Context, page: Page) -> str:
        if not isinstance(policy, str | dict):
            return page.callable(policy, ctx, "policy")
        known = f"{page.use('jax')}.checkpoint_policies"
        if isinstance(policy, str):
            return f"{known}.{policy}"
        [(name, arguments)] = policy.items()
        if isinstance(arguments, dict):
            given = {key: list(v) if isinstance(v, tuple) else v for key, v in arguments.items()}
            texts = {key: page.literal(v, ctx, "policy") for key, v in given.items()}
            return page.call(f"{known}.{name}", **texts)
        several = arguments if isinstance(arguments, tuple) else (arguments,)
        if name == "save_from_both_policies":
            return page.call(
                f"{known}.{name}", *(self._policy_code(item, ctx, page) for item in several)
            )
        return page.call(f"{known}.{name}", *(page.literal(i, ctx, "policy") for i in several))

    def reference(self, fn: Callable[..., Any], ctx: Context) -> Callable[..., Any]:
        """The function itself."""
        return fn

    def _policy(self, policy: Any) -> Any:
        """The policy function of JAX for a name, a name with arguments, or itself.

        Raises:
            ParameterError: CMP037, no policy of that name.
        """
        if policy is None or callable(policy):
            return policy
        if isinstance(policy, str):
            return self._named(policy)
        [(name, arguments)] = policy.items()
        factory = self._named(name)
        if isinstance(arguments, dict):
            return factory(
                **{key: list(v) if isinstance(v, tuple) else v for key, v in arguments.items()}
            )
        several = arguments if isinstance(arguments, tuple) else (arguments,)
        if name == "save_from_both_policies":
            several = tuple(self._policy(item) for item in several)
        return factory(*several)

    def _named(self, name: str) -> Any:
        import jax

        known = [word for word in dir(jax.checkpoint_policies) if not word.startswith("_")]
        if name not in known:
            close = nearest(name, known)
            raise self.wrong(
                "policy",
                f"is {name!r}, which jax.checkpoint_policies does not have; it has:"
                f" {', '.join(known)}",
                cure=f"policy: {close}" if close else None,
            )
        return getattr(jax.checkpoint_policies, name)


def _several(value: Argnums) -> tuple[int | str, ...]:
    return value if isinstance(value, tuple) else (value,)
