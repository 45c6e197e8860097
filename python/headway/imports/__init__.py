"""Imports measurements made elsewhere as traces, compares them with simulations, and fits paths.

    trace = import_file(Path("transfer.pcap"))
    fitted = fit(trace, control="cubic")

``headway.imports.build`` makes the trace, one module per format reads its files.
"""

from headway.imports.compare import compared
from headway.imports.files import FORMATS, import_file, load
from headway.imports.fit import Fit, fit

__all__ = ["FORMATS", "Fit", "compared", "fit", "import_file", "load"]
