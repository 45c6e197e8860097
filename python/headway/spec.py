"""Base of all typed descriptions: frozen models, one-line errors, and quantities with units.

A quantity is written with its unit ("50 ms") and kept as an integer (nanoseconds). Type checkers
must know both: a field of type ``Time`` accepts text and returns an int.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeVar, get_args, overload

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from headway import units
from headway.engine import engine
from headway.errors import ExperimentError
from headway.registry import unknown

__all__ = [
    "Length",
    "MaybeLength",
    "MaybeMemory",
    "MaybeRate",
    "MaybeSize",
    "MaybeTime",
    "PositiveSize",
    "Probability",
    "Rate",
    "Size",
    "Spec",
    "Time",
]

MAX_BYTES = engine.MAX_BYTES

Kept = TypeVar("Kept")
Written = TypeVar("Written")

if TYPE_CHECKING:

    class Given(Generic[Kept, Written]):
        """A field whose constructor accepts type ``Written`` and whose value has type ``Kept``.

        Type checkers take the constructor's types from ``__set__``. mypy resolves the name Written
        in the module that declares the field, so modules with such fields import Written.
        """

        @overload
        def __get__(self, instance: None, owner: Any) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: Any) -> Kept: ...
        def __get__(self, instance: object, owner: Any) -> Any: ...
        def __set__(self, instance: object, value: Written) -> None: ...

    Rate = Given[int, str]
    """Bits per second, written "1 Mbit/s"."""
    MaybeRate = Given[int | None, str | None]
    """A ``Rate``, or None."""
    Time = Given[int, str]
    """Nanoseconds, written "50 ms"."""
    MaybeTime = Given[int | None, str | None]
    """A ``Time``, or None."""
    Length = Given[int, str]
    """Nanoseconds, more than 0, written "60 s"."""
    MaybeLength = Given[int | None, str | None]
    """A ``Length``, or None."""
    Size = Given[int, str]
    """Bytes, written "60000 B"."""
    PositiveSize = Given[int, str]
    """Bytes, more than 0, written "1 MB"."""
    MaybeSize = Given[int | None, str | None]
    """A ``PositiveSize``, or None."""
    MaybeMemory = Given[tuple[int, int, int] | None, str | Sequence[str] | None]
    """Minimum, default and maximum in bytes, written "4KiB/128KiB/6MiB" or as a list; or None."""
    Probability = Given[float, float | str]
    """A probability from 0 to less than 1; written 0.01 or "1%"."""
else:

    class Given:
        """At run time, a field's annotation is the type of the value; validators convert input."""

        def __class_getitem__(cls, kept_and_written):
            return kept_and_written[0]


def default(value: object) -> Any:
    """The default of a field; it has the type of the field's value, for example ns and not text."""
    return value


def default_made_by(make: Callable[[], object]) -> Any:
    """The default of a field, which calls ``make`` for each instance."""
    return Field(default_factory=make)


def within(least: int, most: int, show: Callable[[int], str], allowed: str = "") -> AfterValidator:
    """A validator that rejects numbers outside [least, most]; its error shows units.

    None is accepted.
    """

    def check(value: int | None) -> int | None:
        if value is not None and not least <= value <= most:
            range_shown = allowed or f"{show(least)} to {show(most)}"
            raise ValueError(f"{show(value)} is not allowed; {range_shown}")
        return value

    return AfterValidator(check)


if not TYPE_CHECKING:
    _RATE = within(1, engine.MAX_RATE_BPS, units.format_rate, "1 bit/s to 10 Tbit/s")
    _TIME = within(0, engine.MAX_TIME_NS, units.format_time, "at most 10 years")
    _SIZE = within(0, MAX_BYTES, units.format_size, "at most 1 PiB")

    Rate = Annotated[
        int, BeforeValidator(units.parse_rate), _RATE, PlainSerializer(units.format_rate)
    ]
    Time = Annotated[
        int, BeforeValidator(units.parse_time), _TIME, PlainSerializer(units.format_time)
    ]
    Length = Annotated[
        int, BeforeValidator(units.parse_positive_time), _TIME, PlainSerializer(units.format_time)
    ]
    Size = Annotated[
        int, BeforeValidator(units.parse_size), _SIZE, PlainSerializer(units.format_size)
    ]
    PositiveSize = Annotated[
        int, BeforeValidator(units.parse_positive_size), _SIZE, PlainSerializer(units.format_size)
    ]
    Probability = Annotated[float, BeforeValidator(units.parse_probability)]
    MaybeRate, MaybeTime, MaybeLength = Rate | None, Time | None, Length | None
    MaybeSize = PositiveSize | None
    MaybeMemory = (
        Annotated[
            tuple[int, int, int],
            BeforeValidator(units.parse_memory),
            PlainSerializer(units.format_memory),
        ]
        | None
    )


class Spec(BaseModel):
    """Base class: frozen, and with ExperimentError for invalid fields.

    The error is one line with the field, the value and what is allowed. Unknown fields are errors.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _has_no_other_fields(cls, value: Any) -> Any:
        if isinstance(value, dict):
            known = cls.model_fields
            for name, part in value.items():
                if name not in known:
                    hint = unknown("", str(name), known).partition("; ")[2]
                    raise field_error(name, f"no such field; {hint}")
                if name in _UNIONS and isinstance(part, dict) and "kind" not in part:
                    members = get_args(known[name].annotation)
                    kinds = (member.model_fields["kind"].default for member in members)
                    allowed = f"is missing; allowed: {', '.join(kinds)}"
                    raise field_error(f"{name}.kind", allowed)
        return value

    if not TYPE_CHECKING:  # hidden from type checkers, which derive the signature from the fields

        def __init__(self, /, **data):
            try:
                super().__init__(**data)
            except (ValidationError, UnicodeError) as error:
                raise _experiment_error(error) from None

        # Without this mark, pydantic would call __init__ for nested models, too, and error messages
        # would lose the fields' locations.
        __init__.__pydantic_base_init__ = True

        def __setattr__(self, name, value):
            try:
                super().__setattr__(name, value)
            except ValidationError:
                class_name = type(self).__name__
                raise ExperimentError(
                    f"{name}: {class_name} cannot be changed; make another, "
                    "for example with model_copy(update=...)"
                ) from None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Build the model from text or from a mapping of fields. Raises ExperimentError."""
        try:
            return super().model_validate(obj, **options)
        except (ValidationError, UnicodeError) as error:
            raise _experiment_error(error) from None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Build the model from JSON as of ``model_dump_json``. Raises ExperimentError."""
        try:
            return super().model_validate_json(json_data, **options)
        except (ValidationError, UnicodeError) as error:
            raise _experiment_error(error) from None


def field_error(name: object, what: str) -> PydanticCustomError:
    """An error of a model's validator that concerns the field ``name`` of the model."""
    return PydanticCustomError("of_a_field", "{what}", {"name": str(name), "what": what})


def _experiment_error(error: ValidationError | UnicodeError) -> ExperimentError:
    if isinstance(error, ValidationError):
        return ExperimentError(explain(error))
    return ExperimentError(f"it contains invalid text: {error}")


_UNIONS = ("topology", "app", "vectors", "vary")
"""Fields whose value is one of several models; the model's field ``kind`` tells which one."""
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
    "too_short": ("min_length", "at least"),
    "too_long": ("max_length", "at most"),
}
_LONGEST_SHOWN = 60


def explain(error: ValidationError) -> str:
    """The first error as one line: the field, the value, what is allowed."""
    first = error.errors(include_url=False)[0]
    kind, context = first["type"], first.get("ctx", {})
    where = _where(first["loc"])
    if kind == "value_error":
        what = str(context["error"])
    elif kind == "of_a_field":
        where, what = _where((*first["loc"], context["name"])), context["what"]
    elif kind == "missing":
        what = "is missing; it has to be given"
    elif kind == "extra_forbidden":
        what = "no such field"
    elif kind == "union_tag_invalid":
        what = f"unknown kind {context['tag']!r}; allowed: {context['expected_tags']}"
    else:
        what = f"{_as_written(first['input'])} is not allowed; {_allowed(first, context)}"
    return " ".join((f"{where}: {what}" if where else what).split())


def _where(location: tuple[int | str, ...]) -> str:
    """A field's location such as flows[0].app.size.

    It omits the element that pydantic adds for the kind of a union.
    """
    text, of_union = "", False
    for part in location:
        if of_union and isinstance(part, str):
            of_union = False
        elif isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
            of_union = part in _UNIONS
    return text


def shorten(text: str) -> str:
    """``text`` cut to 60 characters for use in a message."""
    text = text.strip()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def _as_written(value: object) -> str:
    try:
        return shorten(repr(value))
    except ValueError:  # raised for an integer with more digits than Python prints
        return f"{type(value).__name__} of very many digits"


def _allowed(first: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    if first["type"] in _BOUNDS:
        name, words = _BOUNDS[first["type"]]
        return f"{words} {context[name]}" + (" of them" if "length" in name else "")
    if first["type"] in ("model_attributes_type", "model_type"):
        return "fields by name"
    if first["type"] == "literal_error":
        return f"one of {context['expected']}"
    message = str(first["msg"])
    return message.removeprefix("Input should be ")
