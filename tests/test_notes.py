"""Notes on exceptions: one, complete, and never in the way."""

import jax
import jax.numpy as jnp
import pytest

from composer import ComposeError, Grad, Jit, Pmap, Reduce, Select, ShardMap, Vmap, compose
from composer._describe import describe, short_dtype
from composer._notes import Note

X = jnp.ones((4, 2))


def ours(error):
    return [note for note in getattr(error, "__notes__", ()) if isinstance(note, Note)]


def raising(error):
    def f(x):
        raise error

    return f


def test_the_note_shows_every_layer_and_what_arrived_there():
    with pytest.raises(KeyError) as caught:
        compose(raising(KeyError("missing")), Vmap(), Vmap(), Jit())(X)
    [note] = ours(caught.value)
    assert note == (
        "in the stack around f, outermost first:\n"
        "  jit\n"
        "  vmap\n"
        "      called with x f32[4, 2]\n"
        "  vmap\n"
        "      called with x f32[2]\n"
        "> f\n"
        "      called with x f32[]"
    )


def test_the_exception_is_the_users_own_object():
    error = RuntimeError("mine")
    with pytest.raises(RuntimeError) as caught:
        compose(raising(error), Jit())(X)
    assert caught.value is error


def test_an_exception_raised_twice_carries_one_note():
    error = RuntimeError("mine")
    made = compose(raising(error), Vmap(), Jit())
    for _ in range(3):
        with pytest.raises(RuntimeError):
            made(X)
    assert len(ours(error)) == 1


def test_two_stacks_one_inside_the_other_each_leave_their_note():
    inner = compose(raising(RuntimeError("mine")), Vmap())

    def outer(x):
        return inner(x)

    with pytest.raises(RuntimeError) as caught:
        compose(outer, Jit())(X)
    assert [note.chain.title for note in ours(caught.value)] == ["f", "outer"]


class Refuses(Exception):
    def add_note(self, note):
        raise AttributeError("no notes here")


class Fixed(Exception):
    """Its notes are fixed, and it takes no more."""

    __notes__ = ()


@pytest.mark.parametrize("error", [Refuses("a"), Fixed("b")])
def test_an_exception_that_refuses_notes_arrives_as_it_is(error):
    with pytest.raises(type(error)) as caught:
        # JAX's own layers add a note of their own, and would fail at it.
        compose(raising(error), Select(output=0), Reduce(op="sum"))(X)
    assert caught.value is error


class Rude:
    shape = ()

    @property
    def dtype(self):
        raise RuntimeError("do not look at me")


def test_an_argument_that_cannot_be_described_does_not_hide_the_exception():
    with pytest.raises(ZeroDivisionError):
        compose(lambda x, y: 1 / 0, static="y")(X, y=Rude())


def test_interrupts_carry_no_note():
    with pytest.raises(KeyboardInterrupt) as caught:
        compose(raising(KeyboardInterrupt()), Vmap())(X)
    assert ours(caught.value) == []


def test_a_collective_over_an_unknown_axis_is_told_which_axes_there_are():
    def f(x):
        return jax.lax.psum(x, "batch")

    with pytest.raises(NameError) as caught:
        compose(f, Vmap(axis_name="rows"), Vmap(axis_name="tasks"), Jit())(X)
    assert "'rows', 'tasks'" in ours(caught.value)[0].cure


def test_control_characters_in_arguments_are_escaped():
    def f(x, name):
        raise ArithmeticError

    with pytest.raises(ArithmeticError) as caught:
        compose(f, Vmap(), static="name")(X, name="\x1b[31mred")
    assert "\x1b" not in "".join(ours(caught.value))


def test_our_own_errors_carry_the_chain_but_no_second_cure():
    with pytest.raises(ComposeError) as caught:
        compose(lambda x: x, Grad(), Jit())(X)
    [note] = ours(caught.value)
    assert note.cure == ""


def test_a_raising_call_does_not_spoil_the_next_one():
    def f(x):
        if x.shape[0] == 3:
            raise ValueError("three")
        return x * 2

    made = compose(f, Jit())
    with pytest.raises(ValueError, match="three"):
        made(jnp.ones(3))
    assert float(made(jnp.ones(2))[0]) == 2.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (jnp.ones((2, 3)), "f32[2, 3]"),
        ({"a": jnp.ones(2), "b": 3}, "{a: f32[2], b: 3}"),
        ((1, [2.5]), "(1, (2.5))"),
        (jnp.sin, "sin"),
        ("x" * 40, "str"),
    ],
)
def test_values_are_described_in_a_few_words(value, text):
    assert describe(value) == text


def test_dtypes_are_named_as_jax_prints_them():
    names = ["float32", "bfloat16", "int8", "uint32", "complex64", "bool", "key<fry>"]
    assert [short_dtype(name) for name in names] == [
        "f32",
        "bf16",
        "i8",
        "u32",
        "c64",
        "bool",
        "key",
    ]


def test_a_layer_that_compiles_by_itself_leaves_its_note_though_nothing_stands_outside():
    made = compose(
        lambda x: x * 2,
        ShardMap(in_specs={"x": ["data"]}, out_specs=[]),
        mesh={"data": 4},
    )
    with pytest.raises(ValueError, match="shard_map") as caught:
        made(jnp.ones(8))
    [note] = ours(caught.value)
    assert note.splitlines()[1:3] == [
        "> shard_map out_specs=(), in_specs={'x': ('data',)}",
        "      called with x f32[8]",
    ]


def test_an_error_inside_a_split_pmap_is_noted_once():
    def f(x):
        raise KeyError("inside")

    with pytest.raises(KeyError) as caught:
        compose(f, Vmap(), Pmap(split=True))(jnp.ones((8, 2)))
    [note] = ours(caught.value)
    assert note.first == 0
    assert note.arrived == {0: "x f32[2]", 1: "x f32[2, 2]", 2: "x f32[8, 2]"}


def test_a_name_that_is_not_defined_is_no_axis():
    def f(x):
        return x + y  # noqa: F821  # the mistake

    with pytest.raises(NameError) as caught:
        compose(f, Jit())(X)
    [note] = ours(caught.value)
    assert note.cure == ""
