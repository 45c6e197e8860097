"""What the thesis leaves open of single transfers, what we chose, and what else we tried."""

CHOICES = (
    "Hosts have the thesis' receive buffers (8 MiB). With a fast startup they also announce "
    "625,000 bytes from the start, which is 10 Mbit/s over 500 ms, as section 5.2.3 proposes. A "
    "receive window that opens from four segments would limit the round trips after the first. "
    "Ignoring the window in the first round trip only (section 5.2.4) costs up to 70 ms at 200 ms.",
    "The equations assume no loss. With the thesis' queue of 1000 packets some transfers of 5 MB "
    "and more end slow start in a full queue. A queue of 10,000 packets avoids this. Table 6.1 and "
    "C-TH-119 are judged with the queue of 10,000 packets, all other statements with the thesis' "
    "1000 packets.",
    "Sizes range from 1 kB to 10 MB. The thesis says only that they span several orders of "
    "magnitude. C-TH-122 fails because of the sizes above 3.4 MB.",
    "Linux 2.6.24 starts with 3 packets (C-TH-123). Section 6.4.2.1 says only that 2.6.18 alone "
    "starts with 2.",
    "First flights (C-TH-015, 042, 289) are counted where they arrive at a link of 100 Mbit/s, "
    "which does not delay them. The first flights of C-TH-018 leave in one burst, so that a queue "
    "of 10 to 40 packets drops some of their packets. The application of C-TH-276 writes 320 "
    "Mbit/s for all sizes of its writes. All of the data is echoed.",
    "The thesis does not print the transfer size of figure 6.40. We chose 1 MB to match the text: "
    "slow start takes about 2 s for it. C-TH-136 therefore cannot confirm this time. From 100 kB "
    "to 3 MB at 1 Gbit/s Quick-Start's speedups are 6.0 to 9.3, requests of 5.12 Mbit/s save 0.8 "
    "to 1.1 s, Jump-Start saves 0.7 to 0.9 s, and slow start takes 1.2 to 2.2 s. There QS-b is "
    "slower than slow start from 1.5 MB on (by 0.2 s), with 1 MB only at 5 Mbit/s (C-TH-140).",
    "Figure 6.41 (C-TH-142, 143) was measured on a path through a research network: about "
    "1 Gbit/s, 233 ms, hardly any other traffic. The thesis prints neither its buffers nor the "
    "size of the transfer. Here the bottleneck has the thesis' default of 50 packets. Hosts have "
    "its buffers of 8 MiB and announce them from the start. Requests are early, the router grants "
    "every rate that can be requested, including 1.31 Gbit/s, and transfers have 0.1, 1 and 10 MB. "
    "C-TH-142 fails because of the transfer of 10 MB. With queues of 200, 1000 and 2000 packets "
    "slow start loses less: the largest speedups are 5.9 to 8.7 at every size, and 1.2 to 3.7 s "
    "are saved. These are simulations, because the kernel's testbed is accurate only up to 200 "
    "Mbit/s.",
)
