"""Partition specs as YAML writes them: lists of mesh axis names, one entry a dimension.

`[data]` splits dimension 0 over `data`; `[null, data]` splits dimension 1;
`[[data, model]]` at a place where one spec stands splits dimension 0 over both; `[]`
splits nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from composer.plugin import Output, Transform

if TYPE_CHECKING:
    from jax.sharding import PartitionSpec

Specs = object


def is_spec(value: object) -> bool:
    """Whether a value is one spec: a sequence of names, nulls and sequences of names."""
    return isinstance(value, tuple) and all(
        item is None or isinstance(item, str) or _is_names(item) for item in value
    )


def _is_names(item: object) -> bool:
    return isinstance(item, tuple) and len(item) > 0 and all(isinstance(name, str) for name in item)


def is_one_spec(value: object) -> bool:
    """Whether a top-level value is one spec for everything, not a list with a spec each.

    A list of names and nulls is one spec; a list of lists has a spec for each position.
    """
    return isinstance(value, tuple) and all(item is None or isinstance(item, str) for item in value)


def check_specs(layer: Transform, field: str, value: object) -> None:
    """Refuse a list that mixes names and lists: nobody could say which of the two is meant.

    Raises:
        ParameterError: CMP037.
    """
    if isinstance(value, tuple):
        kinds = {isinstance(item, str) for item in value if item is not None}
        if kinds == {True, False}:
            raise layer.wrong(
                field,
                "mixes axis names and lists: it is neither one spec nor one for each argument",
                cure=f"{field}: {{x: [[data, model], null]}}     # by name: never ambiguous",
            )
        for item in value:
            _check_below(layer, field, item)
    elif isinstance(value, dict):
        for item in value.values():
            _check_below(layer, field, item)
    elif isinstance(value, str | bool | int | float):
        raise layer.wrong(
            field, f"is {value!r}; a spec is a list of axis names", cure=f"{field}: [{value}]"
        )


def _check_below(layer: Transform, field: str, value: object) -> None:
    if value is None or isinstance(value, str) or is_spec(value):
        return
    if isinstance(value, tuple):
        for item in value:
            _check_below(layer, field, item)
    elif isinstance(value, dict):
        for item in value.values():
            _check_below(layer, field, item)
    elif isinstance(value, bool | int | float):
        raise layer.wrong(field, f"holds {value!r}; a spec is a list of axis names")


def to_spec(value: tuple[Any, ...]) -> PartitionSpec:
    """`(("data", None))` as `P("data", None)`."""
    from jax.sharding import PartitionSpec

    return PartitionSpec(*value)


def spec_tree(value: Any) -> Any:
    """Specs inside one argument or output: a spec, or a tree of them; JAX's own objects stay."""
    if is_spec(value):
        return to_spec(value)
    if isinstance(value, tuple):
        return tuple(spec_tree(item) for item in value)
    if isinstance(value, dict):
        return {key: spec_tree(item) for key, item in value.items()}
    return value


def output_specs(value: Any, output: Output) -> Any:
    """Specs of the outputs: one for all, by position, or by the outputs' names."""
    if is_one_spec(value):
        return to_spec(value)
    if isinstance(value, tuple):
        return tuple(spec_tree(item) for item in value)
    if (
        isinstance(value, dict)
        and output.parts
        and all(isinstance(key, int) for key, _ in output.parts)
    ):
        return tuple(spec_tree(value.get(part.name, ())) for _, part in output.parts)
    if isinstance(value, dict) and list(value) == [output.name]:
        return spec_tree(value[output.name])
    return spec_tree(value)


def axis_names(value: Any) -> set[str]:
    """Every mesh axis that a tree of specs mentions."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, tuple):
        return set().union(*(axis_names(item) for item in value))
    if isinstance(value, dict):
        return set().union(*(axis_names(item) for item in value.values()))
    return set()
