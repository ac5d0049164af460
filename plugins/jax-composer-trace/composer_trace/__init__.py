"""Where the time of wrapping and tracing goes, layer by layer.

>>> import composer, composer_trace
>>> slope = composer.compose(lambda x: x * x, composer.Grad(), plugins=("trace",))
>>> slope(3.0)
Array(6., dtype=float32, weak_type=True)
>>> [(record.kind, record.word) for record in composer_trace.records()]
[('wrap', 'grad'), ('trace', None), ('trace', 'grad')]
"""

from __future__ import annotations

from composer_trace._recorder import Record, Recorder

__all__ = ["Record", "Recorder", "records"]


def records() -> tuple[Record, ...]:
    """What the plugin has seen in this process so far, in the order in which it ended."""
    from composer_trace.plugin import recorder

    return recorder.records()
