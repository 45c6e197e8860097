"""Claims of the papers that no study of this version judges, and why."""

from __future__ import annotations

LEFT_OUT: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "XCP, RCP and the queues that they make: router-controlled protocols are not here yet.",
        (
            *(f"C-TH-{n:03}" for n in (*range(28, 32), 33, 34, 80, *range(90, 94), 130, 131)),
            *(f"C-TH-{n:03}" for n in (154, 155, 180, 181, 207, 212, 214, 241, 242, 285, 286, 287)),
        ),
    ),
    (
        "The speed of the thesis' own simulator on its machine.",
        ("C-TH-061", "C-TH-062", "C-TH-063", "C-TH-277"),
    ),
    (
        "A Web page of 2009 that was mirrored and not published.",
        tuple(f"C-TH-{n}" for n in range(249, 256)),
    ),
    (
        "A recorded session of a 3D program that was not published.",
        tuple(f"C-TH-{n}" for n in range(256, 263)),
    ),
)
