"""A study's texts as data: ``study.toml`` has them, and decorated functions judge the claims.

The file lies in the folder of the study's package. Line breaks in a text count as spaces.
``Claims`` joins each ``[[claim]]`` with the function that judges it; a claim with ``why_not`` has
none. If a study also has a version that runs on the kernel, ``[kernel]`` describes that version
with the same fields.

The evidence that refutes a claim, and the changes with which it holds, are data as well, unless
code computes them: ``spoil = ["scaled", "fast-*", 2.0, "mean_s"]`` calls the function of that name
in claims/spoil.py, and a list of such lists calls several one after the other.
"""

from __future__ import annotations

import functools
import importlib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from headway.claims.spoil import Spoil, all_of, replaced, scaled, swapped
from headway.claims.statement import Carrier, Found, Seen, Statement
from headway.claims.why import Change, Kind, Why, edited
from headway.errors import HeadwayError
from headway.spec import explain

FILE = "study.toml"
Look = TypeVar("Look", bound=Callable[[Any], Seen])
Spoils = Spoil | Sequence[Spoil] | None
"""One spoil, several that are applied one after the other, or None."""
Text = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]


def _number_or_text(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("only a number or a text is allowed")
    return " ".join(value.split()) if isinstance(value, str) else value


_SPOILS = {one.__name__: one for one in (replaced, scaled, swapped)}


def _spoil(value: object) -> Spoil:
    """``["swapped", "a", "b"]``, or a list of such lists."""
    if isinstance(value, list) and value and all(isinstance(one, list) for one in value):
        return all_of(*map(_spoil, value))
    name, *arguments = value if isinstance(value, list) and value else [value]
    if not isinstance(name, str) or name not in _SPOILS:
        raise ValueError(f"{name!r} is not allowed; one of {', '.join(_SPOILS)}")
    try:
        return _SPOILS[name](*arguments)
    except TypeError as error:
        raise ValueError(str(error)) from None


_Evidence = Annotated[Any, BeforeValidator(_spoil)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ChangeText(_Table):
    """A ``Change`` without functions: ``edit`` is what ``edited`` takes."""

    says: Text
    edit: dict[str, Any] = {}
    keys: str | tuple[str, ...] = "*"
    options: dict[str, str] = {}

    def change(self) -> Change:
        """The change."""
        return Change(
            self.says, edited(self.edit) if self.edit else None, self.keys, options=self.options
        )


class Cause(_Table):
    """The kind of a failure and its reason, as ``Why`` has them."""

    kind: Kind
    reason: Text
    nothing_helps: bool = False
    shown_by: str = ""

    def why(self, tries: Iterable[Change] = ()) -> Why:
        """``why`` with the counterfactual experiments that show it."""
        return Why(**dict(self), tries=tuple(tries))


class ClaimText(_Table):
    """A claim without its functions; the fields are those of ``Statement``.

    ``why`` is a cause, or the name of a cause in ``[why.NAME]`` that several claims share. A try is
    a change, or the name of one in ``[change.NAME]``.
    """

    id: str
    text: Text
    published: Annotated[Any, BeforeValidator(_number_or_text)]
    carrier: Carrier = "trials"
    part: Text = ""
    ours: Text = ""
    same_as: str = ""
    why_not: Text = ""
    unjudged: tuple[str, ...] = ()
    figures: dict[str, Text] = {}
    calibrated: Text = ""
    why: Cause | str | None = None
    spoil: _Evidence = None
    mend: _Evidence = None
    tries: tuple[str | ChangeText, ...] = ()


class Form(_Table):
    """Texts that describe a study, or the study's version for the kernel, and its claims."""

    title: Text = ""
    source: Text = ""
    description: Text = ""
    choices: tuple[Text, ...] = ()
    claim: tuple[ClaimText, ...] = ()


class StudyFile(Form):
    """The content of a ``study.toml``; ``published`` has tables of the paper's numbers."""

    name: str
    title: Text
    source: Text
    why: dict[str, Cause] = {}
    change: dict[str, ChangeText] = {}
    published: dict[str, Any] = {}
    kernel: Form = Form()

    def form(self, name: str) -> Form:
        """The texts of the study itself (name "") or of its version for the kernel ("kernel")."""
        return self.kernel if name == "kernel" else self

    def texts(self, name: str) -> dict[str, Any]:
        """Title, source, description and choices of a version; missing texts are the study's."""
        form, shared = self.form(name), ("title", "source", "description", "choices")
        return {one: getattr(form if one in form.model_fields_set else self, one) for one in shared}


def study_file(module: str) -> StudyFile:
    """Read the ``study.toml`` in a module's folder. Raises HeadwayError naming claim and field."""
    file = importlib.import_module(module).__file__
    assert file is not None
    return _read(Path(file).with_name(FILE))


@functools.cache
def _read(path: Path) -> StudyFile:
    shown = f"{path.parent.name}/{path.name}"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        read = StudyFile.model_validate(data)
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise HeadwayError(f"{shown}: unreadable ({error})") from None
    except ValidationError as error:
        raise HeadwayError(f"{shown}: {_with_ids(explain(error), data)}") from None
    for form in (read, read.kernel):
        ids = [one.id for one in form.claim]
        for one in form.claim:
            if ids.count(one.id) > 1:
                raise HeadwayError(f"{shown}: claim {one.id} is defined twice")
            if isinstance(one.why, str) and one.why not in read.why:
                raise HeadwayError(
                    f"{shown}: claim {one.id}: why: {one.why!r}: this file has no [why.{one.why}]"
                )
            if one.tries and one.why is None:
                raise HeadwayError(f"{shown}: claim {one.id}: has tries, but no why")
            for name in one.tries:
                if isinstance(name, str) and name not in read.change:
                    raise HeadwayError(f"{shown}: claim {one.id}: tries: no [change.{name}]")
    return read


def _with_ids(message: str, data: Mapping[str, Any]) -> str:
    """The message with ``claim[3].text`` written as ``claim C-TH-070: text``."""

    def named(found: re.Match[str]) -> str:
        claims = (data["kernel"] if found[1] else data)["claim"]
        number = int(found[2])
        return f"claim {claims[number].get('id', f'number {number + 1}')}: "

    return re.sub(r"^(kernel\.)?claim\[(\d+)\]\.?", named, message)


@dataclass(frozen=True)
class _Judge:
    look: Callable[[Any], Seen] | None
    spoil: Spoil | None
    mend: Spoil | None
    tries: tuple[Change, ...]


class Claims(Generic[Found]):
    """The claims of a ``study.toml`` and their judges, for ``module`` (``__name__``) of a study.

    ``judge`` decorates the function that judges a claim. ``statements`` returns all claims in the
    order of the file.
    """

    def __init__(self, module: str, form: str = "") -> None:
        self.module = module
        self.file = study_file(module)
        self._texts = {one.id: one for one in self.file.form(form).claim}
        self._judges: dict[str, _Judge] = {}

    def judge(
        self, *ids: str, spoil: Spoils = None, mend: Spoils = None, tries: Sequence[Change] = ()
    ) -> Callable[[Look], Look]:
        """Decorate the function that judges these claims.

        ``spoil`` and ``mend`` are as in Statement, ``tries`` as in Why.
        """

        def named(look: Look) -> Look:
            for one in ids:
                self.add(one, look, spoil=spoil, mend=mend, tries=tries)
            return look

        return named

    def add(
        self,
        claim: str,
        look: Callable[[Found], Seen],
        *,
        spoil: Spoils = None,
        mend: Spoils = None,
        tries: Sequence[Change] = (),
    ) -> None:
        """Set the function that judges a claim, for a function that ``judge`` cannot decorate."""
        text = self._text(claim)
        if text.why_not:
            raise HeadwayError(
                f"{self._at(claim)}: has both a judge and why_not; leave one of them out"
            )
        if claim in self._judges:
            raise HeadwayError(f"{self._at(claim)}: has two judges")
        if tries and text.why is None:
            raise HeadwayError(
                f"{self._at(claim)}: its judge has tries, but {FILE} has no why for the claim"
            )
        for name, own in {"spoil": spoil, "mend": mend}.items():
            if own and getattr(text, name):
                raise HeadwayError(f"{self._at(claim)}: has {name} here and in {FILE}")
        self._judges[claim] = _Judge(look, _one(spoil), _one(mend), tuple(tries))

    def number(self, claim: str) -> float:
        """The published number of a claim. Raises HeadwayError if it is a text."""
        published = self._text(claim).published
        if isinstance(published, str):
            raise HeadwayError(f"{self._at(claim)}: published: {published!r} is not a number")
        return float(published)

    def statements(self) -> tuple[Statement[Found], ...]:
        """All claims in the order of the file.

        Raises HeadwayError for a claim with neither a judge nor ``why_not``.
        """
        for one in self._texts.values():
            if one.id not in self._judges and not one.why_not:
                raise HeadwayError(f"{self._at(one.id)}: needs a judge, or why_not")
        return tuple(map(self._statement, self._texts.values()))

    def _statement(self, text: ClaimText) -> Statement[Found]:
        cause = self.file.why[text.why] if isinstance(text.why, str) else text.why
        judge = self._judges.get(text.id, _Judge(None, None, None, ()))
        named = [self.file.change[one] if isinstance(one, str) else one for one in text.tries]
        tries = (*(one.change() for one in named), *judge.tries)
        functions = {
            "look": judge.look,
            "why": None if cause is None else cause.why(tries),
            "spoil": judge.spoil or text.spoil,
            "mend": judge.mend or text.mend,
        }
        fields = {name: value for name, value in text if name != "tries"}
        return Statement(**{**fields, **functions})

    def _text(self, claim: str) -> ClaimText:
        if claim not in self._texts:
            raise HeadwayError(f"{self._at(claim)}: not in {FILE}")
        return self._texts[claim]

    def _at(self, claim: str) -> str:
        return f"{self.module.removeprefix('headway.studies.')}: claim {claim}"


def _one(spoils: Spoils) -> Spoil | None:
    return spoils if spoils is None or callable(spoils) else all_of(*spoils)
