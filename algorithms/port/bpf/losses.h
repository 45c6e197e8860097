/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Losses for controls that follow them (hw_cc_ops.on_loss) in the kernel. Linux 6.18 does not
 * record with a packet how many packets were in flight and lost when it left, and a control is
 * not told which packets are lost, only how many on each ACK. This file estimates both:
 * - The losses since the sample's packet left are known exactly for the last HW_LOSS_NOTES ACKs
 *   with losses, because the sample tells how much had been delivered when the packet left.
 * - What was in flight then has been delivered or lost since. This is exact on a path that keeps
 *   the order of packets, up to losses that are not detected yet.
 * - All packets that an ACK declares lost count as one range, which left when the sample's packet
 *   did. The call comes after ssthresh, not before.
 * Included by control.h.
 */

#define HW_LOSS_NOTES 16 /* a power of 2 */

/* An ACK with losses. */
struct hw_loss_note {
	u32 delivered_pkts; /* delivered when the losses were detected */
	u32 lost_pkts;	    /* lost before them */
};

struct hw_losses {
	u32 count; /* notes so far */
	u32 lost_pkts;
	struct hw_loss_note notes[HW_LOSS_NOTES]; /* a ring */
};

/* Records the losses since the last ACK, and returns their number. */
HW_INLINE u32 hw_note_losses(struct hw_losses *losses, const struct tcp_sock *tp)
{
	struct hw_loss_note *note = &losses->notes[losses->count % HW_LOSS_NOTES];
	u32 pkts = tp->lost - losses->lost_pkts;

	if (!pkts)
		return 0;
	note->delivered_pkts = tp->delivered;
	note->lost_pkts = losses->lost_pkts;
	losses->count++;
	losses->lost_pkts = tp->lost;
	return pkts;
}

/* The packets that were lost when so many had been delivered. */
HW_INLINE u32 hw_lost_when(const struct hw_losses *losses, u32 delivered_pkts)
{
	u32 lost_pkts = losses->lost_pkts;
	u32 i;

	for (i = 1; i <= HW_LOSS_NOTES; i++) {
		const struct hw_loss_note *note =
			&losses->notes[(losses->count - i) % HW_LOSS_NOTES];

		if (i > losses->count || !hw_after(note->delivered_pkts, delivered_pkts))
			break;
		lost_pkts = note->lost_pkts;
	}
	return lost_pkts;
}

HW_INLINE void hw_losses_begin(struct hw_call *call)
{
	call->losses->count = 0;
	call->losses->lost_pkts = call->tp->lost;
}

/* Completes the rate sample, and tells the control about losses. */
HW_INLINE void hw_tell_losses(struct hw_call *call, struct hw_rate_sample *sample)
{
	struct hw_losses *losses = call->losses;
	u32 pkts = hw_note_losses(losses, call->tp);
	struct hw_lost lost = {
		.pkts = pkts,
		.seq = call->tp->snd_una,
		.end_seq = call->tp->snd_una - 1,
		.random = bpf_get_prandom_u32(),
		.is_app_limited = sample->is_app_limited,
	};

	if (sample->delivered_pkts >= 0) {
		sample->lost_pkts =
			losses->lost_pkts - hw_lost_when(losses, (u32)sample->prior_delivered_pkts);
		sample->tx_inflight_pkts =
			hw_add_u32((u32)sample->delivered_pkts, sample->lost_pkts);
	}
	if (!pkts)
		return;
	lost.lost_pkts = hw_max_u32(sample->lost_pkts, pkts);
	lost.tx_inflight_pkts = hw_max_u32(sample->tx_inflight_pkts, pkts);
	hw_pair_on_loss(call, &lost);
}
