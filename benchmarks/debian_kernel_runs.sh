# Sourced by debian_kernel_init.sh in the guest of debian_kernel.py: sends with each control, and prints
# iperf3's results. Settings: CONTROLS, SECONDS_EACH, RATE_MBIT, RTT_MS, QUEUE_PKTS.
# 14 bytes of Ethernet do not count: the rate is that of IP packets
tc qdisc add dev r1 root netem limit "$QUEUE_PKTS" rate "${RATE_MBIT}mbit" -14
tc qdisc add dev r0 root netem limit 1000000 delay "${RTT_MS}ms"

for control in $CONTROLS; do
	before=$(segments)
	ip netns exec receiver iperf3 --server --one-off --daemon
	sleep 1
	ip netns exec sender iperf3 --client 10.0.2.2 --congestion "$control" \
		--time "$SECONDS_EACH" --interval 0.1 --json >/tmp/report 2>&1
	echo "SEGMENTS $control $before $(segments)"
	echo "BEGIN $control"
	gzip -c /tmp/report | base64
	echo "END $control"
	sleep 5
done
