"""Claims of the papers that no study of this version judges, and why."""

LEFT_OUT: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Measurements by others of XCP on a network processor and of RCP in a kernel, which the "
        "thesis cites for reference. Neither implementation is published.",
        ("C-TH-241", "C-TH-242"),
    ),
    (
        "The speed of the thesis' simulator on its machine.",
        ("C-TH-061", "C-TH-062", "C-TH-063", "C-TH-277"),
    ),
)
