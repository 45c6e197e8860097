"""The engine, ``headway._engine``. Importing this raises HeadwayError if it was not built."""

from headway.errors import HeadwayError

try:
    from headway import _engine as engine
except ImportError as error:
    raise HeadwayError(f"the engine is not built ({error}); run `make build`") from None

__all__ = ["engine"]
