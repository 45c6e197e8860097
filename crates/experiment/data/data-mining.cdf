# Sizes of flows in a data centre for data mining: bytes, and the share of flows of at most this size.
# Source: Greenberg et al., "VL2", SIGCOMM 2009, as points of the curve that the evaluation of
# "pFabric", SIGCOMM 2013, uses: 1 to 666667 packets of 1460 bytes.
1460 0.5
2920 0.6
4380 0.7
10220 0.8
389820 0.9
3076220 0.95
97333820 0.99
973333820 1
