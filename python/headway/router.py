"""The field that lets routers of an experiment answer Quick-Start requests (RFC 4782)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from headway.registry import check_tunables, options_of_text, registry
from headway.spec import Given


def _quick_start(value: Any) -> Any:
    """Tunables of a Quick-Start router by name, from fields, text or True; None for off."""
    if value is None or value in (False, "off"):
        return None
    if value in (True, "on"):
        value = {}
    if isinstance(value, str):
        value = options_of_text(value.split(":"))
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not allowed; must be on, off or tunables of quick-start")
    return check_tunables([registry().router("quick-start")], value)


if TYPE_CHECKING:
    QuickStart = Given[
        dict[str, int] | None, dict[str, int | str] | dict[str, int] | str | bool | None
    ]
else:
    QuickStart = Annotated[dict[str, int] | None, BeforeValidator(_quick_start)]
"""Whether a link's router answers Quick-Start requests (RFC 4782), and its tunables.

Written True or "on", {"algorithm": "fair", "interval_ms": 200} or "algorithm=fair:interval_ms=200".
None or "off" is a router without Quick-Start; it does not change the Quick-Start TTL, by which
senders notice it.
`headway describe quick-start` lists the tunables.
"""
