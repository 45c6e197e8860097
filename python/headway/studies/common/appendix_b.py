"""Default settings of the thesis' computers, appendix B.2."""

BUFFERS_BYTES = (16_384, 8_388_608, 16_777_216)
"""tcp_rmem and tcp_wmem: minimum, initial and maximum size of a socket's buffer."""
