"""Griffe extension: the signature of a typed description (headway.spec.Spec) has its fields."""

from __future__ import annotations

from typing import Any

from griffe import (
    Class,
    Expr,
    ExprCall,
    ExprKeyword,
    ExprSubscript,
    Extension,
    Function,
    Module,
    Parameter,
    ParameterKind,
    Parameters,
)


class Models(Extension):
    """Gives every Spec an ``__init__`` of its fields, as pydantic does at run time."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Changes all classes of a package once all its modules are loaded."""
        self._visit(pkg)

    def _visit(self, holder: Module | Class) -> None:
        for member in holder.members.values():
            if isinstance(member, Class) and any(
                base.path == "headway.spec.Spec" for base in member.mro()
            ):
                self._give_signature(member)
            if not member.is_alias and isinstance(member, Module | Class):
                self._visit(member)

    def _give_signature(self, model: Class) -> None:
        parameters = []
        for owner in (*reversed(model.mro()), model):
            for name, field in owner.attributes.items():
                if "instance-attribute" in field.labels and field.annotation is not None:
                    parameters = [one for one in parameters if one.name != name]
                    parameters.append(
                        Parameter(
                            name,
                            annotation=_written(field.annotation),
                            kind=ParameterKind.keyword_only,
                            default=_default(field.value),
                        )
                    )
        model.set_member(
            "__init__", Function("__init__", parameters=Parameters(*parameters), parent=model)
        )


def _default(value: str | Expr | None) -> str | Expr | None:
    """A field's default without the functions that tell pydantic; None if it is required."""
    if not isinstance(value, ExprCall):
        return value
    function, arguments = str(value.function), value.arguments
    if function == "default":
        return arguments[0]
    if function == "default_made_by":
        return f"{arguments[0]}()"
    if function == "Field":
        named = {one.name: one.value for one in arguments if isinstance(one, ExprKeyword)}
        return named.get("default")
    return value


def _written(annotation: str | Expr) -> str | Expr:
    """What a field is written as, where it is kept as another type: B of ``Given[A, B]``."""
    if isinstance(annotation, ExprSubscript) and str(annotation.left) == "Given":
        return annotation.slice.elements[1]
    return annotation
