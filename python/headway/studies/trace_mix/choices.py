"""What sections 3.3.3 and 6.4.5 of the thesis leave open, and was chosen here."""

from __future__ import annotations

CHOICES = (
    "The traces are public, but not in this repository; vectors are drawn from what the thesis "
    "prints of them. Responses: log-normal with a mean of 14 kB of which 25 % exceed 3 MSS, up to "
    "10 MB; this alone has the tail of 1.1 that the thesis reports. Requests: log-normal, mean "
    "1 kB, 1 % above 3 MSS. Exchanges per connection: geometric with mean 3; think times: "
    "log-normal, median 0.6 s, sigma 1.5, cut off at 30 s. The last two are not in the thesis; its "
    "only example has three exchanges and think times of 0.12 and 3.12 s. These two were set "
    "before any result was seen.",
    "Loads other than 6 and 35 % are not printed; 15, 50 and 65 % are taken.",
    "The thesis' 5 % quantile is the value that 5 % exceed.",
    "Each vector has a TCP connection of its own: that is what a connection vector is (section "
    "3.3.3.1), and persistent connections are a simplification of 6.4.3.1. docs/thesis-claims.md "
    "says which verdicts depend on it.",
    "An epoch lasts from the request to the response's last byte, and a connection's first from "
    "when the client opens it: the delays of about 3 s that section 6.4.5.2 lays to timeouts are "
    "those of a lost SYN, as no other timeout of that stack is near 3 s. Only C-TH-177 depends on "
    "it.",
    "Quick-Start asks with data, not in the handshake: the threshold needs the response's size "
    "(section 5.1.1.3). Section 6.4.5 does not say.",
)
