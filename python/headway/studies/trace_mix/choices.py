"""What sections 3.3.3 and 6.4.5 of the thesis leave open, and was chosen here."""

from __future__ import annotations

UPLOADS = (
    "Three of the 1007 connections are uploads: each sends one request of 12,424,783 bytes and gets "
    "no response. By default they are left out, as is every connection with a request of more than "
    "1 MB. This was decided before any run without them. Reasons: (1) the thesis prints a mean "
    "request of 1 kB; the mean is 12.5 kB with the three uploads and 0.5 kB without. (2) The thesis "
    "sets the load of the downlink only. With the uploads the uplink has the same load as the "
    "downlink, and acknowledgements wait behind them. (3) The three uploads have the same size, so "
    "the file does not show how often such an upload occurs; drawn with replacement they would "
    "repeat hundreds of times in three hours. They have no response, so the distribution of the "
    "responses is the same with and without them. Both forms are run and compared."
)

VECTORS = (
    "The traces are public, but not in this repository; vectors are drawn from what the thesis "
    "prints of them. Responses: log-normal with a mean of 14 kB of which 25 % exceed 3 MSS, up to "
    "10 MB; this alone has the tail of 1.1 that the thesis reports. Requests: log-normal, mean "
    "1 kB, 1 % above 3 MSS.",
    "Exchanges per connection: geometric with mean 3; think times: log-normal, median 0.6 s, sigma "
    "1.5, cut off at 30 s. The thesis' only example has three exchanges and think times of 0.12 "
    "and 3.12 s; both were set before any result was seen. Slow start's loss at 35 % load, 3.8 %, "
    "would be 3.6, 3.4 and 2.6 % with 1, 10 and 30 exchanges, and 4.0 and 3.9 % with median think "
    "times of 0.1 and 3 s (one hour each).",
    "Server delays: the inverse of a Weibull variable with shape 0.63 and scale 305 Hz, at most "
    "0.1 s, median 6 ms: PackMime-HTTP's (Cao et al., INFOCOM 2004), of Web traffic and partly of "
    "the campus whose traces the thesis replays. The thesis prints none, and names log-normal and "
    "Pareto response times of servers (3.3.3.2). They were chosen before any result with them was "
    "seen. Without delays the verdicts of trace-mix are the same; with delays twice as long "
    "C-TH-184 and 193 hold, barely, and the others stay.",
    "Each vector has a TCP connection of its own: that is what a connection vector is (section "
    "3.3.3.1), and persistent connections are a simplification of 6.4.3.1. With those C-TH-186 "
    "holds (1.0 %), and the other verdicts of trace-mix stay.",
    "An epoch is what section 6.4.5.1 defines: the transfers of request and response and the "
    "server's delay between them, from when the client hands the request to TCP to the response's "
    "last byte. No handshake is part of it.",
    "Where a connection opens, either end knows its first message and may ask for a rate in the "
    "handshake (section 5.1.1.4, figure 5.6); for later messages it asks with data. Section 6.4.5 "
    "does not say. A grant of the handshake is not used after a round trip. Where every request "
    "goes with data C-TH-184 and 193 hold (45 of 111 ms; 2.6 % longer at 50 % load), and the other "
    "verdicts of trace-mix stay.",
    "A denied request leads back to the window before it (sections 4.5.3.1 and 6.4.5.2).",
)

CHOICES = (
    *VECTORS,
    "Loads other than 6 and 35 % are not printed; 15, 50 and 65 % are taken.",
    "The thesis' 5 % quantile is the value that 5 % exceed.",
    "C-TH-182 to 184 look at the mean over all responses of 10 kB and more.",
    "XCP and RCP have the queue of 50 packets that section 6.4.5.1 prints for all, though the "
    "thesis gives them one without end elsewhere and says that nobody has specified what they do "
    "about a loss; at 35 % load they are run with one without end, too. They are as in the study "
    "convergence.",
)
