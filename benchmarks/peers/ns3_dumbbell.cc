/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The benchmark's dumbbell in ns-3, to compare with the engine.
 *
 * Every flow has its own host pair, connected to two routers by 1 Gbit/s links without delay.
 * The link between the routers is the bottleneck; packets wait and are lost only in its
 * drop-tail queue. The program prints the speed of Simulator::Run as one line of JSON.
 *
 * ns-3's defaults would be another scenario, so the program sets: no fq_codel in front of the
 * devices, segments of 1448 bytes and not 536, buffers that never limit a flow, a minimum RTO
 * of 200 ms and not 1 s, access queues that never drop.
 */
#include "ns3_common.h"

#include "ns3/applications-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace
{

struct Scenario {
	uint32_t flows = 1;
	double duration_s = 60.0;
	std::string control = "cubic";
	std::string routing = "nix";
	uint32_t initial_cwnd_pkts = 10;
	uint32_t queue_pkts = 417;
	uint64_t rate_bps = 100000000;
	double rtt_ms = 50.0;
	uint32_t mss_bytes = 1448;
	uint32_t buffer_bytes = 4 * 1024 * 1024;
	bool hystart = true;
};

/* The first and second host of link number i, in the /30 that is i's. */
std::string NetworkOfLink(uint32_t i)
{
	const uint32_t network = (10u << 24) + i * 4;
	char text[16];
	std::snprintf(text, sizeof(text), "%u.%u.%u.%u", network >> 24, (network >> 16) & 255,
		      (network >> 8) & 255, network & 255);
	return text;
}

void SetDefaults(const Scenario &s)
{
	using namespace ns3;
	static const std::map<std::string, std::string> controls = {
		{"reno", "ns3::TcpLinuxReno"},
		{"newreno", "ns3::TcpNewReno"},
		{"cubic", "ns3::TcpCubic"},
		{"htcp", "ns3::TcpHtcp"},
	};
	const auto control = controls.find(s.control);
	if (control == controls.end()) {
		std::cerr << "ns3_dumbbell: unknown control '" << s.control
			  << "'; there are reno, newreno, cubic, htcp\n";
		std::exit(2);
	}
	SetTcpDefaults(control->second, s.mss_bytes, s.initial_cwnd_pkts, s.buffer_bytes);
	Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(s.hystart));
}

/* Assigns addresses to a link's two ends and removes the queue disc that this adds. */
ns3::Ipv4InterfaceContainer Number(const ns3::NetDeviceContainer &devices, uint32_t link)
{
	ns3::Ipv4AddressHelper address;
	address.SetBase(NetworkOfLink(link).c_str(), "255.255.255.252");
	const auto interfaces = address.Assign(devices);
	ns3::TrafficControlHelper().Uninstall(devices);
	return interfaces;
}

/* Static routes, for comparing: hosts have a default route, routers one per host. */
void RouteStatically(const ns3::NodeContainer &routers, const ns3::NodeContainer &senders,
		     const ns3::NodeContainer &receivers)
{
	using namespace ns3;
	Ipv4StaticRoutingHelper helper;
	for (const auto &hosts : {senders, receivers}) {
		const bool left = hosts.Get(0) == senders.Get(0);
		const Ptr<Node> router = routers.Get(left ? 0 : 1);
		const Ptr<Node> other = routers.Get(left ? 1 : 0);
		/* Interface 0 is the loopback, 1 the bottleneck, then one per host. */
		const uint32_t bottleneck = 1;
		for (uint32_t i = 0; i < hosts.GetN(); i++) {
			const Ptr<Ipv4> host = hosts.Get(i)->GetObject<Ipv4>();
			helper.GetStaticRouting(host)->SetDefaultRoute(
				router->GetObject<Ipv4>()->GetAddress(i + 2, 0).GetLocal(), 1);
			helper.GetStaticRouting(other->GetObject<Ipv4>())
				->AddHostRouteTo(host->GetAddress(1, 0).GetLocal(), bottleneck);
		}
	}
}

int Run(const Scenario &s)
{
	using namespace ns3;
	SetDefaults(s);

	NodeContainer routers(2);
	NodeContainer senders(s.flows);
	NodeContainer receivers(s.flows);
	InternetStackHelper stack;
	Ipv4NixVectorHelper nix;
	if (s.routing == "nix") {
		stack.SetRoutingHelper(nix);
	}
	stack.SetIpv6StackInstall(false);
	stack.Install(routers);
	stack.Install(senders);
	stack.Install(receivers);

	auto bottleneck =
		LinkHelper(s.rate_bps, MicroSeconds(static_cast<uint64_t>(s.rtt_ms * 500)),
			   std::to_string(s.queue_pkts) + "p");
	auto access = LinkHelper(1000000000, Time(0), "100000p");
	const auto middle = bottleneck.Install(routers);
	Number(middle, 0);

	std::vector<Ipv4Address> addresses;
	for (uint32_t i = 0; i < s.flows; i++) {
		Number(access.Install(routers.Get(0), senders.Get(i)), 1 + 2 * i);
		const auto far =
			Number(access.Install(routers.Get(1), receivers.Get(i)), 2 + 2 * i);
		addresses.push_back(far.GetAddress(1));
	}
	if (s.routing == "static") {
		RouteStatically(routers, senders, receivers);
	}

	const uint16_t port = 5001;
	PacketSinkHelper sink("ns3::TcpSocketFactory",
			      InetSocketAddress(Ipv4Address::GetAny(), port));
	sink.Install(receivers).Start(Seconds(0));
	for (uint32_t i = 0; i < s.flows; i++) {
		BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(addresses[i], port));
		bulk.SetAttribute("MaxBytes", UintegerValue(0));
		bulk.SetAttribute("SendSize", UintegerValue(s.mss_bytes));
		/* Spread over the first second; otherwise all flows would be in slow start at
		 * once. */
		bulk.Install(senders.Get(i)).Start(Seconds(static_cast<double>(i) / s.flows));
	}

	Delivered delivered;
	middle.Get(1)->TraceConnectWithoutContext("MacRx",
						  MakeCallback(&Delivered::Count, &delivered));

	Simulator::Stop(Seconds(s.duration_s));
	const auto start = std::chrono::steady_clock::now();
	Simulator::Run();
	const auto end = std::chrono::steady_clock::now();
	Simulator::Destroy();

	const double wall_s = std::chrono::duration<double>(end - start).count();
	if (delivered.data_pkts == 0) {
		std::cerr << "ns3_dumbbell: no data packet crossed the bottleneck\n";
		return 1;
	}
	const double pkts = static_cast<double>(delivered.data_pkts);
	std::printf("{\"flows\": %u, \"duration_s\": %g, \"control\": \"%s\", \"data_pkts\": %llu, "
		    "\"wall_s\": %.6f, \"pkts_per_s\": %.1f, \"ns_per_pkt\": %.1f, "
		    "\"peak_rss_bytes\": %llu, \"utilization\": %.4f}\n",
		    s.flows, s.duration_s, s.control.c_str(),
		    static_cast<unsigned long long>(delivered.data_pkts), wall_s, pkts / wall_s,
		    wall_s * 1e9 / pkts, static_cast<unsigned long long>(PeakRssBytes()),
		    static_cast<double>(delivered.bytes) * 8 /
			    (static_cast<double>(s.rate_bps) * s.duration_s));
	return 0;
}

} // namespace

int main(int argc, char *argv[])
{
	Scenario s;
	ns3::CommandLine arguments;
	arguments.AddValue("flows", "number of flows", s.flows);
	arguments.AddValue("duration-s", "simulated time (s)", s.duration_s);
	arguments.AddValue("control", "reno, newreno, cubic or htcp", s.control);
	arguments.AddValue("routing", "nix or static", s.routing);
	arguments.AddValue("iw", "initial window (packets)", s.initial_cwnd_pkts);
	arguments.AddValue("queue", "bottleneck queue (packets)", s.queue_pkts);
	arguments.AddValue("rate-bps", "bottleneck rate (bit/s)", s.rate_bps);
	arguments.AddValue("rtt-ms", "round-trip time without queueing (ms)", s.rtt_ms);
	arguments.AddValue("mss", "segment size (bytes)", s.mss_bytes);
	arguments.AddValue("buffer", "socket buffers (bytes)", s.buffer_bytes);
	arguments.AddValue("hystart", "HyStart in CUBIC", s.hystart);
	arguments.Parse(argc, argv);
	if (s.flows == 0 || s.duration_s <= 0 || (s.routing != "nix" && s.routing != "static")) {
		std::cerr << "ns3_dumbbell: flows and duration-s must be positive, "
			     "routing is nix or static\n";
		return 2;
	}
	return Run(s);
}
