"""What sections 3.3.3 and 6.4.5 of the thesis leave open, and what was chosen here."""

from __future__ import annotations

UPLOADS = (
    "Three of the 1007 connections are uploads: each sends one request of 12,424,783 bytes and "
    "gets no response. By default they are left out, as is every connection with a request of "
    "more than 1 MB. This was decided before any run without them. Reasons: (1) the thesis prints"
    " a mean request of 1 kB; the mean is 15 kB with the three uploads and 0.6 kB without. (2) "
    "The thesis sets the load of the downlink only. With the uploads the uplink has the same load"
    " as the downlink, and acknowledgements wait behind them. (3) The three uploads have the same"
    " size, so the file does not show how often such an upload occurs; drawn with replacement "
    "they would repeat hundreds of times in three hours. They have no response, so the "
    "distribution of the responses is the same with and without them. Both forms were run "
    "afterwards. With the uploads Slow-Start's loss at 35 % load is lower, 1.6 instead of 2.3 % "
    "(quick form, seed 1), although more is dropped: 3.1 instead of 2.7 % of the bytes. The "
    "downlink then also carries the uploads' acknowledgements, two fifths of its packets, which "
    "are counted."
)

VECTORS = (
    "The thesis replays traces of a campus from 2008, which are not part of this repository. The "
    "study replays 1004 connections of 2006, in the same form, that were recorded at the border of "
    "the University of North Carolina and are published with the Tmix generator. Each keeps its "
    "messages, their order, its think times and the server's delays. Connections are drawn with "
    "replacement until their responses add up to the load. They start at exponentially distributed "
    "intervals, as section 6.4.5.1 prints. Round-trip times, windows and losses are those of the "
    "study, not those of the recording. The report compares the numbers of the two recordings.",
    UPLOADS,
    "A recorded connection closes when the wait after its last message is over, which may be "
    "minutes later. A run ends two minutes after the last start. Responses that are incomplete by "
    "then count in no mean.",
    "--vectors drawn draws vectors from a model of the recorded ones. --vectors recorded-all "
    "replays the recorded ones with the uploads. --vectors FILE reads a tmix file.",
    "Each vector has its own TCP connection, as section 3.3.3.1 defines connection vectors. "
    "Persistent connections are a simplification of section 6.4.3.1.",
    "An epoch is what section 6.4.5.1 defines: the transfers of request and response and the "
    "server's delay between them. It starts when the client hands the request to TCP and ends with "
    "the response's last byte. The handshake is not included.",
    "When a connection opens, each end knows its first message and may request a rate in the "
    "handshake (section 5.1.1.4, figure 5.6). Later requests for a rate go with data. Section "
    "6.4.5 does not specify this. A grant from the handshake is not used after a round trip.",
    "After a denied request the window is what it was before the request (sections 4.5.3.1 and "
    "6.4.5.2).",
)

CHOICES = (
    *VECTORS,
    "The thesis prints only the loads 6 and 35 %. 15, 50 and 65 % were chosen here.",
    "The thesis' 5 % quantile is the value that 5 % of the epochs exceed.",
    "C-TH-182 to 184 judge the mean over all responses of 10 kB and more.",
    "XCP and RCP have the queue of 50 packets that section 6.4.5.1 prints for all schemes. "
    "Elsewhere the thesis gives them an unlimited queue and says that their reaction to loss is "
    "not specified. At 35 % load they also run with an unlimited queue. Their settings are those "
    "of the study convergence.",
)
