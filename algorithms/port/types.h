/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The integer types of the contract. Both bindings use the kernel's names.
 */
#ifndef HEADWAY_PORT_TYPES_H
#define HEADWAY_PORT_TYPES_H

typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef __INT32_TYPE__ s32;
typedef __INT64_TYPE__ s64;

#define HW_U32_MAX 0xffffffffu

/*
 * An algorithm's table of callbacks, the only export of its file. In eBPF the table is static:
 * the compiler then resolves every call through it and removes it. Otherwise the object could
 * not be loaded, because eBPF allows no function pointers in data.
 */
#ifdef HW_BPF
#define HW_TABLE static const __attribute__((unused))
#else
#define HW_TABLE const
#endif

/*
 * Marks a part of a callback that the kernel's verifier checks separately, for callbacks with
 * too many paths to be checked as a whole. The part's arguments are pointers to structures and
 * numbers. It must check pointers for null, and returns a number.
 */
#ifdef HW_BPF
#define HW_PART __attribute__((noinline)) int
#else
#define HW_PART static int
#endif

#define HW_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * A tunable, declared once in the algorithm's file and shown everywhere by the
 * registry. Every tunable is a u32; a switch has the unit "bool" and the range
 * 0 to 1. A unit with bars ("last|ewma|peak") gives the names of the values 0, 1, 2 and so on.
 */
struct hw_tunable {
	const char *name;
	const char *unit;
	const char *meaning;
	u32 default_value;
	u32 min_value;
	u32 max_value;
};

/* A tunable in a macro that declares what several algorithms have. */
#define HW_TUNABLE(name, unit, meaning, value, min, max) { name, unit, meaning, value, min, max }

/* Describes a counter, a value or an event of a router or a queue, or a reading of a control. */
struct hw_counter {
	const char *name; /* ends with the unit of the shown value, such as _bytes */
	const char *unit;
	const char *meaning;
	/* factor by which the value is multiplied to show it: 8 shows B/s as bit/s; 0 means 1 */
	u32 times;
};

#endif
