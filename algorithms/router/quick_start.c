// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Approval of Quick-Start requests (RFC 4782): the metering and the algorithms target,
 * optimistic and fair of the thesis (Scharf 2011, sections 4.5.2 and 4.5.3), and the algorithms
 * share and extreme that Sarolahti, Allman and Floyd (2006) describe.
 *
 * Time is cut into slots of Delta. The traffic offered to the queue in a slot is a sample of
 * the load. A grant is remembered for Omega slots, until samples include its traffic. With c
 * the capacity, theta the threshold, u the estimated load:
 *
 *	a = theta c - u			unused bandwidth
 *	target		min(q, a - H)	H: granted in the last Omega slots
 *	share		a fixed part of a - H
 *	optimistic	min(q, a)
 *	fair		the target, and a slot's part of a, which opens linearly with time
 *	extreme		the target, per flow: reports and data release grants early, and a
 *			flow that asked for more than it used gets less
 *
 * Left open by the sources and chosen here:
 * - fair: (4.19) bounds every request. Section 4.5.3.3 demands the bound only "if there are
 *   previous requests". But with that section's algorithm a slot never grants more than a /
 *   Omega, and in section 6.3.3.3 each request of a burst gets a small rate, including the
 *   first.
 * - share: theta applies as for the other algorithms; our default is half of the bandwidth.
 * - peak: the last N_p samples, as the text says, not the N_p + 1 of the equation.
 * - extreme: the sources only describe the idea. A grant counts as used when the flow has sent
 *   as much as its rate gives in one slot. One flow per sender is tracked.
 *
 * Valid for capacities below 2^63 / 1000 bytes per second; the state is bounded for any
 * traffic.
 */
#include "../port/router.h"
#include "../header/quick_start.h"

#define SLOTS	16 /* size of the ring of grants, a power of two */
#define SENDERS 64 /* number of tracked senders, a power of two */
/* Delta that an adaptive router uses before its first measurement */
#define FIRST_INTERVAL_NS   200000000ull
#define LEAST_INTERVAL_NS   10000000ull
#define LARGEST_INTERVAL_NS 2000000000ull
/* a report that comes later does not count as a measurement of Delta */
#define MEASUREMENT_NS 3000000000ull
#define SECOND_NS      1000000000ull
#define FULL_SCORE     1000
#define LEAST_SCORE    125 /* can always recover */

enum algorithm { TARGET, SHARE, OPTIMISTIC, FAIR, EXTREME };
enum estimator { LAST, EWMA, PEAK };

enum {
	ALGORITHM,
	ESTIMATOR,
	CAPACITY,
	THRESHOLD,
	INTERVAL,
	OMEGA,
	MAX_DELAY,
	EWMA_WEIGHT,
	PEAK_SLOTS,
	FAIR_PART,
	SHARE_PART,
	MAX_CODE,
	WHOLE,
	TRACK,
	MAX_REQUESTS
};

static const struct hw_tunable quick_start_tunables[] = {
	[ALGORITHM] = { "algorithm", "target|share|optimistic|fair|extreme",
			"how a request is approved", TARGET, TARGET, EXTREME },
	[ESTIMATOR] = { "estimator", "last|ewma|peak", "how samples of the load are combined", PEAK,
			LAST, PEAK },
	[CAPACITY] = { "capacity_kbps", "kbit/s", "the link's capacity c; 0: the link's rate", 0, 0,
		       HW_U32_MAX },
	[THRESHOLD] = { "threshold_permille", "1/1000",
			"theta, the part of the capacity that may be granted", 1000, 0, 1000 },
	[INTERVAL] = { "interval_ms", "ms",
		       "slot length Delta; 0: the mean time from a request to its report", 0, 0,
		       10000 },
	[OMEGA] = { "slots", "slots",
		    "Omega, for how many slots a grant is remembered; 0: from max_delay_ms", 2, 0,
		    SLOTS },
	[MAX_DELAY] = { "max_delay_ms", "ms",
			"longest time d from a request to its data; a grant is remembered "
			"for d / Delta + 2 slots",
			500, 0, 100000 },
	[EWMA_WEIGHT] = { "ewma_permille", "1/1000", "estimator=ewma: weight of a new sample", 125,
			  1, 1000 },
	[PEAK_SLOTS] = { "peak_slots", "slots",
			 "estimator=peak: number of samples of which the largest counts", 5, 1,
			 SLOTS - 1 },
	[FAIR_PART] = { "fair_permille", "1/1000",
			"algorithm=fair: part of a slot's bandwidth that may be granted at "
			"the slot's beginning",
			125, 0, 1000 },
	[SHARE_PART] = { "share_permille", "1/1000",
			 "algorithm=share: part of the unused bandwidth that one request gets", 500,
			 1, 1000 },
	[MAX_CODE] = { "max_code", "code", "largest rate code that is granted", 15, 0,
		       HW_QS_MAX_CODE },
	[WHOLE] = { "whole", "bool", "deny a request that cannot be granted in full", 0, 0, 1 },
	[TRACK] = { "track", "bool",
		    "compare reports with grants: free the unused part of a grant, "
		    "count reports above the grant",
		    0, 0, 1 },
	[MAX_REQUESTS] = { "max_requests", "1/s", "requests that are processed per second; 0: all",
			   10000, 0, HW_U32_MAX },
};

/* The counters and values of the router. Counters are since the start. */
struct hw_qs_status {
	u64 usage_Bps;
	u64 outstanding_Bps; /* H */
	u64 interval_ns;     /* Delta; 0 before the first packet */
	u64 requests;
	u64 grants;
	u64 lowered;
	u64 denials;
	u64 limited;
	u64 granted_Bps;
	u64 reports;
	u64 corrections;
	u64 cheats;
	u64 slot_end_ns; /* end of the present slot; 0 before the first */
};

static const struct hw_counter quick_start_counters[] = {
	{ "usage_bps", "bit/s", "estimated load of the link", 8 },
	{ "outstanding_bps", "bit/s", "granted rates that the load does not include yet", 8 },
	{ "interval_ns", "ns", "length of a slot", 0 },
	{ "requests", "requests", "requests for a rate above 0", 0 },
	{ "grants", "requests", "requests that were granted, perhaps at a lower rate", 0 },
	{ "lowered", "requests", "requests that were granted at a lower rate", 0 },
	{ "denials", "requests", "requests denied", 0 },
	{ "limited", "requests", "requests denied because max_requests was exceeded", 0 },
	{ "granted_bps", "bit/s", "sum of all granted rates", 8 },
	{ "reports", "reports", "reports that arrived", 0 },
	{ "corrections", "reports", "reports below the grant, which freed the difference", 0 },
	{ "cheats", "reports", "reports above the grant", 0 },
};

/* Events that are recorded for every request with a rate above 0. */
enum { REQUESTED_CODE, GRANTED_CODE, USAGE, OUTSTANDING, LIMITED };

static const struct hw_counter quick_start_events[] = {
	[REQUESTED_CODE] = { "requested_code", "code", "rate asked for, 40 kbit/s x 2^code", 0 },
	[GRANTED_CODE] = { "granted_code", "code", "rate granted; 0: denied", 0 },
	[USAGE] = { "usage_bps", "bit/s", "load of the link that the router estimated", 8 },
	[OUTSTANDING] = { "outstanding_bps", "bit/s",
			  "earlier grants that the load did not include yet", 8 },
	[LIMITED] = { "limited", "bool", "1: denied because max_requests was exceeded", 0 },
};

/* A sender's entry: its latest grant, to compare with its report and its data. */
struct sender {
	u64 flow;	 /* 0: free */
	u32 nonce;	 /* nonce of the request as the router forwarded it */
	u32 slot;	 /* slot in which the ring has recorded the grant */
	u32 granted_Bps; /* rate of this grant that the ring still counts */
	u32 sent_bytes;	 /* bytes that the flow has sent since the request */
	u32 score;	 /* part of its grants that the sender used, in 1/1000 */
	u8 code;	 /* rate code of the request as the router forwarded it */
	u8 judged;	 /* 1: score includes this grant */
	u8 spare[2];
};

struct quick_start {
	struct hw_qs_status status; /* first: its counters */
	u64 slot_start_ns;
	u64 slot_bytes;		/* offered since then */
	u64 sample_Bps[SLOTS];	/* sample of slot k, at index k mod SLOTS */
	u64 granted_Bps[SLOTS]; /* rates granted in slot k, at index k mod SLOTS */
	u64 next_interval_ns;	/* Delta that applies from the next slot on */
	u64 measured_flow;	/* flow whose request is being timed until its report; 0: none */
	u64 measured_since_ns;
	u64 limit_start_ns;
	u32 limit_requests; /* since then */
	u32 slot;	    /* number of the present slot */
	u8 measured;	    /* 1: next_interval_ns is from a measurement */
	u8 spare[7];
	struct sender senders[SENDERS];
};

_Static_assert(sizeof(struct quick_start) <= HW_ROUTER_STATE_BYTES, "state of a router");

static u64 qs_permille(u64 x, u32 part)
{
	return x * part / 1000;
}

/* ---- The load and the ring of grants ---- */

/* Omega: as configured, or by (4.16) long enough that samples include a grant's traffic before
 * the grant is forgotten. */
static u32 qs_slots(const struct quick_start *s, const u32 *tun)
{
	u64 delay_ns = (u64)tun[MAX_DELAY] * 1000000;

	if (tun[OMEGA])
		return tun[OMEGA];
	delay_ns += s->status.interval_ns - 1;
	return hw_min_u32((u32)hw_div_u64(delay_ns, s->status.interval_ns) + 2, SLOTS);
}

/* H: the sum of the rates granted in the last Omega slots. */
static u64 qs_outstanding(const struct quick_start *s, const u32 *tun)
{
	u32 slots = qs_slots(s, tun);
	u64 sum = 0;
	u32 i;

	for (i = 0; i < SLOTS; i++) {
		if (i < slots)
			sum += s->granted_Bps[(s->slot - i) % SLOTS];
	}
	return sum;
}

/* Updates the estimate u of the load after a new sample; `idle` empty slots followed the sample. */
static u64 qs_usage(const struct quick_start *s, const u32 *tun, u64 sample_Bps, u32 empty)
{
	u64 usage = s->status.usage_Bps;
	u32 keep = 1000 - tun[EWMA_WEIGHT];
	u32 i;

	if (tun[ESTIMATOR] == LAST)
		return empty ? 0 : sample_Bps;
	if (tun[ESTIMATOR] == EWMA) {
		usage = qs_permille(sample_Bps, tun[EWMA_WEIGHT]) + qs_permille(usage, keep);
		if (!empty)
			return usage;
		return hw_part_u64(usage, hw_power(((u64)keep << 32) / 1000, empty));
	}
	usage = 0;
	for (i = 1; i < SLOTS; i++) {
		u64 sample = s->sample_Bps[(s->slot - i) % SLOTS];

		if (i <= tun[PEAK_SLOTS] && sample > usage)
			usage = sample;
	}
	return usage;
}

/* Ends all slots whose time is over, and computes the new estimate of the load. */
static void qs_advance(struct quick_start *s, const u32 *tun, u64 now_ns)
{
	u64 interval_ns = s->status.interval_ns;
	u64 sample, ended;
	u32 i;

	if (!interval_ns) {
		interval_ns = (u64)tun[INTERVAL] * 1000000;
		s->status.interval_ns = interval_ns ? interval_ns : FIRST_INTERVAL_NS;
		s->next_interval_ns = s->status.interval_ns;
		s->slot_start_ns = now_ns;
		s->limit_start_ns = now_ns;
		s->status.slot_end_ns = now_ns + s->status.interval_ns;
		return;
	}
	/* now_ns may be before the slot, because the clocks of two processors may differ
	 * slightly */
	if (now_ns < s->slot_start_ns || now_ns - s->slot_start_ns < interval_ns)
		return;
	ended = hw_div_u64(now_ns - s->slot_start_ns, interval_ns);
	sample = hw_div_u64(s->slot_bytes * 1000000, interval_ns / 1000);
	s->sample_Bps[s->slot % SLOTS] = sample;
	for (i = 1; i <= SLOTS; i++) {
		if (i <= ended) {
			s->granted_Bps[(s->slot + i) % SLOTS] = 0;
			s->sample_Bps[(s->slot + i) % SLOTS] = 0;
		}
	}
	s->slot += (u32)ended;
	s->slot_bytes = 0;
	s->slot_start_ns += ended * interval_ns;
	s->status.usage_Bps = qs_usage(s, tun, sample, hw_saturate_u32(ended - 1));
	s->status.interval_ns = s->next_interval_ns;
	s->status.slot_end_ns = s->slot_start_ns + s->status.interval_ns;
	s->status.outstanding_Bps = qs_outstanding(s, tun);
}

/* ---- Measurement of Delta: the time from a request to its report ---- */

static void qs_measure_request(struct quick_start *s, const u32 *tun, u64 flow, u64 now_ns)
{
	if (tun[INTERVAL])
		return;
	/* only one request at a time is timed; if its report does not come within
	 * MEASUREMENT_NS, the router times another request */
	if (s->measured_flow && now_ns - s->measured_since_ns < MEASUREMENT_NS)
		return;
	s->measured_flow = flow;
	s->measured_since_ns = now_ns;
}

static void qs_measure_report(struct quick_start *s, u64 flow, u64 now_ns)
{
	u64 delay_ns = now_ns - s->measured_since_ns;

	if (!s->measured_flow || s->measured_flow != flow)
		return;
	s->measured_flow = 0;
	if (delay_ns >= MEASUREMENT_NS)
		return;
	if (delay_ns < LEAST_INTERVAL_NS)
		delay_ns = LEAST_INTERVAL_NS;
	if (delay_ns > LARGEST_INTERVAL_NS)
		delay_ns = LARGEST_INTERVAL_NS;
	/* moving average of Delta over the measured flows */
	s->next_interval_ns = s->measured ? s->next_interval_ns / 8 * 7 + delay_ns / 8 : delay_ns;
	s->measured = 1;
}

/* ---- Senders ---- */

static int qs_tracks(const u32 *tun)
{
	return tun[TRACK] || tun[ALGORITHM] == EXTREME;
}

static struct sender *qs_sender(struct quick_start *s, u64 flow)
{
	/* hash of the sender (upper half of flow); the odd factor spreads neighbouring addresses */
	u32 hash = (u32)(flow >> 32) * 0x9e3779b1u;

	return &s->senders[(hash >> 26) % SENDERS];
}

/* The number of slots since the grant. From Omega on the grant is no longer remembered. */
static u32 qs_age(const struct quick_start *s, const struct sender *sender)
{
	return s->slot - sender->slot;
}

static int qs_remembered(const struct quick_start *s, const u32 *tun, const struct sender *sender)
{
	return sender->granted_Bps && qs_age(s, sender) < qs_slots(s, tun);
}

/* Reduces a grant in the ring to keep_Bps, if it is larger and still remembered. */
static void qs_keep(struct quick_start *s, const u32 *tun, struct sender *sender, u32 keep_Bps)
{
	if (keep_Bps >= sender->granted_Bps || !qs_remembered(s, tun, sender))
		return;
	s->granted_Bps[sender->slot % SLOTS] -= sender->granted_Bps - keep_Bps;
	sender->granted_Bps = keep_Bps;
	s->status.outstanding_Bps = qs_outstanding(s, tun);
}

static void qs_judge_use(struct sender *sender, u64 used_permille)
{
	u32 used = used_permille > FULL_SCORE ? FULL_SCORE : (u32)used_permille;

	sender->score = hw_max_u32((3 * sender->score + used) / 4, LEAST_SCORE);
	sender->judged = 1;
}

/* The number of bytes that a flow sends in one slot at the granted rate. */
static u64 qs_grant_bytes(const struct quick_start *s, const struct sender *sender)
{
	return hw_qs_rate_Bps(sender->code) * (s->status.interval_ns / 1000) / 1000000;
}

/* Counts a flow's data. When the flow has sent a slot's bytes at the granted rate, the grant
 * counts as used. The ring then forgets it at the end of this slot, whose sample includes it. */
static void qs_count_data(struct quick_start *s, const u32 *tun, u64 flow, u32 ip_bytes)
{
	struct sender *sender = qs_sender(s, flow);
	u32 oldest;

	if (sender->flow != flow || sender->judged)
		return;
	sender->sent_bytes = hw_add_u32(sender->sent_bytes, ip_bytes);
	if (sender->sent_bytes < qs_grant_bytes(s, sender))
		return;
	qs_judge_use(sender, FULL_SCORE);
	if (!qs_remembered(s, tun, sender))
		return;
	oldest = s->slot - (qs_slots(s, tun) - 1);
	s->granted_Bps[sender->slot % SLOTS] -= sender->granted_Bps;
	s->granted_Bps[oldest % SLOTS] += sender->granted_Bps;
	sender->slot = oldest;
}

/* Prepares the sender's entry for a new request, and scores how the sender used its previous
 * grant. */
static struct sender *qs_enter(struct quick_start *s, const u32 *tun, u64 flow)
{
	struct sender *sender = qs_sender(s, flow);

	if (sender->flow >> 32 != flow >> 32) {
		/* the entry belonged to another sender, whose grant stays in the ring until
		 * Omega slots are over */
		sender->score = FULL_SCORE;
		sender->judged = 1;
	} else if (!sender->judged && sender->code && qs_age(s, sender) >= qs_slots(s, tun)) {
		qs_judge_use(sender, hw_div_u64((u64)sender->sent_bytes * FULL_SCORE,
						qs_grant_bytes(s, sender)));
	}
	sender->flow = flow;
	return sender;
}

/* ---- Requests and reports ---- */

/* The rate that may be granted to a request, before it is rounded to a code. */
static u64 qs_approve(const struct quick_start *s, const u32 *tun, const struct hw_link *link,
		      u64 request_Bps)
{
	u64 capacity = tun[CAPACITY] ? (u64)tun[CAPACITY] * 125 : link->rate_Bps;
	u64 given = qs_permille(capacity, tun[THRESHOLD]);
	u64 unused = given > s->status.usage_Bps ? given - s->status.usage_Bps : 0;
	u64 outstanding = s->status.outstanding_Bps;
	u64 pool = unused > outstanding ? unused - outstanding : 0;
	u64 now_granted = s->granted_Bps[s->slot % SLOTS];
	u64 elapsed_us, slot_us, open;

	if (tun[ALGORITHM] == OPTIMISTIC)
		return request_Bps < unused ? request_Bps : unused;
	if (tun[ALGORITHM] == SHARE)
		pool = qs_permille(pool, tun[SHARE_PART]);
	if (tun[ALGORITHM] == FAIR) {
		/* (4.19): at its beginning only a part of the slot's bandwidth can be granted,
		 * at its end all of it */
		elapsed_us = link->now_ns > s->slot_start_ns
				     ? hw_div_u64(link->now_ns - s->slot_start_ns, 1000)
				     /* elapsed time is 0 if this processor's clock is slightly
				      * behind */
				     : 0;
		slot_us = s->status.interval_ns / 1000;
		open = tun[FAIR_PART] * slot_us + (1000 - tun[FAIR_PART]) * elapsed_us;
		open = hw_part_u64(unused, hw_div_u64(open << 20, 1000 * slot_us) << 12);
		open = hw_div_u64(open, qs_slots(s, tun));
		open = open > now_granted ? open - now_granted : 0;
		if (open < pool)
			pool = open;
	}
	return request_Bps < pool ? request_Bps : pool;
}

/* Returns whether a request exceeds the limit of requests per second. Counts it if it does not. */
static int qs_limited(struct quick_start *s, const u32 *tun, u64 now_ns)
{
	if (now_ns - s->limit_start_ns >= SECOND_NS) {
		s->limit_start_ns = now_ns;
		s->limit_requests = 0;
	}
	if (tun[MAX_REQUESTS] && s->limit_requests >= tun[MAX_REQUESTS])
		return 1;
	s->limit_requests++;
	return 0;
}

static void qs_request_arrived(struct quick_start *s, const u32 *tun, const struct hw_link *link,
			       u64 flow, struct hw_qs_option *request)
{
	u64 rate_Bps = hw_qs_rate_Bps(request->code);
	struct sender *sender = 0;
	u32 asked = request->code;
	u32 code;

	if (!asked)
		return; /* denied before */
	s->status.requests++;
	if (qs_limited(s, tun, link->now_ns)) {
		/* forward the request without decrementing its QS TTL: the sender then finds a
		 * wrong TTL difference in the response, and does not use the rate */
		s->status.limited++;
		s->status.denials++;
		return;
	}
	if (qs_tracks(tun)) {
		sender = qs_enter(s, tun, flow);
		if (tun[ALGORITHM] == EXTREME)
			rate_Bps = qs_permille(rate_Bps, sender->score);
	}
	code = hw_qs_code_down(qs_approve(s, tun, link, rate_Bps));
	code = hw_min_u32(code, tun[MAX_CODE]);
	if (tun[WHOLE] && code < asked)
		code = 0;
	code = hw_qs_forward(request, code, 1, link->random);
	rate_Bps = hw_qs_rate_Bps(code);
	if (sender) {
		sender->nonce = request->nonce;
		sender->slot = s->slot;
		sender->granted_Bps = (u32)rate_Bps;
		sender->sent_bytes = 0;
		sender->code = (u8)code;
		sender->judged = !code;
	}
	if (!code) {
		s->status.denials++;
		return;
	}
	s->status.grants++;
	s->status.lowered += code < asked;
	s->status.granted_Bps += rate_Bps;
	s->granted_Bps[s->slot % SLOTS] += rate_Bps;
	s->status.outstanding_Bps += rate_Bps;
	qs_measure_request(s, tun, flow, link->now_ns);
}

/* Evaluates a report. Routers never change reports. */
static void qs_report_arrived(struct quick_start *s, const u32 *tun, const struct hw_link *link,
			      u64 flow, const struct hw_qs_option *report)
{
	struct sender *sender = qs_sender(s, flow);

	s->status.reports++;
	qs_measure_report(s, flow, link->now_ns);
	if (!qs_tracks(tun) || sender->flow != flow)
		return;
	if (report->code > sender->code) {
		s->status.cheats++;
		sender->score = LEAST_SCORE;
		sender->judged = 1;
		return;
	}
	/* the nonce's bits up to the reported rate must be those that this router forwarded
	 * (RFC 4782, section 3.4) */
	if ((report->nonce ^ sender->nonce) & hw_qs_nonce_kept(report->code))
		return;
	if (report->code == sender->code)
		return;
	s->status.corrections++;
	qs_keep(s, tun, sender, (u32)hw_qs_rate_Bps(report->code));
	sender->code = report->code;
	sender->judged |= !report->code;
}

/* ---- The contract ---- */

/* Whether the algorithm has to count the bytes of each flow. */
static int quick_start_meters_flows(const u32 *tun)
{
	return tun[ALGORITHM] == EXTREME;
}

static void quick_start_meter(void *state, const u32 *tun, const struct hw_link *link, u64 flow,
			      u64 ip_bytes)
{
	struct quick_start *s = state;

	qs_advance(s, tun, link->now_ns);
	s->slot_bytes += ip_bytes;
	if (quick_start_meters_flows(tun))
		qs_count_data(s, tun, flow, hw_saturate_u32(ip_bytes));
}

/* Approves or denies a request by changing it in place, or evaluates a report. */
static void quick_start_option(void *state, const u32 *tun, const struct hw_link *link, u64 flow,
			       struct hw_qs_option *option)
{
	struct quick_start *s = state;

	qs_advance(s, tun, link->now_ns);
	if (option->function == HW_QS_REQUEST)
		qs_request_arrived(s, tun, link, flow, option);
	else if (option->function == HW_QS_REPORT)
		qs_report_arrived(s, tun, link, flow, option);
}

static u64 quick_start_gather(void *state, const u32 *tun, struct hw_link *link, u64 bytes)
{
	struct quick_start *s = state;

	if (quick_start_meters_flows(tun))
		return 0;
	quick_start_meter(state, tun, link, 1, bytes);
	return s->status.slot_end_ns;
}

static u32 quick_start_arrive(void *state, const u32 *tun, struct hw_link *link,
			      const struct hw_packet *pkt, void *header)
{
	struct quick_start *s = state;
	struct hw_qs_option *option = header;
	u64 limited = s->status.limited;
	u32 asked, ttl;

	quick_start_meter(state, tun, link, pkt->flow, pkt->ip_bytes);
	if (!option)
		return HW_PASS;
	asked = option->function == HW_QS_REQUEST ? option->code : 0;
	if (asked) {
		hw_note(link, REQUESTED_CODE, asked);
		hw_note(link, USAGE, s->status.usage_Bps);
		hw_note(link, OUTSTANDING, s->status.outstanding_Bps);
	}
	ttl = option->ttl;
	quick_start_option(state, tun, link, pkt->flow, option);
	limited = s->status.limited - limited;
	if (asked) /* a request beyond the limit of requests per second was denied by its QS TTL */
		hw_note(link, GRANTED_CODE, limited ? 0 : option->code);
	if (limited)
		hw_note(link, LIMITED, 1);
	/* packets of this machine: their IP TTL is not decremented here, so do not decrement the
	 * QS TTL */
	if (pkt->local && option->code)
		option->ttl = ttl;
	return HW_PASS;
}

/* Timer: ends slots whose time is over, even if no packet has arrived. */
static u64 quick_start_tick(void *state, const u32 *tun, struct hw_link *link)
{
	qs_advance(state, tun, link->now_ns);
	return 0;
}

HW_TABLE struct hw_router_ops hw_router_quick_start = {
	.name = "quick-start",
	.title = "Approves Quick-Start requests",
	.source = "RFC 4782; Scharf 2011; Sarolahti, Allman, Floyd 2006",
	.state_bytes = sizeof(struct quick_start),
	.n_tunables = HW_COUNT(quick_start_tunables),
	.tunables = quick_start_tunables,
	.n_counters = HW_COUNT(quick_start_counters),
	.n_events = HW_COUNT(quick_start_events),
	.counters = quick_start_counters,
	.events = quick_start_events,
	.header = &hw_header_quick_start,
	.arrive = quick_start_arrive,
	.gather = quick_start_gather,
	.tick = quick_start_tick,
};
