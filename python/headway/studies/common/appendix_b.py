"""How the thesis' computers were set up where nothing else is said: appendix B.2."""

BUFFERS_BYTES = (16_384, 8_388_608, 16_777_216)
"""tcp_rmem and tcp_wmem: least, initial and largest size of a socket's buffer."""
