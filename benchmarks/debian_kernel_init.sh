#!/bin/busybox sh
# The first process of the guest of debian_kernel.py and debian_queues.py. It sets up a sender, a router
# and a receiver as network namespaces, executes /runs with the variables of /settings, and powers off.
# /modules is in the order to load.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin
# otherwise busybox would use its own
ip() { /usr/bin/ip "$@"; }
tc() { /usr/bin/tc "$@"; }
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /tmp /var/run/netns /run
mount -t tmpfs tmp /tmp
while read -r module; do
	insmod "/modules.d/$module" || echo "WARNING: $module was not loaded"
done </modules
. /settings

ip netns add sender
ip netns add receiver
ip link add r0 type veth peer name eth0 netns sender
ip link add r1 type veth peer name eth0 netns receiver
for name in sender receiver; do
	ip -n $name link set lo up
	ip -n $name link set eth0 up gso_max_segs 1
done
ip link set r0 up gso_max_segs 1
ip link set r1 up gso_max_segs 1
ip addr add 10.0.1.1/24 dev r0
ip addr add 10.0.2.1/24 dev r1
ip -n sender addr add 10.0.1.2/24 dev eth0
ip -n receiver addr add 10.0.2.2/24 dev eth0
ip -n sender route add default via 10.0.1.1
ip -n receiver route add default via 10.0.2.1
echo 1 >/proc/sys/net/ipv4/ip_forward
ip netns exec sender sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'

echo "KERNEL $(uname -r)"
segments() { # in and out, since the start
	ip netns exec receiver awk '/^Tcp: [0-9]/ { print $11, $12 }' /proc/net/snmp
}
. /runs
echo "DONE"
poweroff -f
