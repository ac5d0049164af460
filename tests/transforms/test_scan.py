"""scan: promises, closed forms, and the program that is written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from composer import ComposeError, Grad, Jit, Scan, Select, Vmap, compose
from composer.plugin import ParameterError
from composer.testing import Case, check_transform

X = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
Z = np.float32(0)


def running(total, x):
    total = total + x
    return total, total


def decayed(total, x, rate=0.5, *, shift=0.0):
    total = rate * total + x + shift
    return total, total


def tree_step(state, row):
    new = {"s": state["s"] + row[0], "n": state["n"] + 1}
    return new, (new["s"], row[1])


def two_carries(h, x, c, y):
    return (h + x, c * y), h - c


def tick(count):
    return count + 1, count


def power(total, x, n):
    return total + x**n, total


def test_scan_keeps_every_promise():
    check_transform(
        Scan,
        [
            Case(Scan(), running, (Z, X)),
            Case(Scan(reverse=True), running, (Z, X)),
            Case(Scan(unroll=3), running, (Z, X)),
            Case(Scan(unroll=True, length=4), running, (Z, X)),
            Case(Scan(), running, (Z, X[:0])),
            Case(Scan(), decayed, (Z, X)),
            Case(Scan(), decayed, (Z, X), {"rate": np.float32(0.25), "shift": 1.0}),
            Case(Scan(carry="total", xs="shift"), decayed, (Z, Z), {"shift": X}),
            Case(Scan(carry="total", xs=("x", "rate")), decayed, (Z, X, X)),
            Case(Scan(), tree_step, ({"s": Z, "n": np.int32(0)}, (X, X.reshape(4, 1)))),
            Case(Scan(carry=("h", "c"), xs=("x", 3)), two_carries, (Z, X, np.float32(1), X)),
            Case(Scan(carry="x", xs="total"), lambda total, x: (x + total, None), (X, Z)),
            Case(Scan(xs=None, length=3), tick, (np.int32(5),)),
            Case(Scan(xs=None, length=0), tick, (np.int32(5),)),
            Case(Scan(), power, (Z, X), {"n": 2}, static=("n",)),
            Case(
                Scan(),
                lambda k, x: (k, x),
                (jax.random.key(0), jax.random.split(jax.random.key(1))),
            ),
        ],
    )


def test_the_running_sum_and_the_last_one_come_out():
    carry, ys = compose(running, Scan(), Jit())(Z, X)
    assert float(carry) == 10
    np.testing.assert_array_equal(ys, [1, 3, 6, 10])


def test_backwards_the_sums_start_at_the_last_row():
    carry, ys = compose(running, Scan(reverse=True))(Z, X)
    assert float(carry) == 10
    np.testing.assert_array_equal(ys, [10, 9, 7, 4])


def test_the_program_is_the_one_written_by_hand():
    made = compose(decayed, Scan(reverse=True, unroll=2))

    def by_hand(total, x, rate):
        return jax.lax.scan(lambda c, row: decayed(c, row, rate), total, x, reverse=True, unroll=2)

    args = Z, X, np.float32(0.5)
    assert str(jax.make_jaxpr(made)(*args)) == str(jax.make_jaxpr(by_hand)(*args))


def test_several_carries_and_rows_are_tuples_in_the_program_written_by_hand():
    made = compose(two_carries, Scan(carry=("h", "c"), xs=("x", "y")))

    def by_hand(h, x, c, y):
        return jax.lax.scan(lambda hc, xy: two_carries(hc[0], xy[0], hc[1], xy[1]), (h, c), (x, y))

    args = Z, X, np.float32(1), X
    assert str(jax.make_jaxpr(made)(*args)) == str(jax.make_jaxpr(by_hand)(*args))
    (h, c), ys = made(*args)
    assert (float(h), float(c)) == (10, 24)
    np.testing.assert_array_equal(ys, [0 - 1, 1 - 1, 3 - 2, 6 - 6])


def test_a_step_without_rows_counts():
    carry, ys = compose(tick, Scan(xs=None, length=4), Jit())(np.int32(0))
    assert int(carry) == 4
    np.testing.assert_array_equal(ys, [0, 1, 2, 3])


def test_a_number_written_in_python_is_promoted_as_in_jax():
    carry, _ = compose(running, Scan())(0, X)
    assert carry.dtype == jnp.float32
    assert float(carry) == 10


def test_the_gradient_goes_through_every_step():
    made = compose(decayed, Scan(), Select(output="carry"), Grad(argnums="rate"), Jit())
    # d/dr of 1 r^3 + 2 r^2 + 3 r + 4 at r = 1/2.
    np.testing.assert_allclose(made(Z, X, np.float32(0.5)), 3 / 4 + 2 + 3, rtol=1e-6)


def test_a_vmap_outside_scans_each_row_of_a_batch():
    made = compose(running, Scan(), Vmap(in_axes={"x": 0}), Jit())
    np.testing.assert_array_equal(made(Z, np.stack([X, 2 * X]))[0], [10, 20])


def test_the_arguments_can_be_passed_by_keyword():
    assert float(compose(decayed, Scan())(x=X, total=Z, rate=np.float32(1))[0]) == 10


def test_a_function_of_any_number_of_arguments_is_scanned_by_position():
    carry, _ = compose(lambda *args: (args[0] + args[1] * args[2], None), Scan())(Z, X, X[1])
    assert float(carry) == 20


def test_outputs_are_named_carry_and_ys_unless_the_function_names_them():
    case = Case(Scan(), running, returns=["total", "sums"])
    assert Scan().signature(case.context().signature).output.names() == ["total", "sums"]
    assert Scan().signature(Case(Scan(), running).context().signature).output.names() == [
        "carry",
        "ys",
    ]


def test_a_function_that_returns_no_pair_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda c, x: c + x, Scan())(Z, X)
    assert str(caught.value) == (
        "CMP223 scan: the layer below returns f32[], which is no pair (carry, y)\n"
        "  write: return carry, y     # in the function; y may be None\n"
        "         - repeat: 10        # instead of scan, for a carry alone"
    )


def test_a_carry_of_another_structure_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda c, x: ((c, x), x), Scan())(Z, X)
    assert str(caught.value) == (
        "CMP222 scan: the carry goes in as f32[] and comes out as a tuple (f32[], f32[]); it must"
        " keep its structure, since one program does all steps\n"
        "  write: return f32[]"
    )


def test_a_carry_of_another_shape_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda c, x: ({"a": c["a"] + x}, x), Scan())({"a": Z}, np.ones((4, 2), np.float32))
    assert str(caught.value) == (
        "CMP222 scan: the carry['a'] goes in as f32[] and comes out as f32[2]; it must keep its"
        " shape, since one program does all steps\n"
        "  write: return it as f32[]"
    )


def test_a_carry_of_another_dtype_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda c, x: (c.astype(jnp.float32) + x, x), Scan())(np.int32(0), X)
    assert str(caught.value) == (
        "CMP222 scan: the carry goes in as i32 and comes out as f32; it must keep its dtype, since"
        " one program does all steps\n"
        "  write: new.astype('int32')     # or give the carry as f32"
    )


def test_rows_that_differ_in_number_are_told_with_all_of_them():
    with pytest.raises(ComposeError) as caught:
        compose(decayed, Scan(xs=("x", "rate"), length=5))(Z, X, X[:3])
    assert str(caught.value) == (
        "CMP214 scan: the rows do not agree in number\n"
        "  x: 4\n"
        "  rate: 3\n"
        "  length: 5\n"
        "  write: xs with the same length along the first axis"
    )


def test_a_number_has_no_rows():
    with pytest.raises(ComposeError) as caught:
        compose(running, Scan())(Z, Z)
    assert str(caught.value) == (
        "CMP209 scan: xs goes through the rows of x, but it is f32[], which has no axis\n"
        "  write: xs without x: it is the same for all rows then"
    )


def test_rows_without_any_array_are_refused():
    with pytest.raises(ComposeError) as caught:
        compose(lambda c, x: (c, None), Scan())(Z, {})
    assert str(caught.value) == (
        "CMP206 scan: there are no rows: x holds no array\n  write: at least one array in xs"
    )


def test_a_function_of_the_carry_alone_needs_a_length():
    with pytest.raises(ComposeError) as caught:
        compose(tick, Scan())
    assert str(caught.value) == (
        "CMP202 scan goes through the rows of the second argument, but tick has one: count\n"
        "  write: scan: {xs: null, length: 10}     # no rows: 10 steps"
    )


def test_an_argument_cannot_be_carried_and_gone_through():
    with pytest.raises(ComposeError) as caught:
        compose(running, Scan(carry="x"))
    assert str(caught.value) == (
        "CMP204 scan: x is named twice in carry and xs\n  write: each argument once"
    )


def test_an_unknown_carry_is_refused():
    with pytest.raises(ComposeError) as caught:
        compose(running, Scan(carry="totl"))
    assert str(caught.value) == (
        "CMP201 scan: carry names 'totl', but running has no such argument\n"
        "  arguments: total, x\n"
        "  write: carry: total"
    )


def test_rows_that_the_call_leaves_out_are_named():
    with pytest.raises(ComposeError) as caught:
        compose(running, Scan())(total=Z)
    assert str(caught.value) == (
        "CMP204 scan: xs is x, which the call does not give\n  given: total"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"xs": None}, "length is missing: without xs nothing else tells it\n  write: length: 10"),
        ({"xs": ()}, "xs names no argument"),
        ({"carry": ()}, "carry names no argument"),
        ({"carry": ("h", "h")}, "carry names 'h' twice"),
        ({"length": -1}, "length is -1; it is at least 0"),
        ({"unroll": -1}, "unroll is -1; it is at least 0, or true for all"),
        ({"reverse": 1}, "reverse does not fit: expected `bool`, got `int`"),
    ],
)
def test_parameters_that_make_no_loop_are_refused(options, text):
    with pytest.raises(ParameterError) as caught:
        Scan(**options)
    assert str(caught.value) == f"CMP037 scan: {text}"
