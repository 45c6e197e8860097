"""Conditions on combinations of values: expressions in Python's syntax, without its functions.

    rtt <= "100 ms" and not (rate == "1 Gbit/s" and "bbr" in flows)

A name is a field of the experiment. A quantity is a number in bit/s, seconds or bytes, so
``rate * rtt / 8 > 1e6`` compares the bandwidth-delay product in bytes. Expressions are
interpreted here; nothing is compiled or executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from headway.errors import ExperimentError
from headway.registry import unknown
from headway.spec import shorten
from headway.sweep.values import quantity

_LONGEST = 2000
_DEEPEST = 50
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many, ast.NotIn: lambda one, many: one not in many,
}  # fmt: skip
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}  # fmt: skip
_CALLS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}


class Condition:
    """One condition, whose names are fields that have values."""

    def __init__(self, text: str, known: Mapping[str, object]) -> None:
        """Raises ExperimentError for an expression that is not allowed.

        ``known`` has an example value of each field.
        """
        self._text = text
        try:
            if len(text) > _LONGEST:
                raise ValueError(f"is longer than {_LONGEST} characters")
            self._tree = ast.parse(text.strip(), mode="eval").body
            _check(self._tree, known, 0)
        except SyntaxError as error:
            raise self._error(f"is not an expression ({error.msg})") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise self._error(str(error)) from None

    def holds(self, values: Mapping[str, object]) -> bool:
        """Whether the condition holds for these values of fields."""
        try:
            return bool(_value(self._tree, values))
        except (TypeError, ArithmeticError, ValueError) as error:
            raise self._error(f"cannot be evaluated: {error}") from None

    def _error(self, what: str) -> ExperimentError:
        return ExperimentError(f"where: {shorten(repr(self._text))} {what}")


def _name(node: ast.expr) -> str | None:
    """The field that a name such as ``rate`` or ``flows[0].delay`` means."""
    if isinstance(node, ast.Name | ast.Attribute) or (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    ):
        return ast.unparse(node)
    return None


def _check(node: ast.expr, known: Mapping[str, object], depth: int) -> None:
    """Raise ValueError for a part that is not allowed, or a name that is not known."""
    if depth > _DEEPEST:
        raise ValueError(f"has more than {_DEEPEST} levels")
    if (name := _name(node)) is not None:
        if name not in known:
            raise ValueError(unknown("field", name, list(known)))
        return
    parts = _parts(node)
    if parts is None:
        raise ValueError(
            f"has {shorten(ast.unparse(node))!r}, which is not allowed; use fields, numbers, "
            "texts, and, or, not, in, comparisons, + - * / %, min, max and abs"
        )
    for part in parts:
        _check(part, known, depth + 1)


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """The parts of an expression of an allowed kind; None for others."""
    parts: list[ast.expr] | None = None
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool):
        parts = []
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.List | ast.Tuple):
        parts = node.elts
    elif isinstance(node, ast.Call) and not node.keywords and isinstance(node.func, ast.Name):
        parts = node.args if node.func.id in _CALLS else None
    return parts


def _number_or_text(value: object) -> Any:
    """A value for comparisons: quantities of one kind compare by their amount."""
    found = quantity(value)
    if found is None:
        return value
    return (found.unit, found.amount) if found.unit in ("pkts", "BDP") else found.amount


def _value(node: ast.expr, values: Mapping[str, object]) -> Any:
    if (name := _name(node)) is not None:
        return _number_or_text(values[name])
    if isinstance(node, ast.Constant):
        return _number_or_text(node.value)
    if isinstance(node, ast.BoolOp):
        return _all_or_any(node, values)
    if isinstance(node, ast.Compare):
        return _comparison(node, values)
    parts = [_value(part, values) for part in _parts(node) or ()]
    if isinstance(node, ast.UnaryOp):
        found: Any = not parts[0] if isinstance(node.op, ast.Not) else -parts[0]
    elif isinstance(node, ast.BinOp):
        for side in parts:
            if not isinstance(side, int | float):
                raise TypeError(f"{side!r} is not a number")
        found = _ARITHMETIC[type(node.op)](*parts)
    elif isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        found = _CALLS[node.func.id](*parts)
    else:  # a list
        found = parts
    return found


def _all_or_any(node: ast.BoolOp, values: Mapping[str, object]) -> bool:
    check = all if isinstance(node.op, ast.And) else any
    return check(_value(part, values) for part in node.values)


def _comparison(node: ast.Compare, values: Mapping[str, object]) -> bool:
    left = _value(node.left, values)
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = _value(part, values)
        pair = (left, right)
        if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and any(
            isinstance(side, tuple) and (type(other) is not tuple or side[0] != other[0])
            for side, other in (pair, pair[::-1])
        ):
            raise TypeError("packets, BDP and bytes cannot be compared")
        if not _COMPARE[type(op)](left, right):
            return False
        left = right
    return True
