"""`composer.code` of every ordered pair of layers: the same program as the composed callable."""

import inspect
import itertools
import re
import shutil
import sys
from pathlib import Path

import jax
import pytest

import composer

DATA = Path(__file__).parents[1] / "data" / "code"
LAYERS = """
grad
grad: {argnums: x}
value_and_grad
jacfwd
jacrev: {argnums: [params, x]}
hessian
vmap: {in_axes: {x: 0, y: 0}}
vmap: {in_axes: {params: 0}, out_axes: -1, axis_name: i}
vmap: {in_axes: {x: 0, y: 0}, chunk: 3}
jit
jit: {donate_argnums: x, keep_unused: true}
checkpoint: {policy: dots_saveable}
partial: {keywords: {y: 1.5}}
select: 0
reduce: {op: mean, axis: null}
reduce: {op: sum, outputs: [0]}
pmap: {in_axes: {x: 0, y: 0}, split: true, sync: pmean}
pmap: {in_axes: {x: 0, y: 0}, split: true, merge: true}
pmap: {in_axes: {x: 0, y: 0}, split: true, out_axes: -1}
pmap: {in_axes: {x: 0, y: 0}, split: true, sync: {0: pmean, _: null}}
shard_map: {in_specs: {x: [data], y: [data]}, out_specs: [data], check_vma: false}
jvp: {tangents: {params: v}}
vjp: {cotangent: ct, argnums: params, value: true}
scan: {carry: params, xs: [x, y]}
map: {xs: [x, y]}
repeat: {n: 3, carry: params}
checkify: nan_checks
cast: {arguments: {x: f32}, outputs: f32}
collective: {op: pmean, axis_name: i}
stop_gradient: params
then: model:halved
""".strip().splitlines()

FUNCTIONS = ("loss", "carried", "stepped")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's folder with model.py, which stays importable while the tests run."""
    made = tmp_path_factory.mktemp("pairs")
    shutil.copy(DATA / "model.py", made)
    sys.path.insert(0, str(made))
    yield made
    sys.path.remove(str(made))
    sys.modules.pop("model", None)


def program(fn, args):
    text = re.sub("0x[0-9a-f]+", "0x", str(jax.make_jaxpr(fn)(*args)))
    # Each of checkify's checks gets the next number of a counter.
    return re.sub(r"\b\d+:i32\[\]", "N:i32[]", text)


@pytest.mark.slow
@pytest.mark.parametrize("inner", LAYERS)
def test_the_code_of_a_pair_is_the_same_program(inner, folder):
    pairs = itertools.product(FUNCTIONS, LAYERS)
    assert sum(is_legal_and_the_same(name, inner, outer, folder) for name, outer in pairs) >= 1


def is_legal_and_the_same(name, inner, outer, folder):
    import model

    file = folder / "pair.yaml"
    head = f"composer: 1\nfunction: model:{name}\nmesh: {{data: 4}}\n"
    file.write_text(f"{head}stack:\n  - {inner}\n  - {outer}\n")
    values = {"params": model.P, "x": model.X, "y": model.Y, "v": model.V, "ct": model.P[0]}
    try:
        pipeline = composer.load(file)
        ours = pipeline.build()
        args = [values[name] for name in inspect.signature(ours).parameters]
        expected = program(ours, args)
    except Exception:  # an illegal pair, by whoever finds out first
        return False
    made = {}
    code = composer.code(pipeline, function="composed")
    exec(compile(code, "code", "exec"), made)
    assert program(made["composed"], args) == expected, code
    return True
