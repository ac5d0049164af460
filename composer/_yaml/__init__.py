"""Pipeline text to plain data with a place on every node, and back to small, portable YAML.

The language is a part of YAML that every reader of YAML 1.1, YAML 1.2 and JSON-in-YAML
takes alike; everything else is refused with a code, a place and a cure.
"""

from composer._yaml.document import Document, Path, Places
from composer._yaml.reader import parse, read
from composer._yaml.writer import dump

__all__ = ["Document", "Path", "Places", "dump", "parse", "read"]
