/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmark's ns-3 programs share. */
#ifndef NS3_COMMON_H
#define NS3_COMMON_H

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdint>
#include <fstream>
#include <string>

/* The packets that arrive at a device. */
struct Delivered {
	uint64_t data_pkts = 0;
	uint64_t bytes = 0;

	/* An acknowledgement or a SYN with every option is below 100 bytes. */
	static constexpr uint32_t kSmallestDataBytes = 100;

	void Count(ns3::Ptr<const ns3::Packet> packet)
	{
		if (packet->GetSize() >= kSmallestDataBytes) {
			data_pkts++;
			bytes += packet->GetSize();
		}
	}
};

/* ns-3's defaults would be another scenario: segments of 536 bytes, buffers of 128 KiB, a minimum
 * RTO of 1 s. */
inline void SetTcpDefaults(const std::string &control, uint32_t mss_bytes,
			   uint32_t initial_cwnd_pkts, uint32_t buffer_bytes)
{
	using namespace ns3;
	Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(control));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss_bytes));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initial_cwnd_pkts));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer_bytes));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer_bytes));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

inline ns3::PointToPointHelper LinkHelper(uint64_t rate_bps, ns3::Time delay,
					  const std::string &queue_size)
{
	using namespace ns3;
	PointToPointHelper link;
	link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate_bps)));
	link.SetChannelAttribute("Delay", TimeValue(delay));
	link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue_size));
	return link;
}

/* Not getrusage: its maximum survives exec, so it counts the program that started this one. */
inline uint64_t PeakRssBytes()
{
	std::ifstream status("/proc/self/status");
	std::string word;
	uint64_t kib = 0;
	while (status >> word) {
		if (word == "VmHWM:" && status >> kib) {
			break;
		}
	}
	return kib * 1024;
}

#endif
