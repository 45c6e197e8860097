# Sizes of flows in a data centre for Web search: bytes, and the share of flows of at most this size.
# Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, as points of the curve that the
# evaluation of "pFabric", SIGCOMM 2013, uses: 6 to 20000 packets of 1460 bytes.
8760 0.15
18980 0.2
27740 0.3
48180 0.4
77380 0.53
194180 0.6
973820 0.7
1946180 0.8
4866180 0.9
9733820 0.97
29200000 1
