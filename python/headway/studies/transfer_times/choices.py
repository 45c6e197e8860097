"""What the thesis leaves open of single transfers, what was taken, and what else was tried."""

CHOICES = (
    "Hosts have the thesis' receive buffers (8 MiB). With a fast startup they also announce "
    "625,000 bytes from the start, 10 Mbit/s over 500 ms as section 5.2.3 proposes: a receive "
    "window that opens from four segments would hold back the round trips after the first. "
    "Ignoring the window in the first round trip only (section 5.2.4) costs up to 70 ms at 200 ms.",
    "The equations know no loss. With the thesis' queue of 1000 packets some transfers of 5 MB "
    "and more end slow start in a full queue; a queue of 10,000 shows the equations alone. Table "
    "6.1 and C-TH-119 are judged on that one, everything else on the thesis' 1000 packets.",
    "Sizes from 1 kB to 10 MB: the thesis says only that they span several orders of magnitude. "
    "C-TH-122 fails because of those above 3.4 MB.",
    "Linux 2.6.24 starts with 3 packets (C-TH-123): section 6.4.2.1 says only that 2.6.18 alone "
    "starts with 2.",
    "First flights (C-TH-015, 042, 289) are counted where they arrive at a link of 100 Mbit/s, "
    "which never makes them wait; those of C-TH-018 leave in one burst, so that a queue of 10 to "
    "40 packets drops some. The application of C-TH-276 writes 320 Mbit/s whatever the size of "
    "its writes, all of which are echoed.",
    "Figure 6.40 does not say how large its transfer is. 1 MB was chosen with the text in view: "
    "slow start needs about 2 s for it, which C-TH-136 therefore cannot show. From 100 kB to 3 MB "
    "at 1 Gbit/s Quick-Start's speedups are 6.0 to 9.3, requests of 5.12 Mbit/s save 0.8 to 1.1 s, "
    "Jump-Start saves 0.7 to 0.9 s, and slow start takes 1.2 to 2.2 s. QS-b is slower than slow "
    "start there from 1.5 MB on (by 0.2 s), with 1 MB only at 5 Mbit/s (C-TH-140).",
    "Figure 6.41 (C-TH-142, 143) was measured on a path through a research network: about "
    "1 Gbit/s, 233 ms, hardly any other traffic. Its buffers, and what was transferred, are not "
    "printed. Here the bottleneck has the thesis' default of 50 packets, hosts have its 8 MiB and "
    "announce them from the start, requests are early, a router grants every rate that can be "
    "asked for, also 1.31 Gbit/s, and 0.1, 1 and 10 MB are transferred. C-TH-142 fails because "
    "of 10 MB. With queues of 200, 1000 and 2000 packets the largest speedups are 5.9 to 8.7 at "
    "every size, and 1.2 to 3.7 s are saved, because slow start then loses less. These are "
    "simulations: the kernel's testbed is accurate only up to 200 Mbit/s.",
)
