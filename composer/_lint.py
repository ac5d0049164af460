"""A pipeline, or layers around a function, to diagnostics: nothing is run, JAX stays out.

What loading finds, what composing would refuse, and what the rules find, all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from composer._change import Edit, Fix
from composer._ignore import without_ignored
from composer._pipeline import Pipeline, SubPipeline
from composer._recipe import Recipe
from composer._rule import Finding, Rule, rules_of
from composer._signature import Output, Signature, output_from_names, signature_of
from composer._source import Facts, NotFound, facts_of_callable, find_facts
from composer._sources import Call
from composer._statics import check_max_traces, check_static
from composer._view import LayerView, StackView
from composer.errors import ComposeError, ComposerError, Diagnostic, Place
from composer.rules import all_rules

Functions = Mapping[str, Callable[..., Any]]


def lint_pipeline(pipeline: Pipeline) -> list[Diagnostic]:
    """All findings about a pipeline and its sub-pipelines, in the order of the file."""
    found: list[Diagnostic] = []
    for stack, missing in stacks_of(pipeline):
        found += [missing] if missing is not None else []
        found += lint_stack(stack)
    if pipeline.document is not None:
        names = {rule.name: rule.code for rule in (*all_rules(), *_own_rules(pipeline))}
        document = pipeline.document
        found = without_ignored(in_order(found), document.text, document.file, names)
    return in_order(found)


def _own_rules(pipeline: Pipeline) -> Iterator[Rule]:
    """The rules of the transforms in a pipeline's stack and in those of its sub-pipelines."""
    inner = [s.stack for s in pipeline.sources.values() if isinstance(s, SubPipeline)]
    for layer in (*pipeline.stack, *(layer for stack in inner for layer in stack)):
        yield from rules_of(type(layer.transform))


def lint_stack(stack: StackView) -> list[Diagnostic]:
    """All findings about one stack: what composing would refuse, then what rules find."""
    found = list(refusals(stack))
    known = {(item.code, item.place) for item in found}
    for rule, finding, view in findings(stack):
        diagnostic = diagnostic_of(rule, finding, view, stack)
        # A rule may say again, and less exactly, what composing refuses.
        if (diagnostic.code, diagnostic.place) not in known:
            found.append(diagnostic)
    return in_order(found)


def findings(stack: StackView) -> Iterator[tuple[Rule, Finding, LayerView | None]]:
    """What the rules yield: those about the stack, then those of each transform."""
    for rule in all_rules():
        for finding in rule.check(stack):
            yield rule, finding, None
    for view in stack.layers:
        for rule in rules_of(type(view.transform)):
            for finding in rule.check(view.transform, view):
                yield rule, finding, view


def diagnostic_of(
    rule: Rule, finding: Finding, view: LayerView | None, stack: StackView
) -> Diagnostic:
    """A finding as a diagnostic, its fix addressed from the root of the file."""
    place = finding.place or (view.place if view is not None else None)
    fix = None if finding.fix is None else _from_root(finding.fix, stack.path)
    return Diagnostic(
        rule.code, finding.message, place, finding.notes, finding.cure, finding.severity, fix
    )


def _from_root(fix: Fix, base: tuple[str, ...]) -> Fix:
    if not base:
        return fix
    edits = tuple(Edit(e.op, (*base, *e.path), e.value) for e in fix.edits)
    return Fix(edits, fix.safe)


def in_order(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """By file, line and column, each finding once; those without a place first."""
    return sorted(dict.fromkeys(found), key=_order)


def _order(item: Diagnostic) -> tuple[str, int, int, str]:
    place = item.place
    if place is None:
        return "", 0, 0, item.code
    return place.file or "", place.line, place.column, item.code


# What composing would refuse


def refusals(stack: StackView) -> Iterator[Diagnostic]:
    """What composing would refuse without the function's values: names, positions, axes."""
    if not stack.known and stack.base is None:
        return
    recipe = Recipe(
        stack.stack,
        stack.static,
        mesh=stack.mesh or None,
        static_places={n: stack.static_place or stack.places.get(n) for n in stack.static},
    )
    yield from _said(lambda: check_static(recipe, stack.signature))
    yield from _said(lambda: check_max_traces(recipe))
    for view in stack.layers:
        told = list(_said(lambda view=view: view.transform.signature(view.signature)))  # type: ignore[misc]  # bound at once
        yield from told or _said(lambda view=view: view.transform.validate(view.context))  # type: ignore[misc]  # bound at once
        if told:
            return


def _said(check: Callable[[], object]) -> tuple[Diagnostic, ...]:
    try:
        check()
    except ComposeError as error:
        return error.diagnostics
    return ()


# Stacks


def stacks_of(pipeline: Pipeline) -> Iterator[tuple[StackView, Diagnostic | None]]:
    """The pipeline's stack and those of its sub-pipelines, and what is wrong with a function."""
    facts, base, missing = _function(pipeline, pipeline.function, ("function",))
    places = {name: _place(pipeline, "args", name) for name in pipeline.sources}
    yield (
        StackView(
            pipeline.stack,
            pipeline.title,
            facts,
            base,
            pipeline.output,
            pipeline.constants,
            pipeline.sources,
            pipeline.mesh,
            pipeline.run,
            pipeline.folder,
            _place(pipeline, "function"),
            _place(pipeline, "static"),
            {name: place for name, place in places.items() if place is not None},
        ),
        missing,
    )
    for name, source in pipeline.sources.items():
        if isinstance(source, SubPipeline):
            yield _sub_stack(pipeline, name, source)


def _sub_stack(
    pipeline: Pipeline, name: str, source: SubPipeline
) -> tuple[StackView, Diagnostic | None]:
    path = ("args", name)
    facts, base, missing = _function(pipeline, source.function, (*path, "function"))
    output = Output() if source.returns is None else output_from_names(source.returns)
    view = StackView(
        source.stack,
        facts.name if facts is not None else name,
        facts,
        base,
        output,
        source.static,
        folder=pipeline.folder,
        run=pipeline.run,
        place=_place(pipeline, *path, "function"),
        static_place=_place(pipeline, *path, "static"),
        path=path,
    )
    return view, missing


def _function(
    pipeline: Pipeline, function: str | Call, path: tuple[str, ...]
) -> tuple[Facts | None, Signature | None, Diagnostic | None]:
    """What is known of a function, and a diagnostic if it certainly does not exist."""
    if isinstance(function, Call):
        _, missing = _found(function.call, pipeline, (*path, "call"))
        return None, None, missing
    if pipeline.functions is not None:
        known = pipeline.functions.get(function)
        if known is None:
            return None, None, None
        return facts_of_callable(known), signature_of(known, pipeline.output), None
    facts, missing = _found(function, pipeline, path)
    return facts, None, missing


def _found(
    reference: str, pipeline: Pipeline, path: tuple[str, ...]
) -> tuple[Facts | None, Diagnostic | None]:
    found = find_facts(reference, pipeline.folder)
    if isinstance(found, NotFound):
        place = _place(pipeline, *path)
        return None, Diagnostic("CMP069", found.message, place, found.notes, found.cure)
    return found, None


def _place(pipeline: Pipeline, *path: str) -> Place | None:
    document = pipeline.document
    return document.place(*path) if document is not None and path in document.places else None


def stack_around(
    function: Callable[..., Any] | None, recipe: Recipe, folder: Path | None = None
) -> StackView:
    """Layers that were put together in Python, around a function if there is one."""
    known = signature_of(function, recipe.output) if function is not None else None
    mesh = recipe.mesh
    sizes = {} if mesh is None else mesh if isinstance(mesh, Mapping) else dict(mesh.shape)
    return StackView(
        recipe.layers,
        known.title if known is not None else "the function",
        facts_of_callable(function) if function is not None else None,
        known,
        recipe.output,
        recipe.static,
        mesh=sizes,
        folder=folder,
    )


def as_diagnostics(error: ComposerError) -> tuple[Diagnostic, ...]:
    """What an error says, to be listed among other findings."""
    return tuple(replace(item, severity="error") for item in error.diagnostics)
