/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Numbers in network byte order, for headers' codecs. */
#ifndef HEADWAY_PORT_OCTETS_H
#define HEADWAY_PORT_OCTETS_H

#include "types.h"

static inline u32 hw_get_u16(const u8 *bytes)
{
	return (u32)bytes[0] << 8 | bytes[1];
}

static inline u32 hw_get_u24(const u8 *bytes)
{
	return (u32)bytes[0] << 16 | hw_get_u16(bytes + 1);
}

static inline u32 hw_get_u32(const u8 *bytes)
{
	return hw_get_u16(bytes) << 16 | hw_get_u16(bytes + 2);
}

static inline void hw_put_u16(u8 *bytes, u32 value)
{
	bytes[0] = (u8)(value >> 8);
	bytes[1] = (u8)value;
}

static inline void hw_put_u24(u8 *bytes, u32 value)
{
	bytes[0] = (u8)(value >> 16);
	hw_put_u16(bytes + 1, value);
}

static inline void hw_put_u32(u8 *bytes, u32 value)
{
	hw_put_u16(bytes, value >> 16);
	hw_put_u16(bytes + 2, value);
}

#endif
