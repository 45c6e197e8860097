# Sourced by debian_kernel_init.sh in the guest of debian_queues.py: sends through each queue, prints the
# queue's counters, and hands the captures over. Settings: WARMUP_S, RUNS; a line of RUNS is one run.

# A packet leaves r1 when its transmission begins: htb has no tokens but those that make up for the
# lateness of timers, and then waits for as long as the packet takes.
LATENESS_US=50
# tcpdump looks up the user that it runs as
mkdir -p /etc
echo root:x:0:0:::/bin/sh >/etc/passwd
echo "$RUNS" | while read -r name bits delay_us control flows apart_s ecn seconds queue; do
	tc qdisc add dev r1 root handle 1: htb default 1
	burst=$((bits / 8 * LATENESS_US / 1000000))
	tc class add dev r1 parent 1: classid 1:1 htb rate "${bits}bit" burst $burst cburst $burst quantum 1514
	# the queue's name and its options
	tc qdisc add dev r1 parent 1:1 handle 2: $queue
	tc qdisc add dev r0 root netem limit 1000000 delay "${delay_us}us"
	for end in sender receiver; do
		ip netns exec $end sh -c "echo $ecn >/proc/sys/net/ipv4/tcp_ecn"
	done
	before=$(segments)
	tcpdump -i any -y LINUX_SLL --time-stamp-precision nano -s 68 -B 65536 -Z root \
		-w /tmp/capture 'src 10.0.1.2 and tcp' 2>/tmp/said &
	capture=$!
	for port in $(seq "$flows"); do
		ip netns exec receiver iperf3 --server --one-off --daemon --port "$port"
	done
	sleep 1
	senders=
	for port in $(seq "$flows"); do
		ip netns exec sender iperf3 --client 10.0.2.2 --port "$port" --congestion "$control" \
			--time "$seconds" >"/tmp/report.$port" 2>&1 || cat "/tmp/report.$port" &
		senders="$senders $!"
		sleep "$apart_s"
	done
	wait $senders
	sleep 5
	kill -INT $capture
	wait $capture || cat /tmp/said
	echo "SEGMENTS $name $before $(segments)"
	echo "MISSED $name $(awk '/dropped by kernel/ { print $1 }' /tmp/said)"
	tc -s qdisc show dev r1
	echo "CAPTURE $name $(stat -c %s /tmp/capture)"
	cat /tmp/capture >/dev/vport0p1
	tc qdisc del dev r1 root
	tc qdisc del dev r0 root
done
