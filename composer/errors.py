"""Every error and diagnostic that composer raises: code, place, cause, cure.

A diagnostic is data; an error carries one or more of them. The text a person
sees is made here and nowhere else, so that it reads the same in a terminal, in
a traceback and in a test.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final, Literal

from composer._change import Fix

Severity = Literal["error", "warning", "info"]

_RULE_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")

CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # CMP0xx: the file, its arguments and this machine
        "CMP001": "not YAML",
        "CMP002": "a feature of YAML that pipelines do not use",
        "CMP003": "duplicate key",
        "CMP004": "a number that YAML readers disagree about",
        "CMP005": "a word that YAML readers disagree about",
        "CMP006": "number out of range",
        "CMP007": "file too large",
        "CMP008": "nested too deep",
        "CMP009": "not UTF-8 text",
        "CMP010": "key is not a word",
        "CMP011": "more than one document",
        "CMP012": "empty file",
        "CMP013": "a Python spelling in YAML",
        "CMP014": "file cannot be read",
        "CMP015": "tag",
        "CMP016": "anchor",
        "CMP017": "alias",
        "CMP018": "merge key",
        "CMP019": "a date that some YAML readers make an object of",
        "CMP020": "number that is not finite",
        "CMP021": "control character",
        "CMP022": "tab where YAML wants spaces",
        "CMP023": "missing value",
        "CMP024": "ignore comment that hides nothing",
        "CMP025": "ignore comment that is not understood",
        "CMP030": "not a pipeline",
        "CMP031": "unknown key",
        "CMP032": "missing key",
        "CMP033": "wrong type of value",
        "CMP034": "unknown transform",
        "CMP035": "not a layer",
        "CMP036": "unknown parameter",
        "CMP037": "wrong value of a parameter",
        "CMP038": "unknown version of the language",
        "CMP039": "name stands twice",
        "CMP040": "refused in sealed text",
        "CMP041": "cannot be written as YAML",
        "CMP042": "reserved name",
        "CMP050": "file cannot be extended",
        "CMP051": "files extend each other in a circle, or too deep",
        "CMP052": "unknown profile",
        "CMP053": "wrong overlay",
        "CMP054": "no such layer",
        "CMP055": "word stands more than once in the stack",
        "CMP056": "no such place to set",
        "CMP057": "value has no parts to set",
        "CMP058": "null removes nothing",
        "CMP059": "edit is not understood",
        "CMP060": "unknown kind of source",
        "CMP061": "wrong source",
        "CMP062": "wrong shape text",
        "CMP063": "data file cannot be read",
        "CMP064": "no such key in the data file",
        "CMP065": "value does not have the declared shape",
        "CMP066": "argument has no value",
        "CMP067": "argument that the function does not take",
        "CMP068": "path outside the project",
        "CMP069": "reference cannot be resolved",
        "CMP070": "output cannot be written",
        "CMP071": "the called function failed",
        "CMP088": "JAX does not start",
        "CMP089": "Python is too old for the newest JAX",
        "CMP090": "too few devices",
        "CMP091": "package is not installed",
        "CMP092": "devices were already started",
        "CMP093": "jax and jaxlib do not fit each other",
        "CMP094": "CUDA plugin does not fit",
        "CMP095": "GPU is not used",
        "CMP096": "GPU driver is too old",
        "CMP097": "CUDA libraries other than those JAX needs",
        "CMP098": "retired install command",
        "CMP099": "another composer is in the way",
        # CMP1xx: order
        "CMP101": "layer has no effect here",
        "CMP102": "pmap compiles already",
        "CMP103": "derivative outside a parallel layer",
        "CMP104": "derivative of a checked function",
        "CMP105": "check without checkify",
        "CMP106": "both branches run for each row",
        "CMP107": "layers outside the jit run in Python on every call",
        "CMP108": "per-example derivative of a batch function",
        "CMP112": "axis is not bound",
        # CMP2xx: names, shapes and axes
        "CMP201": "no such argument",
        "CMP202": "position out of range",
        "CMP203": "function has no argument names",
        "CMP204": "wrong call",
        "CMP205": "static argument used as an array",
        "CMP206": "nothing is mapped",
        "CMP207": "no such output",
        "CMP208": "output names do not fit the outputs",
        "CMP209": "axes do not fit the argument",
        "CMP210": "name is introduced twice",
        "CMP211": "output is not one scalar",
        "CMP212": "integers have no derivative",
        "CMP213": "axes do not follow the argument's tree",
        "CMP214": "mapped axes of different sizes",
        "CMP215": "output is not (value, aux)",
        "CMP216": "output differs between rows",
        "CMP217": "value that JAX cannot take",
        "CMP218": "integers do not fit 32 bits",
        "CMP219": "dtype cannot be cast to",
        "CMP220": "not one key, or not one step",
        "CMP221": "tangent does not fit",
        "CMP222": "carry does not keep its form",
        "CMP223": "output is not (carry, y)",
        "CMP224": "64-bit values that JAX makes 32-bit",
        "CMP225": "axes of the same size",
        "CMP226": "Jacobian in the slow direction",
        "CMP227": "loop without a reverse derivative",
        "CMP228": "custom rule for the other direction",
        "CMP229": "derivative with respect to data",
        "CMP230": "axes of nested vmaps come out reversed",
        "CMP231": "keyword argument is mapped by accident",
        "CMP232": "mapped rows do not fit the memory",
        "CMP233": "fails when it is traced",
        "CMP234": "has_aux does not fit the outputs",
        "CMP235": "dtype changes inside a custom rule",
        # CMP3xx: collectives and devices
        "CMP301": "batch does not divide over the devices",
        "CMP302": "sync does not fit the outputs",
        "CMP303": "pmean of something that is not a floating number",
        "CMP304": "no mesh",
        "CMP305": "no such mesh axis",
        "CMP306": "devices hold different values",
        "CMP307": "options of pmap that exclude each other",
        "CMP308": "collective does not fit the axis",
        "CMP309": "layer over devices inside another one",
        "CMP310": "axis name is bound twice",
        "CMP311": "rows averaged across devices",
        "CMP312": "mean over devices inside the derivative",
        "CMP313": "sum over devices inside the derivative",
        "CMP314": "gradient summed over devices already",
        "CMP315": "gradient is a sum over devices, not a mean",
        "CMP316": "one device's gradient passed off as everybody's",
        "CMP317": "one device's output passed off as everybody's",
        "CMP318": "pair of layers that this JAX cannot run",
        "CMP319": "spmd_axis_name is fragile",
        "CMP320": "plain pmap cannot be exported",
        "CMP321": "padding rows are counted",
        "CMP322": "sharding constraint inside a mapped function",
        "CMP323": "statistics of one device only",
        "CMP324": "arguments lie on different devices",
        # CMP4xx: static, donation, retracing
        "CMP401": "static argument is not hashable",
        "CMP402": "array was donated before",
        "CMP403": "array is donated twice",
        "CMP404": "size is not static",
        "CMP405": "branch on an argument's value",
        "CMP406": "donation inside another layer",
        "CMP407": "donation by keyword",
        "CMP408": "donation saves nothing",
        "CMP409": "static argument that changes",
        "CMP410": "traced more often than allowed",
        "CMP411": "compiled anew on every call",
        "CMP412": "method without its object",
        "CMP413": "long Python loop is unrolled",
        "CMP414": "retraced for another kind of number",
        # CMP5xx: purity and randomness
        "CMP501": "print runs while tracing only",
        "CMP502": "writes to something outside",
        "CMP503": "random numbers or time of the host",
        "CMP504": "NumPy on a traced argument",
        "CMP505": "in-place update of an argument",
        "CMP506": "key is used twice",
        "CMP507": "key from outside the function",
        "CMP508": "same key for every row",
        "CMP509": "value from outside is frozen",
        "CMP510": "same key on every device",
        "CMP511": "large array captured as a constant",
        "CMP512": "traced value leaks",
        # CMP6xx: plugins
        "CMP601": "two plugins claim one word",
        "CMP602": "plugin cannot be loaded",
        "CMP603": "hook does not exist",
        "CMP604": "plugin answered for a layer that is not its own",
        "CMP605": "watcher changed the function",
        "CMP606": "transform class is not valid",
        "CMP607": "hook is implemented wrongly",
        "CMP608": "layer has no reference",
        "CMP609": "cannot be written as plain JAX",
    }
)
"""Each code with its title. Families: 0xx file and arguments, 1xx order, 2xx shapes
and axes, 3xx collectives and devices, 4xx static, donation and retracing, 5xx purity,
6xx plugins."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written.

    Attributes:
        file: The file as the user named it; None for text without a file.
        line: Counted from 1.
        column: Counted from 1, in characters.
        text: The whole source line, without its line end.
        width: How many characters the caret underlines, at least 1.
    """

    file: str | None
    line: int
    column: int
    text: str = ""
    width: int = 1

    def __str__(self) -> str:
        return f"{printable(self.file or '<text>')}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding, complete in itself.

    Attributes:
        code: A key of `CODES`, or the name of a plugin's rule.
        message: What was found and why it is wrong; stands alone.
        place: Where; None for layers that were written in Python.
        notes: Further facts, one line each, such as `accepted: x, y`.
        cure: What to write or do instead; may have several lines.
        severity: How bad it is.
        fix: Changes of the file that do what the cure says. Not part of equality.
    """

    code: str
    message: str
    place: Place | None = None
    notes: tuple[str, ...] = ()
    cure: str | None = None
    severity: Severity = "error"
    fix: Fix | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        known = self.code in CODES or _RULE_NAME.fullmatch(self.code)
        assert known, f"unknown diagnostic code {self.code}"

    def render(self) -> str:
        """The text for a terminal: place, code, message, source line, notes, cure.

        >>> print(Diagnostic("CMP030", "no stack", cure="stack: [jit]").render())
        CMP030 no stack
          write: stack: [jit]
        """
        level = "" if self.severity == "error" else f"{self.severity}: "
        head = f"{self.code} {level}{printable(self.message)}"
        if self.place is None:
            lines = [head]
        else:
            lines = [f"{self.place}: {head}", *_excerpt(self.place)]
        lines += [f"  {printable(note)}" for note in self.notes]
        if self.cure is not None:
            first, *rest = self.cure.split("\n")
            lines.append(f"  write: {printable(first)}")
            lines += [f"         {printable(line)}" for line in rest]
        return "\n".join(lines)


def _excerpt(place: Place) -> list[str]:
    """The source line with carets; nothing where the line is not known."""
    if not place.text:
        return []
    gutter = f"    {place.line} | "
    # A very long line would bury its own carets: show a window around them.
    start = max(0, place.column - 61) if len(place.text) > 120 else 0
    shown = place.text[start : start + 120]
    under = min(place.width, max(1, len(shown) - (place.column - 1 - start)))
    pad = " " * (len(gutter) - 2) + "| " + " " * (place.column - 1 - start)
    return [gutter + printable(shown), pad + "^" * under]


class ComposerError(Exception):
    """Base of everything composer raises on purpose.

    Attributes:
        diagnostics: One or more findings, in the order of the file.
        exit_code: What the command line exits with.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, *diagnostics: Diagnostic) -> None:
        assert diagnostics, "an error needs at least one diagnostic"
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n\n".join(item.render() for item in self.diagnostics)


class PipelineError(ComposerError):
    """A pipeline that cannot be read: text, keys, values, words."""

    exit_code = 2


class InputError(ComposerError):
    """An argument's value that cannot be had: no such file, no such key, wrong shape."""

    exit_code = 2


class ComposeError(ComposerError):
    """A stack that does not fit its function or its arguments."""


class SetupError(ComposerError):
    """Something about this machine: too few devices, a package that is not installed."""

    exit_code = 3


class PluginError(ComposerError):
    """A plugin that breaks its promise, or two that claim one word."""

    exit_code = 3


def fail(
    kind: type[ComposerError],
    code: str,
    message: str,
    *,
    place: Place | None = None,
    notes: Iterable[str] = (),
    cure: str | None = None,
) -> ComposerError:
    """An error with one diagnostic, to be raised by the caller: `raise fail(...)`."""
    return kind(Diagnostic(code, message, place, tuple(notes), cure))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name most like `word`, or None where nothing is like it.

    >>> nearest("vmpa", ["vmap", "pmap"]), nearest("Vmap", ["map", "vmap"])
    ('vmap', 'vmap')
    """
    names = sorted(known)
    for name in names:
        if name.casefold() == str(word).casefold():
            return name
    found = difflib.get_close_matches(str(word), names, n=1, cutoff=0.6)
    return found[0] if found else None


def printable(text: str) -> str:
    r"""The text with control characters escaped, so that a file cannot steer a terminal.

    >>> printable("a\x1b[31m")
    'a\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
