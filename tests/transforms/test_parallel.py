"""pmap and shard_map: promises on four devices."""

import jax
import jax.numpy as jnp
import numpy as np

from composer import Pmap, ShardMap
from composer.testing import Case, check_transform

P = np.array([0.5, -0.2], np.float32)
X = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)
Y = np.random.default_rng(1).normal(size=8).astype(np.float32)
ONES = np.ones(7, np.float32)


def predict(params, x):
    return x @ params


def loss(params, x, y):
    return jnp.mean((x @ params - y) ** 2)


def grads(params, x, y):
    return {"loss": loss(params, x, y), "grads": jax.grad(loss)(params, x, y)}


def weighted(params, x, y, w):
    return jnp.sum(w * (x @ params - y) ** 2) / jnp.sum(w)


def power(x, n):
    return x**n


def test_pmap_keeps_every_promise():
    by_name = {"x": 0, "y": 0}
    devices = X.reshape(4, 2, 2), Y.reshape(4, 2)
    check_transform(
        Pmap,
        [
            Case(Pmap(), power, (X[:4],), {"n": 2}, static=("n",)),
            Case(Pmap(in_axes=(None, 0, 0)), loss, (P, *devices)),
            Case(Pmap(in_axes=by_name, axis_name="i", sync="pmean"), grads, (P, *devices)),
            Case(Pmap(in_axes=by_name, sync={"loss": None, "grads": "psum"}), grads, (P, *devices)),
            Case(Pmap(in_axes={"x": 0}, split=True), predict, (P, X)),
            Case(Pmap(in_axes={"x": 0}, split=True, out_axes=-1), predict, (P, X)),
            Case(Pmap(in_axes={"x": 0}, split=True, merge=True), predict, (P, X)),
            Case(Pmap(in_axes={"x": -1}, split=True, merge=True), lambda x, s: x * s, (X.T, P[0])),
            Case(Pmap(in_axes=by_name, split=True, sync="pmax"), grads, (P, X, Y)),
            Case(
                Pmap(in_axes=by_name, split=True, sync={"loss": "pmin", "_": None}),
                grads,
                (P, X, Y),
            ),
            Case(
                Pmap(in_axes=by_name, split=True, remainder="drop", sync="pmean"),
                loss,
                (P, X[:7], Y[:7]),
            ),
            Case(
                Pmap(
                    in_axes=by_name | {"w": 0},
                    split=True,
                    remainder="pad",
                    weights="w",
                    sync="pmean",
                ),
                weighted,
                (P, X[:7], Y[:7], ONES),
            ),
            Case(Pmap(in_axes={"x": 0}, split=True), power, (X,), {"n": 3}, static=("n",)),
        ],
    )


def test_shard_map_keeps_every_promise():
    line, grid = {"data": 4}, {"data": 2, "model": 2}
    square = np.arange(16, dtype=np.float32).reshape(4, 4)

    def summed(x):
        return jax.lax.psum(jnp.sum(x), "data")

    check_transform(
        ShardMap,
        [
            Case(
                ShardMap(in_specs={"x": ["data"]}, out_specs=["data"]), predict, (P, X), mesh=line
            ),
            Case(ShardMap(in_specs=[[], ["data"]], out_specs=["data"]), predict, (P, X), mesh=line),
            Case(ShardMap(in_specs=["data"], out_specs=[]), summed, (X,), mesh=line),
            Case(
                ShardMap(in_specs={"x": ["data", "model"]}, out_specs=["data", "model"]),
                lambda x: x * 2,
                (square,),
                mesh=grid,
            ),
            Case(
                ShardMap(in_specs={"x": [["data", "model"]]}, out_specs={"y": [["data", "model"]]}),
                lambda x: x * 2,
                (square,),
                mesh=grid,
                returns=["y"],
            ),
            Case(
                ShardMap(in_specs={"x": ["data"]}, out_specs={"a": ["data"], "b": [None, "data"]}),
                lambda x: {"a": x, "b": x.T},
                (square,),
                mesh=line,
            ),
            Case(
                ShardMap(in_specs={"x": ["d"]}, out_specs=["d"], mesh={"d": 2}, check_vma=False),
                power,
                (X,),
                {"n": 2},
                static=("n",),
            ),
        ],
    )
