/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * MaxNet's TCP option: the highest price on the path, and the price that packets of the other
 * direction found (Suchara, Witt, Wydrowski, "TCP MaxNet: Implementation and Experiments on
 * the WAN in Lab", 2005, section III.A and figure 3).
 *
 *   kind 42, length 8, echo (3 bytes), price (3 bytes)
 *
 * Both numbers are unsigned and in network byte order, as all of TCP's are. The paper prints a
 * length of 6, without the option's first two bytes. Every TCP parser counts them (RFC 9293
 * section 3.1), so it is 8. The paper gives no unit of the price: here it is HW_PRICE_NS, so
 * three bytes hold 168 seconds. A router that takes part writes at least 1, so 0 means that no
 * router wrote. A price of 1 is 10 us, too little to affect any window.
 */
#ifndef HEADWAY_HEADER_MAXNET_H
#define HEADWAY_HEADER_MAXNET_H

#include "../port/header.h"
#include "../port/fixed.h"

#define HW_MAXNET_OPTION 42
#define HW_MAXNET_BYTES	 8
#define HW_PRICE_NS	 10000
#define HW_PRICE_MOST	 0xffffffu

struct hw_maxnet_fields {
	/* price of the latest packet in the other direction; 0: no router wrote a price */
	u32 echo;
	u32 price; /* highest price of the routers passed so far; 0: no router wrote a price */
};

static const __attribute__((unused)) struct hw_field hw_maxnet_header_fields[] = {
	{ "echo", "10 us", "price of the latest packet in the other direction",
	  __builtin_offsetof(struct hw_maxnet_fields, echo), 4 },
	{ "price", "10 us", "highest price of the routers passed so far",
	  __builtin_offsetof(struct hw_maxnet_fields, price), 4 },
};

static inline u32 hw_maxnet_get(const u8 *bytes)
{
	return (u32)bytes[0] << 16 | (u32)bytes[1] << 8 | bytes[2];
}

static inline void hw_maxnet_put(u8 *bytes, u32 value)
{
	value = hw_min_u32(value, HW_PRICE_MOST);
	bytes[0] = (u8)(value >> 16);
	bytes[1] = (u8)(value >> 8);
	bytes[2] = (u8)value;
}

static inline int hw_maxnet_parse(const u8 *bytes, void *fields)
{
	struct hw_maxnet_fields *option = fields;

	if (bytes[0] != HW_MAXNET_OPTION || bytes[1] != HW_MAXNET_BYTES)
		return 0;
	option->echo = hw_maxnet_get(bytes + 2);
	option->price = hw_maxnet_get(bytes + 5);
	return 1;
}

static inline void hw_maxnet_emit(const void *fields, u8 *bytes)
{
	const struct hw_maxnet_fields *option = fields;

	bytes[0] = HW_MAXNET_OPTION;
	bytes[1] = HW_MAXNET_BYTES;
	hw_maxnet_put(bytes + 2, option->echo);
	hw_maxnet_put(bytes + 5, option->price);
}

/* The receiver echoes the price of the latest packet, even if no router wrote one. An echo of 0
 * tells the sender that its peer takes part, but no router on the path. */
static inline int hw_maxnet_reflect(void *held, const void *arrived, const struct hw_arrival *how)
{
	(void)how;
	((struct hw_maxnet_fields *)held)->echo = ((const struct hw_maxnet_fields *)arrived)->price;
	return 1;
}

HW_HEADER hw_header_maxnet = {
	.name = "maxnet",
	.title = "MaxNet's price and its echo",
	.source = "Suchara, Witt, Wydrowski 2005, figure 3",
	.carrier = HW_TCP_OPTION,
	.kind = HW_MAXNET_OPTION,
	.wire_bytes = HW_MAXNET_BYTES,
	.fields_bytes = sizeof(struct hw_maxnet_fields),
	.n_fields = HW_COUNT(hw_maxnet_header_fields),
	.fields = hw_maxnet_header_fields,
	.parse = hw_maxnet_parse,
	.emit = hw_maxnet_emit,
	.reflect = hw_maxnet_reflect,
};

#endif
