/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Sends and receives a header in the two ECN bits at the endpoints, in addition to endpoint.h.
 * The sender's codepoint is chosen when a socket makes a packet with data. The program at the
 * device writes it into the IP header (outgoing.h), because programs at a socket or a cgroup
 * cannot. The receiver's program is attached to the sockets of the cgroup, where the IP header
 * can be read. The socket's next packet answers in a TCP option.
 *
 * If TCP has agreed on ECN (RFC 3168, or accurate ECN), the bits are TCP's and this code
 * neither writes nor reads them.
 */
enum {
	HW_ECN_AGREED = 1 | 1 << 4, /* TCP_ECN_MODE_RFC3168, TCP_ECN_MODE_ACCECN */
	HW_STATE_LISTEN = 10,
	HW_PROTOCOL_TCP = 6,
	HW_MOST_SEGMENTS = 64, /* most packets that GRO can merge into one buffer */
};

/* Asks the control which ECN codepoint to send in the packet that the socket is making. A packet
 * without data gets none. */
HW_INLINE void hw_choose_bits(struct bpf_sock_ops *ops, struct bpf_sock *sk,
			      struct hw_carried *carried)
{
	struct hw_outgoing *out = bpf_sk_storage_get(&hw_outgoing, sk, 0, carried->own);
	u8 bytes[HW_OPTION_MAX_BYTES] = {};

	if (!out)
		return;
	out->bits = 0;
	if (!carried->own || !ops->skb_len)
		return;
	if (ops->ecn_flags & HW_ECN_AGREED) {
		HW_COUNT_CARRIED(ecn_agreed);
		return;
	}
	__builtin_memset(carried->sends, 0, sizeof(carried->sends));
	if (!hw_ask_control(sk, carried))
		return;
	hw_part_header_emit(0, carried->sends, bytes);
	out->bits = bytes[0] & HW_ECN_MASK;
	HW_COUNT_CARRIED(sent);
}

/* Reads fields of an arrived packet's IP header. For programs at cgroups the packet begins with
 * that header. */
struct hw_arrived_packet {
	u32 ip_bytes; /* of the header */
	u16 id;	      /* IP identification; 0 in IPv6, which has none */
	u8 bits;
	u8 ttl;
};

HW_INLINE int hw_read_ip(struct __sk_buff *skb, struct hw_arrived_packet *came)
{
	const u8 *ip = (const u8 *)(long)skb->data;
	const u8 *end = (const u8 *)(long)skb->data_end;

	if (ip + 20 > end)
		return 0;
	if (*ip >> 4 == 4) {
		came->ip_bytes = (*ip & 15) * 4;
		came->id = (u16)ip[4] << 8 | ip[5];
		came->bits = ip[1] & HW_ECN_MASK;
		came->ttl = ip[8];
		return ip[9] == HW_PROTOCOL_TCP;
	}
	came->ip_bytes = 40;
	came->id = 0;
	came->bits = ip[1] >> 4 & HW_ECN_MASK;
	came->ttl = ip[7];
	return *ip >> 4 == 6 && ip[6] == HW_PROTOCOL_TCP;
}

HW_INLINE int hw_has_data(struct __sk_buff *skb, const struct hw_arrived_packet *came)
{
	u8 length = 0;

	if (bpf_skb_load_bytes(skb, came->ip_bytes + 12, &length, 1) != 0)
		return 0;
	return skb->len > came->ip_bytes + (length >> 4) * 4;
}

/* Adds the codepoint of a received buffer to the answer, once for each packet that was merged
 * into the buffer. */
HW_INLINE void hw_process_ecn_bits(const struct hw_arrived_packet *came, u32 packets,
				   struct hw_carried *carried, struct hw_outgoing *out)
{
	u64 fields[HW_FIELDS_WORDS] = {};
	u8 bytes[HW_OPTION_MAX_BYTES] = { came->bits };
	struct hw_arrival how = { .ip_ttl = came->ttl, .ecn = came->bits, .pkts = 1 };
	u32 i;

	if (!hw_part_header_parse(0, bytes, fields))
		return;
	HW_COUNT_CARRIED(arrived);
	bpf_for(i, 0, packets)
	{
		how.ip_id = came->id + i;
		hw_prepare_answer(carried, out, fields, &how);
	}
}

SEC("cgroup_skb/ingress")
int hw_bits_in(struct __sk_buff *skb)
{
	struct hw_arrived_packet came = {};
	struct hw_carried *carried;
	struct bpf_tcp_sock *tcp;
	struct bpf_sock *sk = skb->sk;
	struct hw_outgoing *out;
	u32 packets;

	if (!sk || !hw_read_ip(skb, &came) || !came.bits)
		return 1;
	sk = bpf_sk_fullsock(sk);
	if (!sk || sk->state == HW_STATE_LISTEN || !hw_has_data(skb, &came))
		return 1;
	tcp = bpf_tcp_sock(sk);
	if (!tcp || tcp->ecn_flags & HW_ECN_AGREED)
		return 1;
	carried = bpf_sk_storage_get(&hw_carried, sk, 0, 1);
	out = bpf_sk_storage_get(&hw_outgoing, sk, 0, 1);
	if (!carried || !out)
		return 1;
	packets = hw_min_u32(hw_max_u32(skb->gso_segs, 1), HW_MOST_SEGMENTS);
	hw_process_ecn_bits(&came, packets, carried, out);
	return 1;
}
