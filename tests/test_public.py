"""What `import composer` offers, and that reading pipelines with it needs no JAX."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import composer

PUBLIC = [
    "Apply", "Cast", "Checkify", "Checkpoint", "Collective", "ComposeError", "ComposerError",
    "Diagnostic", "Drop", "Grad", "Hessian", "InputError", "InsertAfter", "InsertBefore",
    "Jacfwd", "Jacrev", "Jit", "Jvp", "Layer", "Map", "MaxTraces", "Partial", "Pipeline",
    "PipelineError", "PluginError", "Pmap", "Reduce", "Repeat", "RetraceWarning", "Scan",
    "Select", "Set", "SetupError", "ShardMap", "SplitKey", "Stack", "StopGradient", "Then",
    "ValueAndGrad", "Vjp", "Vmap", "__version__", "check", "code", "compose", "lint", "load",
    "loads",
]  # fmt: skip

TEXT = "composer: 1\nfunction: f\nreturns: [loss]\nmesh: {data: 4}\nstack: [grad, jit]\n"

SCRIPT = """
import sys, composer
text, file = sys.argv[1:]
for pipeline in (composer.loads(text), composer.load(file)):
    assert [layer.word for layer in pipeline.stack] == ["grad", "jit"]
    repr(pipeline), pipeline.to_yaml(), pipeline.constants, pipeline.title
print([name for name in ("jax", "jaxlib", "numpy") if name in sys.modules])
"""


def test_the_public_names_are_these():
    assert sorted(composer.__all__) == sorted(PUBLIC)
    assert all(hasattr(composer, name) for name in PUBLIC)


def test_reading_text_or_a_file_and_listing_the_layers_imports_no_jax(tmp_path):
    (tmp_path / "p.yaml").write_text(TEXT.replace("function: f", "function: m:f"))
    root = str(Path(composer.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, TEXT, str(tmp_path / "p.yaml")],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_sealed_text_is_the_pipeline_that_a_file_with_it_is(tmp_path):
    (tmp_path / "p.yaml").write_text(TEXT.replace("function: f", "function: m:f"))
    loaded = composer.load(tmp_path / "p.yaml")
    assert dataclasses.replace(loaded, function="f") == composer.loads(TEXT)
