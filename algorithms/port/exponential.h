/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The exponential function of a real number in integers, by a table: e^x is 2^y with y = x
 * log2 e; the integer part of y is a shift, and 2^f of the fraction f is interpolated linearly
 * between two of 257 entries.
 *
 * The chord is above the curve by at most (ln 2/256)^2/8 = 9.2e-7 of the value; rounding of
 * the table, of log2 e and of y adds less than 2e-8. hw_exp() is therefore within 1e-6 and one
 * unit (2^-16) of the true value; crates/algorithms compares it with f64.
 */
#ifndef HEADWAY_PORT_EXPONENTIAL_H
#define HEADWAY_PORT_EXPONENTIAL_H

#include "types.h"

/* Number of fractional bits of the exponential function's argument, and of its value. */
#define HW_EXP_SHIFT   24
#define HW_VALUE_SHIFT 16

/* The table: 2^(i/256) with 30 bits after the point, rounded to nearest. */
static const u32 hw_exp_table[257] = {
	1073741824u, 1076653033u, 1079572136u, 1082499153u, 1085434106u, 1088377016u, 1091327906u,
	1094286796u, 1097253708u, 1100228665u, 1103211687u, 1106202798u, 1109202018u, 1112209370u,
	1115224875u, 1118248556u, 1121280436u, 1124320536u, 1127368878u, 1130425485u, 1133490379u,
	1136563583u, 1139645120u, 1142735011u, 1145833280u, 1148939949u, 1152055042u, 1155178580u,
	1158310587u, 1161451085u, 1164600099u, 1167757650u, 1170923762u, 1174098458u, 1177281762u,
	1180473697u, 1183674286u, 1186883552u, 1190101520u, 1193328213u, 1196563654u, 1199807867u,
	1203060876u, 1206322705u, 1209593378u, 1212872918u, 1216161350u, 1219458698u, 1222764986u,
	1226080238u, 1229404479u, 1232737732u, 1236080024u, 1239431376u, 1242791816u, 1246161366u,
	1249540052u, 1252927899u, 1256324931u, 1259731174u, 1263146652u, 1266571390u, 1270005413u,
	1273448747u, 1276901417u, 1280363448u, 1283834865u, 1287315695u, 1290805962u, 1294305692u,
	1297814910u, 1301333643u, 1304861917u, 1308399756u, 1311947188u, 1315504238u, 1319070932u,
	1322647296u, 1326233356u, 1329829140u, 1333434672u, 1337049980u, 1340675091u, 1344310030u,
	1347954824u, 1351609500u, 1355274085u, 1358948606u, 1362633090u, 1366327563u, 1370032052u,
	1373746586u, 1377471191u, 1381205894u, 1384950723u, 1388705706u, 1392470869u, 1396246240u,
	1400031848u, 1403827719u, 1407633882u, 1411450365u, 1415277195u, 1419114401u, 1422962010u,
	1426820052u, 1430688553u, 1434567544u, 1438457051u, 1442357104u, 1446267730u, 1450188960u,
	1454120821u, 1458063343u, 1462016553u, 1465980482u, 1469955159u, 1473940611u, 1477936870u,
	1481943963u, 1485961921u, 1489990772u, 1494030547u, 1498081275u, 1502142985u, 1506215708u,
	1510299473u, 1514394310u, 1518500250u, 1522617322u, 1526745556u, 1530884983u, 1535035634u,
	1539197537u, 1543370725u, 1547555228u, 1551751076u, 1555958300u, 1560176931u, 1564406999u,
	1568648537u, 1572901575u, 1577166143u, 1581442275u, 1585730000u, 1590029350u, 1594340357u,
	1598663052u, 1602997467u, 1607343634u, 1611701585u, 1616071351u, 1620452965u, 1624846459u,
	1629251865u, 1633669214u, 1638098541u, 1642539877u, 1646993254u, 1651458706u, 1655936265u,
	1660425963u, 1664927835u, 1669441912u, 1673968228u, 1678506817u, 1683057710u, 1687620943u,
	1692196547u, 1696784557u, 1701385007u, 1705997930u, 1710623359u, 1715261330u, 1719911875u,
	1724575029u, 1729250827u, 1733939301u, 1738640488u, 1743354420u, 1748081133u, 1752820662u,
	1757573041u, 1762338305u, 1767116489u, 1771907628u, 1776711757u, 1781528911u, 1786359126u,
	1791202437u, 1796058879u, 1800928489u, 1805811301u, 1810707353u, 1815616678u, 1820539314u,
	1825475297u, 1830424663u, 1835387448u, 1840363688u, 1845353420u, 1850356681u, 1855373507u,
	1860403934u, 1865448001u, 1870505744u, 1875577199u, 1880662405u, 1885761398u, 1890874216u,
	1896000896u, 1901141476u, 1906295993u, 1911464486u, 1916646992u, 1921843549u, 1927054196u,
	1932278970u, 1937517909u, 1942771053u, 1948038440u, 1953320108u, 1958616096u, 1963926443u,
	1969251188u, 1974590370u, 1979944027u, 1985312200u, 1990694927u, 1996092249u, 2001504204u,
	2006930832u, 2012372174u, 2017828268u, 2023299156u, 2028784876u, 2034285470u, 2039800978u,
	2045331439u, 2050876895u, 2056437387u, 2062012954u, 2067603638u, 2073209480u, 2078830522u,
	2084466803u, 2090118366u, 2095785251u, 2101467502u, 2107165158u, 2112878262u, 2118606857u,
	2124350982u, 2130110682u, 2135885998u, 2141676973u, 2147483648u,
};

#define HW_LOG2_E 1549082005ull /* << 30 */
#define HW_LN_2	  744261118ull	/* << 30 */

/* For arguments above 44 the result is the largest value, for arguments below -44 it is 0. */
#define HW_EXP_MOST (44ll << HW_EXP_SHIFT)

/* 2^f with 30 fractional bits. f is a fraction of 1 with 32 fractional bits. */
static inline u64 hw_exp_part(u32 fraction)
{
	u32 at = fraction >> 24;
	u64 low = hw_exp_table[at], high = hw_exp_table[at + 1];

	return low + ((high - low) * (fraction & 0xffffff) >> 24);
}

/* e^x, x with HW_EXP_SHIFT bits after the point, the result with HW_VALUE_SHIFT; at most 2^63. */
static inline u64 hw_exp(s64 x)
{
	u64 y, part;
	u32 whole, fraction, shift;

	if (x > HW_EXP_MOST)
		return 1ull << 63;
	if (x < -HW_EXP_MOST)
		return 0;
	/* y has 32 fractional bits */
	y = (u64)(x < 0 ? -x : x) * HW_LOG2_E >> (HW_EXP_SHIFT + 30 - 32);
	whole = (u32)(y >> 32);
	fraction = (u32)y;
	if (x >= 0) {
		part = hw_exp_part(fraction);
		if (whole >= 30 - HW_VALUE_SHIFT) {
			shift = whole - (30 - HW_VALUE_SHIFT);
			return shift > 32 ? 1ull << 63 : part << shift;
		}
		return part >> (30 - HW_VALUE_SHIFT - whole);
	}
	/* computes 2^-y: shifts by y rounded up, and looks up 2 to the power of the rest in the
	 * table */
	whole += fraction != 0;
	part = hw_exp_part(0u - fraction);
	shift = whole + 30 - HW_VALUE_SHIFT;
	return shift > 63 ? 0 : part >> shift;
}

/*
 * The natural logarithm, with HW_EXP_SHIFT bits after the point, of a value with HW_VALUE_SHIFT
 * bits after the point; a value of 0 counts as the smallest above 0. It is interpolated
 * linearly between powers of two, so it is at most 0.0597 too small. That is accurate enough
 * for MaxNet's first eta.
 */
static inline s64 hw_ln_roughly(u64 value)
{
	u32 whole;
	u64 fraction, size;
	s64 y;

	value += !value;
	whole = 63 - (u32)__builtin_clzll(value);
	fraction = (value << (63 - whole)) << 1;
	y = ((s64)whole - HW_VALUE_SHIFT) * (1ll << HW_EXP_SHIFT) +
	    (s64)(fraction >> (64 - HW_EXP_SHIFT));
	size = (u64)(y < 0 ? -y : y) * HW_LN_2 >> 30;
	return y < 0 ? -(s64)size : (s64)size;
}

#endif
