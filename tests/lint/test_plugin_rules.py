"""A stranger's transform brings its own lint rules: the same words, no JAX, its own fix."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import pytest

import composer
from composer import Grad, Jit, Stack
from composer.plugin import Finding, Fix, Transform, error, rule, warning


class Offload(Transform, frozen=True):
    """Keep the residuals of the backward pass in host memory."""

    word: ClassVar[str] = "offload"
    keep: Annotated[Literal["nothing", "dots"], "What the forward pass may keep."] = "nothing"

    def build(self, fn, ctx):
        return fn

    @rule("offload-without-gradient")
    def needs_a_gradient(self, layer) -> Iterator[Finding]:
        """No layer outside takes a gradient."""
        if not layer.outside.differentiates:
            yield warning(
                "no layer outside takes a gradient, so nothing is saved",
                cure="move it inside grad",
                fix=Fix((layer.removed(),), safe=True),
            )

    @rule("offload-twice")
    def stands_once(self, layer) -> Iterator[Finding]:
        """A second one inside."""
        if layer.inside.has("offload"):
            yield error(f"{layer.title} stands around another one")


def loss(x):
    return x * x


def test_a_rule_of_a_transform_sees_the_layers_outside():
    [found] = composer.lint(Stack(Offload(), Jit()), loss)
    assert (found.code, found.severity) == ("offload-without-gradient", "warning")
    assert found.render() == (
        "offload-without-gradient warning: no layer outside takes a gradient, so nothing is saved\n"
        "  write: move it inside grad"
    )
    assert composer.lint(Stack(Offload(), Grad(), Jit()), loss) == ()


def test_a_rule_of_a_transform_sees_the_layers_inside():
    found = composer.lint(Stack(Offload(), Offload(keep="dots"), Grad()), loss)
    assert [item.code for item in found] == ["offload-twice"]


def test_a_stack_is_linted_without_its_function():
    [found] = composer.lint(Stack(Offload()))
    assert found.code == "offload-without-gradient"


def test_a_composed_callable_is_linted_with_its_function():
    made = composer.compose(loss, Offload(), Jit())
    assert [item.code for item in composer.lint(made)] == ["offload-without-gradient"]


@pytest.mark.parametrize("wrong", [loss, 3, None])
def test_what_is_no_stack_is_refused(wrong):
    with pytest.raises(TypeError, match="lint takes a Pipeline"):
        composer.lint(wrong)


PLUGIN = """
from typing import ClassVar
from composer.plugin import Transform, rule, warning

class Noisy(Transform, frozen=True):
    word: ClassVar[str] = "noisy"

    @rule("noisy-layer")
    def check_noise(self, layer):
        yield warning(f"layer {layer.number} of {len(layer.stack.layers)} is noisy")
"""

SCRIPT = """
import sys, composer
from noisy import Noisy
found = composer.lint(composer.Stack(composer.Grad(), Noisy()))
assert [d.message for d in found] == ["layer 1 of 2 is noisy"], found
print("jax" in sys.modules, "numpy" in sys.modules)
"""


def test_the_rules_of_a_plugin_run_without_jax(tmp_path):
    (tmp_path / "noisy.py").write_text(PLUGIN)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{tmp_path}:{composer.__path__[0]}/..", "PATH": ""},
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("False False", "")
