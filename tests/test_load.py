"""What is said about text that is no pipeline: whole texts, each beside what it is about."""

import re

import pytest

from composer import InputError, PipelineError, loads
from composer._load import pipeline_from
from composer._registry import default_registry
from composer._yaml import parse

REFUSED = {
    "a list of layers alone": (
        """\
- grad
- jit
""",
        """\
p.yaml:1:1: CMP030 a pipeline is a mapping of keys, not a list
    1 | - grad
      | ^
  write: composer: 1
         function: module:function
         stack: [grad, jit]
""",
    ),
    "no other version": (
        """\
composer: 2
function: m:f
stack: [jit]
""",
        """\
p.yaml:1:11: CMP038 composer: 2 is no version of the language that is read here
    1 | composer: 2
      |           ^
  write: composer: 1
""",
    ),
    "no version that is text": (
        """\
composer: "1"
function: m:f
stack: [jit]
""",
        """\
p.yaml:1:11: CMP038 composer: '1' is no version of the language that is read here
    1 | composer: "1"
      |           ^^^
  write: composer: 1
""",
    ),
    "nothing but a name": (
        """\
name: a
""",
        """\
p.yaml:1:1: CMP032 the key composer: is missing; it says the version of the language
    1 | name: a
      | ^^^^
  write: composer: 1

p.yaml:1:1: CMP032 the key function: is missing; it names the function to transform
    1 | name: a
      | ^^^^
  write: function: module:function

p.yaml:1:1: CMP032 the key stack: is missing; it lists the layers, innermost first
    1 | name: a
      | ^^^^
  write: stack: [grad, jit]
""",
    ),
    "an unknown key": (
        """\
composer: 1
functoin: m:f
stack: [jit]
colour: red
""",
        """\
p.yaml:2:1: CMP031 a pipeline has no key 'functoin'
    2 | functoin: m:f
      | ^^^^^^^^
  keys: composer, name, function, static, returns, mesh, plugins, args, stack, max_traces, run, write
  write: function:

p.yaml:4:1: CMP031 a pipeline has no key 'colour'
    4 | colour: red
      | ^^^^^^
  keys: composer, name, function, static, returns, mesh, plugins, args, stack, max_traces, run, write
""",
    ),
    "a function without its module": (
        """\
composer: 1
function: loss
stack: [jit]
""",
        """\
p.yaml:2:11: CMP033 function: 'loss' does not say in which module it is
    2 | function: loss
      |           ^^^^
  write: function: module:loss
""",
    ),
    "a function that is a random number": (
        """\
composer: 1
function: {random: normal, seed: 0, shape: "f32[3]"}
stack: [jit]
""",
        """\
p.yaml:2:11: CMP033 function: is module:function, or {call: module:factory} that makes it
    2 | function: {random: normal, seed: 0, shape: "f32[3]"}
      |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    ),
    "a stack of one word": (
        """\
composer: 1
function: m:f
stack: jit
""",
        """\
p.yaml:3:8: CMP033 stack: is a list, innermost first, not a word ('jit'): its order is the order of wrapping
    3 | stack: jit
      |        ^^^
  write: stack: [jit]
""",
    ),
    "a stack that is a mapping": (
        """\
composer: 1
function: m:f
stack: {grad: {}, jit: {}}
""",
        """\
p.yaml:3:8: CMP033 stack: is a list, innermost first, not a mapping: its order is the order of wrapping
    3 | stack: {grad: {}, jit: {}}
      |        ^^^^^^^^^^^^^^^^^^^
  write: stack:
           - grad
           - jit
""",
    ),
    "a layer with two words": (
        """\
composer: 1
function: m:f
stack:
  - grad: {}
    jit: {}
""",
        """\
p.yaml:4:5: CMP035 a layer has one word, but here are 2: grad, jit
    4 |   - grad: {}
      |     ^^^^
  write: - grad
         - jit
""",
    ),
    "a layer that is no word": (
        """\
composer: 1
function: m:f
stack:
  - [jit]
""",
        """\
p.yaml:4:5: CMP035 a layer is a word or a word with parameters, not a list
    4 |   - [jit]
      |     ^^^^^
  write: - vmap: {in_axes: {x: 0}}
""",
    ),
    "an unknown transform": (
        """\
composer: 1
function: m:f
stack:
  - vmpa: {in_axes: 0}
""",
        """\
p.yaml:4:5: CMP034 there is no transform 'vmpa'
    4 |   - vmpa: {in_axes: 0}
      |     ^^^^
  transforms: apply, ..., vmap
  write: - vmap
""",
    ),
    "an unknown parameter": (
        """\
composer: 1
function: m:f
stack:
  - vmap: {in_axs: 0, size: 3}
""",
        """\
p.yaml:4:12: CMP036 vmap has no parameter 'in_axs'
    4 |   - vmap: {in_axs: 0, size: 3}
      |            ^^^^^^
  parameters: in_axes, out_axes, axis_name, axis_size, spmd_axis_name, chunk
  write: in_axes:

p.yaml:4:23: CMP036 vmap has no parameter 'size'
    4 |   - vmap: {in_axs: 0, size: 3}
      |                       ^^^^
  parameters: in_axes, out_axes, axis_name, axis_size, spmd_axis_name, chunk
  write: axis_size:
""",
    ),
    "a parameter that is missing": (
        """\
composer: 1
function: m:f
stack:
  - reduce: {axis: 0}
""",
        """\
p.yaml:4:5: CMP032 reduce: the parameter op is missing
    4 |   - reduce: {axis: 0}
      |     ^^^^^^
  write: - reduce: {op: ...}
""",
    ),
    "a number in quotes": (
        """\
composer: 1
function: m:f
stack:
  - vmap: {in_axes: "0"}
""",
        """\
p.yaml:4:21: CMP037 vmap: in_axes does not fit: expected `int | mapping | list | null`, got `word`
    4 |   - vmap: {in_axes: "0"}
      |                     ^^^
  write: in_axes: 0
""",
    ),
    "an axis that is true": (
        """\
composer: 1
function: m:f
stack:
  - vmap: {in_axes: true}
""",
        """\
p.yaml:4:21: CMP037 vmap: in_axes does not fit: expected `int | mapping | list | null`, got `bool`
    4 |   - vmap: {in_axes: true}
      |                     ^^^^
""",
    ),
    "an axis that is true, deep inside": (
        """\
composer: 1
function: m:f
stack:
  - vmap: {in_axes: [0, {x: [1, true]}]}
""",
        """\
p.yaml:4:33: CMP037 vmap: in_axes holds true; an axis is a whole number or null
    4 |   - vmap: {in_axes: [0, {x: [1, true]}]}
      |                                 ^^^^
""",
    ),
    "a number among names": (
        """\
composer: 1
function: m:f
stack:
  - grad: {argnums: [x, 1.5]}
""",
        """\
p.yaml:4:25: CMP037 grad: argnums[1] does not fit: expected `int | word`, got `float`
    4 |   - grad: {argnums: [x, 1.5]}
      |                         ^^^
""",
    ),
    "a position as a key": (
        """\
composer: 1
function: m:f
stack:
  - vmap: {in_axes: {0: 1}}
""",
        """\
p.yaml:4:21: CMP037 vmap: in_axes has a key that does not fit: expected `word`, got `int`
    4 |   - vmap: {in_axes: {0: 1}}
      |                     ^^^^^^
""",
    ),
    "a number for a name": (
        """\
composer: 1
function: m:f
stack:
  - jvp: {tangents: {x: 0}}
""",
        """\
p.yaml:4:21: CMP037 jvp: tangents has a value that does not fit: expected `word`, got `int`
    4 |   - jvp: {tangents: {x: 0}}
      |                     ^^^^^^
""",
    ),
    "a misspelt choice": (
        """\
composer: 1
function: m:f
stack:
  - reduce: men
""",
        """\
p.yaml:4:13: CMP037 reduce: op is 'men', which is none of its choices
    4 |   - reduce: men
      |             ^^^
  choices: mean, sum
  write: op: mean
""",
    ),
    "a layer that is switched on": (
        """\
composer: 1
function: m:f
stack:
  - jit: true
""",
        """\
p.yaml:4:10: CMP035 jit: its parameters are a mapping, not true
    4 |   - jit: true
      |          ^^^^
  write: - jit
""",
    ),
    "a list for parameters": (
        """\
composer: 1
function: m:f
stack:
  - grad: [x]
""",
        """\
p.yaml:4:11: CMP035 grad: its parameters are a mapping, not a list
    4 |   - grad: [x]
      |           ^^^
  write: - grad: {argnums: [x]}
""",
    ),
    "an id twice": (
        """\
composer: 1
function: m:f
stack:
  - grad: {id: a}
  - vmap
  - jit: {id: a}
""",
        """\
p.yaml:6:5: CMP039 two layers have the id 'a'
    6 |   - jit: {id: a}
      |     ^^^
  first at p.yaml:4:5
  write: id: a_2
""",
    ),
    "two ids": (
        """\
composer: 1
function: m:f
stack:
  - grad: {id: a}
    id: b
""",
        """\
p.yaml:5:5: CMP039 grad: the layer has two ids
    5 |     id: b
      |     ^^
  first at p.yaml:4:16
  write: one of them
""",
    ),
    "an output name twice": (
        """\
composer: 1
function: m:f
returns: [loss, {stats: [n, loss]}]
stack: [jit]
""",
        """\
p.yaml:3:29: CMP039 returns: 'loss' stands there twice
    3 | returns: [loss, {stats: [n, loss]}]
      |                             ^^^^
  first at p.yaml:3:11
  write: names that differ
""",
    ),
    "one output name": (
        """\
composer: 1
function: m:f
returns: loss
stack: [jit]
""",
        """\
p.yaml:3:10: CMP033 returns: is a list of names, such as [loss, aux]
    3 | returns: loss
      |          ^^^^
  write: returns: [loss]
""",
    ),
    "a static name twice": (
        """\
composer: 1
function: m:f
static: [n, n]
stack: [jit]
""",
        """\
p.yaml:3:13: CMP039 static: 'n' stands there twice
    3 | static: [n, n]
      |             ^
  first at p.yaml:3:10
  write: one of the two
""",
    ),
    "sizes of a mesh": (
        """\
composer: 1
function: m:f
mesh: {data: 0, model: 2.0, 3: 4}
stack: [jit]
""",
        """\
p.yaml:3:14: CMP033 mesh: axis 'data' has size 0; a size is a whole number from 1
    3 | mesh: {data: 0, model: 2.0, 3: 4}
      |              ^

p.yaml:3:24: CMP033 mesh: axis 'model' has size 2.0; a size is a whole number from 1
    3 | mesh: {data: 0, model: 2.0, 3: 4}
      |                        ^^^

p.yaml:3:29: CMP033 mesh: 3 is a number, but here names are the keys
    3 | mesh: {data: 0, model: 2.0, 3: 4}
      |                             ^
  write: mesh: {data: 4}
""",
    ),
    "wrong types in run": (
        """\
composer: 1
function: m:f
stack: [jit]
run: {simulate_devices: many, enable_x64: 1, x64: true}
""",
        """\
p.yaml:4:25: CMP033 run: simulate_devices does not fit: expected `int | null`, got `word`
    4 | run: {simulate_devices: many, enable_x64: 1, x64: true}
      |                         ^^^^

p.yaml:4:43: CMP033 run: enable_x64 does not fit: expected `bool`, got `int`
    4 | run: {simulate_devices: many, enable_x64: 1, x64: true}
      |                                           ^

p.yaml:4:46: CMP031 run: has no key 'x64'
    4 | run: {simulate_devices: many, enable_x64: 1, x64: true}
      |                                              ^^^
  keys: simulate_devices, enable_x64
""",
    ),
    "a bare file name": (
        """\
composer: 1
function: m:f
stack: [jit]
write: out.npz
""",
        """\
p.yaml:4:8: CMP033 write: is a mapping with file, not a word ('out.npz')
    4 | write: out.npz
      |        ^^^^^^^
  write: write: {file: out.npz}
""",
    ),
    "an action without a limit": (
        """\
composer: 1
function: m:f
stack: [jit]
max_traces: {action: error}
""",
        """\
p.yaml:4:13: CMP032 max_traces: the key limit: is missing
    4 | max_traces: {action: error}
      |             ^^^^^^^^^^^^^^^
  write: max_traces: {limit: 1, ...}
""",
    ),
    "a misspelt part of a source": (
        """\
composer: 1
function: m:f
args: {x: {random: normal, shap: "f32[3]", seed: 0}}
stack: [jit]
""",
        """\
p.yaml:3:28: CMP061 'shap' is no part of a random source
    3 | args: {x: {random: normal, shap: "f32[3]", seed: 0}}
      |                            ^^^^
  parts: random, seed, low, high, mean, std, scale, p, shape
  write: shape: ...
""",
    ),
    "a mapping that is no source": (
        """\
composer: 1
function: m:f
args: {x: {fiel: a.npz}}
stack: [jit]
""",
        """\
p.yaml:3:12: CMP060 x is a mapping, but no kind of source
    3 | args: {x: {fiel: a.npz}}
      |            ^^^^
  kinds: value, file, call, ref, random, key, zeros, ones, full, eye, linspace, logspace, geomspace, arange
  write: {file: ...}
""",
    ),
    "several problems": (
        """\
composer: 1
function: f
args: {x: {fiel: a.npz}}
stack:
  - vmap: {in_axs: 0}
  - jit: true
mesh: {d: 0}
name: [a]
""",
        """\
p.yaml:2:11: CMP033 function: 'f' does not say in which module it is
    2 | function: f
      |           ^
  write: function: module:f

p.yaml:3:12: CMP060 x is a mapping, but no kind of source
    3 | args: {x: {fiel: a.npz}}
      |            ^^^^
  kinds: value, file, call, ref, random, key, zeros, ones, full, eye, linspace, logspace, geomspace, arange
  write: {file: ...}

p.yaml:5:12: CMP036 vmap has no parameter 'in_axs'
    5 |   - vmap: {in_axs: 0}
      |            ^^^^^^
  parameters: in_axes, out_axes, axis_name, axis_size, spmd_axis_name, chunk
  write: in_axes:

p.yaml:6:10: CMP035 jit: its parameters are a mapping, not true
    6 |   - jit: true
      |          ^^^^
  write: - jit

p.yaml:7:11: CMP033 mesh: axis 'd' has size 0; a size is a whole number from 1
    7 | mesh: {d: 0}
      |           ^

p.yaml:8:7: CMP033 name: is a word, not a list
    8 | name: [a]
      |       ^^^
""",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_loader_refuses(name):
    text, said = REFUSED[name]
    with pytest.raises(PipelineError) as caught:
        pipeline_from(parse(text, "p.yaml"), default_registry().load)
    # All words are listed; which there are is not the matter here.
    found = re.sub(
        r"transforms: apply, .*, vmap\n", "transforms: apply, ..., vmap\n", str(caught.value)
    )
    assert found + "\n" == said


def test_problems_are_told_in_the_order_of_the_file():
    text, _ = REFUSED["several problems"]
    with pytest.raises(PipelineError) as caught:
        pipeline_from(parse(text), default_registry().load)
    places = [(found.place.line, found.place.column) for found in caught.value.diagnostics]
    assert places == sorted(places)
    assert len(places) == 6


UNSEALED = {
    "a file": (
        """\
composer: 1
function: f
args: {x: {file: a.npz}}
stack: [jit]
""",
        """\
<text>:3:11: CMP040 sealed text may not read files or name code, as argument 'x' does
    3 | args: {x: {file: a.npz}}
      |           ^^^^^^^^^^^^^
  write: pass the value in the call
""",
    ),
    "a call": (
        """\
composer: 1
function: f
args: {x: {call: "m:g"}}
stack: [jit]
""",
        """\
<text>:3:11: CMP040 sealed text may not read files or name code, as argument 'x' does
    3 | args: {x: {call: "m:g"}}
      |           ^^^^^^^^^^^^^
  write: pass the value in the call
""",
    ),
    "an object": (
        """\
composer: 1
function: f
args: {x: {ref: "m:g"}}
stack: [jit]
""",
        """\
<text>:3:11: CMP040 sealed text may not read files or name code, as argument 'x' does
    3 | args: {x: {ref: "m:g"}}
      |           ^^^^^^^^^^^^
  write: pass the value in the call
""",
    ),
    "an output file": (
        """\
composer: 1
function: f
stack: [jit]
write: {file: a.npz}
""",
        """\
<text>:4:1: CMP040 sealed text may not have write:
    4 | write: {file: a.npz}
      | ^^^^^
  write: remove write:
""",
    ),
    "plugins": (
        """\
composer: 1
function: f
plugins: [p]
stack: [jit]
""",
        """\
<text>:3:1: CMP040 sealed text may not have plugins:
    3 | plugins: [p]
      | ^^^^^^^
  write: remove plugins:
""",
    ),
    "a function behind": (
        """\
composer: 1
function: f
stack: [then: "m:g"]
""",
        """\
<text>:3:9: CMP040 sealed text may not name code, as then does with function: m:g
    3 | stack: [then: "m:g"]
      |         ^^^^
  write: compose the layer in Python, or remove it
""",
    ),
    "a decorator": (
        """\
composer: 1
function: f
stack: [apply: {function: "m:g"}]
""",
        """\
<text>:3:9: CMP040 sealed text may not name code, as apply does with function: m:g
    3 | stack: [apply: {function: "m:g"}]
      |         ^^^^^
  write: compose the layer in Python, or remove it
""",
    ),
    "a factory": (
        """\
composer: 1
function: {call: "m:g"}
stack: [jit]
""",
        """\
<text>:2:11: CMP040 sealed text may not call a factory
    2 | function: {call: "m:g"}
      |           ^^^^^^^^^^^^^
  write: function: NAME     # one of those passed to loads
""",
    ),
    "options that write files": (
        """\
composer: 1
function: f
stack: [jit: {compiler_options: {xla_dump_to: d}}]
""",
        """\
<text>:3:9: CMP040 sealed text may not set compiler_options of jit: it can read and write files
    3 | stack: [jit: {compiler_options: {xla_dump_to: d}}]
      |         ^^^
  write: compose the layer in Python, or remove it
""",
    ),
    "code in a stack below": (
        """\
composer: 1
function: f
args: {g: {function: h, stack: [then: "m:g"]}}
stack: [jit]
""",
        """\
<text>:3:33: CMP040 sealed text may not name code, as then does with function: m:g
    3 | args: {g: {function: h, stack: [then: "m:g"]}}
      |                                 ^^^^
  write: compose the layer in Python, or remove it
""",
    ),
}


@pytest.mark.parametrize("name", UNSEALED)
def test_sealed_text_is_refused_with(name):
    text, said = UNSEALED[name]
    with pytest.raises(PipelineError) as caught:
        loads(text, functions={"f": abs, "h": abs})
    assert str(caught.value) + "\n" == said


@pytest.mark.parametrize("name", UNSEALED)
def test_unsealed_text_may_have(name):
    text, _ = UNSEALED[name]
    text = text.replace("function: f", "function: m:f").replace("function: h", "function: m:h")
    assert pipeline_from(parse(text), default_registry().load)


@pytest.mark.parametrize(
    ("functions", "known"), [({"f": abs, "h": len}, "f, h"), ({}, "none"), (None, "none")]
)
def test_sealed_text_with_an_unknown_function_is_refused_when_it_is_built(functions, known):
    sealed = loads("composer: 1\nfunction: os:system\nstack: [jit]\n", functions=functions)
    with pytest.raises(InputError) as caught:
        sealed.build()
    assert str(caught.value) == (
        "<text>:2:11: CMP069 sealed text names the function 'os:system', which was not passed\n"
        "    2 | function: os:system\n"
        "      |           ^^^^^^^^^\n"
        f"  functions: {known}\n"
        "  write: loads(text, functions={'os:system': ...})"
    )
