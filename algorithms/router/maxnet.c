// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * MaxNet's router: integrates the traffic offered to the link beyond a fraction mu of its
 * capacity, and writes the result, the link's price, into packets whose price is lower
 * (Suchara, Witt, Wydrowski, "TCP MaxNet: Implementation and Experiments on the WAN in Lab",
 * 2005, sections II.A and III.B).
 *
 *   price <- price + X/C - mu dt                                            (eq. 2; eq. 1)
 *
 * X is the number of bytes offered in the time dt, so the price is a time. It equals the
 * queueing delay of a link that sends at mu C. The price is never below 0; the paper only says
 * that Price(0) = 0. As in the paper, the price is computed when a packet arrives and at least
 * `frequency_us` have passed (the module's "frequency" is that interval; "10,000 ms" in section
 * IV should be us), and mu is kept in 1/1024: 0.96 is 983.
 *
 * X is the offered traffic, including what the queue then drops: eq. 1 uses the rate at which
 * packets are enqueued, and the paper's code runs at dequeue. If dropped traffic did not count,
 * the price would hardly rise once the queue is full. As in the paper, the price is written as
 * packets leave.
 *
 * Valid for capacities from 8 kbit/s. The price saturates at 167 s.
 */
#include "../port/router.h"
#include "../header/maxnet.h"

enum { MU, FREQUENCY_US, CAPACITY_KBPS };

static const struct hw_tunable maxnet_tunables[] = {
	[MU] = { "mu", "1/1024", "part of the capacity beyond which the price rises", 983, 1,
		 1024 },
	[FREQUENCY_US] = { "frequency_us", "us",
			   "minimum time between two computations of the price", 10000, 100,
			   10000000 },
	[CAPACITY_KBPS] = { "capacity_kbps", "kbit/s", "the link's capacity; 0: the link's rate", 0,
			    0, 400000000 },
};

#define MU_SHIFT      10
#define SECOND_NS     1000000000ull
#define PRICE_MOST_NS ((u64)HW_PRICE_MOST * HW_PRICE_NS)
/* Upper bound of dt. Within this time any price falls to 0; the bound also prevents overflow. */
#define ELAPSED_MOST_NS (400 * SECOND_NS)
/* Upper bound of X, more than a link of 100 Gbit/s carries in a second. */
#define OFFERED_MOST (1ull << 34)

/* State of the router. It begins with the counters, in the order of their descriptions. */
struct maxnet {
	u64 price_us;
	u64 peak_price_us;
	u64 headers; /* that left */
	u64 raised;  /* packets that arrived with a price below this link's */
	u64 price_ns;
	u64 offered_bytes; /* X so far */
	u64 computed_ns;   /* when the price was computed */
};

static const struct hw_counter maxnet_counters[] = {
	{ "price_us", "us", "the link's price when the latest packet arrived", 0 },
	{ "peak_price_us", "us", "highest price of the link so far", 0 },
	{ "headers", "packets", "packets with MaxNet's header that left", 0 },
	{ "raised", "packets", "packets that arrived with a price below this link's", 0 },
};

static u64 maxnet_capacity_Bps(const u32 *tun, const struct hw_link *link)
{
	return tun[CAPACITY_KBPS] ? (u64)tun[CAPACITY_KBPS] * 125 : link->rate_Bps;
}

/* Eq. 2. */
static void maxnet_compute(struct maxnet *s, const u32 *tun, const struct hw_link *link, u64 dt_ns)
{
	u64 capacity_Bps = maxnet_capacity_Bps(tun, link);
	u64 price_ns = s->price_ns;
	u64 sent_ns;

	if (!capacity_Bps)
		return;
	dt_ns = dt_ns < ELAPSED_MOST_NS ? dt_ns : ELAPSED_MOST_NS;
	price_ns += s->offered_bytes * SECOND_NS / capacity_Bps;
	sent_ns = dt_ns * tun[MU] >> MU_SHIFT;
	price_ns = price_ns > sent_ns ? price_ns - sent_ns : 0;
	s->price_ns = price_ns < PRICE_MOST_NS ? price_ns : PRICE_MOST_NS;
	s->price_us = s->price_ns / 1000;
	if (s->price_us > s->peak_price_us)
		s->peak_price_us = s->price_us;
}

static u32 maxnet_arrive(void *state, const u32 *tun, struct hw_link *link,
			 const struct hw_packet *pkt, void *header)
{
	struct maxnet *s = state;
	u64 dt_ns = link->now_ns - s->computed_ns;

	(void)header;
	if (dt_ns >= (u64)tun[FREQUENCY_US] * 1000) {
		maxnet_compute(s, tun, link, dt_ns);
		s->computed_ns = link->now_ns;
		s->offered_bytes = 0;
	}
	s->offered_bytes += pkt->ip_bytes;
	if (s->offered_bytes > OFFERED_MOST)
		s->offered_bytes = OFFERED_MOST;
	return HW_PASS;
}

static void maxnet_depart(void *state, const u32 *tun, struct hw_link *link,
			  const struct hw_packet *pkt, void *header)
{
	struct hw_maxnet_fields *option = header;
	struct maxnet *s = state;
	u32 price;

	(void)tun;
	(void)link;
	(void)pkt;
	if (!option)
		return;
	price = hw_max_u32((u32)(s->price_ns / HW_PRICE_NS), 1);
	s->headers++;
	if (option->price < price) {
		option->price = price;
		s->raised++;
	}
}

HW_TABLE struct hw_router_ops hw_router_maxnet = {
	.name = "maxnet",
	.title = "MaxNet: prices the link by what is offered beyond mu of its capacity",
	.source = "Suchara, Witt, Wydrowski 2005, eq. 1 and 2",
	.state_bytes = sizeof(struct maxnet),
	.n_tunables = HW_COUNT(maxnet_tunables),
	.tunables = maxnet_tunables,
	.n_counters = HW_COUNT(maxnet_counters),
	.counters = maxnet_counters,
	.header = &hw_header_maxnet,
	.arrive = maxnet_arrive,
	.depart = maxnet_depart,
};
