// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Sends, at a host's outgoing device, those parts of congestion controls' headers that sockets
 * cannot send themselves (port/bpf/outgoing.h):
 *
 *   the ECN bits:	writes the codepoint that a socket's control has chosen into the IP header
 *			of the packet, or of all packets that share the buffer; IPv4 and IPv6
 *   SACK gives way:	if the SACK blocks of an ACK without data left no room for an answer
 *			that is due, removes as many of the last blocks as the answer needs,
 *			but never the first block, and writes the answer behind the remaining
 *			blocks. With timestamps and an answer of 8 bytes it removes the third
 *			block, as in MaxNet (Suchara et al., 2005). IPv4 only
 *
 * Packets of other sockets and forwarded packets are not changed.
 */
#include "port/bpf/hook.h"
#include "port/bpf/packet.h"
#include "port/bpf/outgoing.h"

#define HW_SACK_OPTION	    5
#define HW_SACK_HEAD_BYTES  2
#define HW_SACK_BLOCK_BYTES 8
#define HW_NO_OPERATION	    1

/* headwayctl reads the fields' names from the object's type information. */
struct hw_headers_counters {
	u64 bits_written; /* buffers */
	u64 sack_gave_way;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_headers_counters);
} hw_headers_cnt SEC(".maps");

#define HW_COUNT_UP(field)                                              \
	do {                                                            \
		u32 hw_zero = 0;                                        \
		struct hw_headers_counters *hw_cpu =                    \
			bpf_map_lookup_elem(&hw_headers_cnt, &hw_zero); \
                                                                        \
		if (hw_cpu)                                             \
			hw_cpu->field++;                                \
	} while (0)

/* Writes the two ECN bits, which are in the first two bytes of IPv4 and IPv6 headers. Updates the
 * checksum of an IPv4 header. */
static __always_inline void hw_write_bits(struct __sk_buff *skb, u8 bits)
{
	u8 before[2], after[2];
	u16 old_word, new_word;

	if (bpf_skb_load_bytes(skb, hw_link_header_bytes, before, sizeof(before)) != 0)
		return;
	after[0] = before[0];
	if (before[0] >> 4 == 6) {
		after[1] = (before[1] & ~(HW_ECN_MASK << 4)) | bits << 4;
	} else if (before[0] >> 4 == 4) {
		after[1] = (before[1] & ~HW_ECN_MASK) | bits;
		__builtin_memcpy(&old_word, before, sizeof(old_word));
		__builtin_memcpy(&new_word, after, sizeof(new_word));
		bpf_l3_csum_replace(
			skb, hw_link_header_bytes + __builtin_offsetof(struct hw_ipv4, checksum),
			old_word, new_word, sizeof(new_word));
	} else {
		return;
	}
	if (bpf_skb_store_bytes(skb, hw_link_header_bytes, after, sizeof(after), 0) == 0)
		HW_COUNT_UP(bits_written);
}

/* The headers of an ACK without data, and the position of its TCP options. */
struct hw_ack_packet {
	struct hw_ipv4 ip;
	struct hw_tcp tcp;
	u32 tcp_at;
	u32 options_bytes;
};

static __always_inline int hw_read_ack(struct __sk_buff *skb, struct hw_ack_packet *ack)
{
	u32 tcp_bytes;

	if (!hw_read_ipv4(skb, &ack->ip) || ack->ip.protocol != HW_IPPROTO_TCP ||
	    ack->ip.fragment & bpf_htons(HW_FRAGMENT_MASK))
		return 0;
	ack->tcp_at = hw_link_header_bytes + hw_ipv4_length(&ack->ip);
	if (bpf_skb_load_bytes(skb, ack->tcp_at, &ack->tcp, sizeof(ack->tcp)) != 0)
		return 0;
	tcp_bytes = (ack->tcp.length >> 4) * 4;
	if (tcp_bytes <= sizeof(ack->tcp) || ack->tcp_at + tcp_bytes != skb->len)
		return 0;
	ack->options_bytes = tcp_bytes - sizeof(ack->tcp);
	return (ack->tcp.flags & (HW_TCP_SYN | HW_TCP_FIN | HW_TCP_RST | HW_TCP_ACK)) == HW_TCP_ACK;
}

/* Returns where the SACK option begins; -1 if SACK is not the last TCP option. */
static __always_inline int hw_find_sack(const u8 options[HW_OPTIONS_ROOM], u32 length)
{
	u32 at = 0, i;

	for (i = 0; i < HW_OPTIONS_BYTES; i++) {
		u8 kind, size;

		if (at > HW_OPTIONS_BYTES - HW_SACK_HEAD_BYTES)
			return -1;
		kind = options[at & 63];
		if (kind == HW_NO_OPERATION) {
			at++;
			continue;
		}
		size = options[(at + 1) & 63];
		if (kind == 0 || size < HW_SACK_HEAD_BYTES)
			return -1;
		if (kind == HW_SACK_OPTION)
			return at + size == length ? (int)at : -1;
		at += size;
	}
	return -1;
}

/* Removes as many SACK blocks as the answer needs, and writes the answer after the remaining
 * blocks. */
static __noinline int hw_replace_sack_blocks(struct __sk_buff *skb, struct hw_outgoing *out)
{
	struct hw_ack_packet ack = {};
	u8 before[HW_OPTIONS_ROOM], after[HW_OPTIONS_ROOM];
	u32 wire_bytes, gone, end, old_bytes, new_bytes, i;
	s64 difference;
	int at;

	if (!out)
		return 0;
	wire_bytes = out->option_bytes;
	if (wire_bytes < 4 || wire_bytes > HW_OPTION_MAX_BYTES || wire_bytes & 3 ||
	    !hw_read_ack(skb, &ack))
		return 0;
	old_bytes = hw_read_options(skb, ack.tcp_at + sizeof(ack.tcp), ack.options_bytes, before);
	at = hw_find_sack(before, old_bytes);
	if (at < 0 || old_bytes + wire_bytes <= HW_OPTIONS_BYTES)
		return 0;
	gone = (old_bytes + wire_bytes - HW_OPTIONS_BYTES + HW_SACK_BLOCK_BYTES - 1) &
	       ~(HW_SACK_BLOCK_BYTES - 1);
	end = old_bytes - gone;
	/* one SACK block has to remain */
	if (old_bytes < gone || end < (u32)at + HW_SACK_HEAD_BYTES + HW_SACK_BLOCK_BYTES)
		return 0;
	__builtin_memcpy(after, before, sizeof(after));
	after[(at + 1) & 63] -= gone;
	/* if the answer is shorter than the removed blocks, no-operation options fill the rest */
	for (i = 0; i < HW_OPTION_MAX_BYTES; i++)
		after[(end + i) & 63] = i < wire_bytes ? out->option[i] : HW_NO_OPERATION;
	new_bytes = old_bytes;
	if (wire_bytes > gone) {
		if (!hw_lengthen_tcp(skb, &ack.ip, &ack.tcp, ack.tcp_at, wire_bytes - gone))
			return 0;
		new_bytes += wire_bytes - gone;
	}
	barrier_var(old_bytes);
	barrier_var(new_bytes);
	if (old_bytes > HW_OPTIONS_BYTES || new_bytes == 0 || new_bytes > HW_OPTIONS_BYTES)
		return 0;
	difference = bpf_csum_diff((void *)before, old_bytes, (void *)after, new_bytes, 0);
	bpf_l4_csum_replace(skb, ack.tcp_at + __builtin_offsetof(struct hw_tcp, checksum), 0,
			    difference, 0);
	bpf_skb_store_bytes(skb, ack.tcp_at + sizeof(ack.tcp), after, new_bytes, 0);
	return 1;
}

SEC("tcx/egress")
int hw_headers_out(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct hw_outgoing *out;

	if (!sk)
		return HW_NEXT_PROGRAM;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return HW_NEXT_PROGRAM;
	out = bpf_sk_storage_get(&hw_outgoing, sk, 0, 0);
	if (!out)
		return HW_NEXT_PROGRAM;
	if (out->bits) {
		hw_write_bits(skb, out->bits & HW_ECN_MASK);
		out->bits = 0; /* the control may be detached before the next packet */
	}
	if (out->due && hw_replace_sack_blocks(skb, out)) {
		out->due = 0;
		HW_COUNT_UP(sack_gave_way);
	}
	return HW_NEXT_PROGRAM;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
