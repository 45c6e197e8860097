/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The benchmark's leaf-spine fabric in ns-3, to compare with leafspine_bench.py.
 *
 * Every host starts DCTCP transfers to random other hosts: Poisson arrivals, sizes from a file.
 * Every port, those of the hosts included, marks packets above a threshold. All transfers of two
 * hosts take the same spine. The program prints the cost of Simulator::Run, and what happened, as
 * one line of JSON.
 */
#include "ns3_common.h"

#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace
{

constexpr uint32_t kLeaves = 8;
constexpr uint32_t kSpines = 4;
constexpr uint32_t kHostsPerLeaf = 16;
constexpr uint32_t kHosts = kLeaves * kHostsPerLeaf;
constexpr double kHostBps = 100e9;
constexpr double kSpineBps = 400e9;
constexpr double kLinkDelayS = 1e-6;
constexpr double kLoad = 0.6;
constexpr uint32_t kMssBytes = 1448;
constexpr uint32_t kHeaderBytes = 52;
constexpr uint32_t kSynBytes = 60;
constexpr uint32_t kBufferBytes = 4 * 1024 * 1024;
constexpr uint16_t kPort = 5001;

ns3::Ipv4Address AddressOf(uint32_t host) { return ns3::Ipv4Address((10u << 24) + 1 + host); }
uint32_t HostOf(ns3::Ipv4Address address) { return address.Get() - (10u << 24) - 1; }

/* ns-3's global routing spreads packets, not flows, over equal routes, and searches lists. */
class Router : public ns3::Ipv4RoutingProtocol
{
      public:
	enum class Level { kHost, kLeaf, kSpine };
	Router(Level level, uint32_t number) : level_(level), number_(number) {}

	ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet>, const ns3::Ipv4Header &header,
					     ns3::Ptr<ns3::NetDevice>,
					     ns3::Socket::SocketErrno &error) override
	{
		error = ns3::Socket::ERROR_NOTERROR;
		return RouteOf(header);
	}
	bool RouteInput(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header &header,
			ns3::Ptr<const ns3::NetDevice> device, UnicastForwardCallback forward,
			MulticastForwardCallback, LocalDeliverCallback deliver,
			ErrorCallback) override
	{
		if (level_ == Level::kHost) {
			deliver(packet, header, ipv4_->GetInterfaceForDevice(device));
		} else {
			forward(RouteOf(header), packet, header);
		}
		return true;
	}
	/* Ports must be added in the order of the hosts, leaves or spines behind them. */
	void AddPort(ns3::Ptr<ns3::NetDevice> device)
	{
		const uint32_t interface = ipv4_->AddInterface(device);
		ipv4_->SetUp(interface);
		const auto route = ns3::Create<ns3::Ipv4Route>();
		route->SetOutputDevice(device);
		route->SetGateway(ns3::Ipv4Address::GetZero());
		if (level_ == Level::kHost) {
			const auto address = AddressOf(number_);
			ipv4_->AddAddress(interface, {address, ns3::Ipv4Mask::GetOnes()});
			route->SetSource(address);
		}
		routes_.push_back(route);
	}
	void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override { ipv4_ = ipv4; }
	void NotifyInterfaceUp(uint32_t) override {}
	void NotifyInterfaceDown(uint32_t) override {}
	void NotifyAddAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
	void NotifyRemoveAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
	void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper>, ns3::Time::Unit) const override
	{
	}

      private:
	ns3::Ptr<ns3::Ipv4Route> RouteOf(const ns3::Ipv4Header &header) const
	{
		const uint32_t to = HostOf(header.GetDestination());
		if (level_ == Level::kHost) {
			return routes_[0];
		}
		if (level_ == Level::kSpine) {
			return routes_[to / kHostsPerLeaf];
		}
		if (to / kHostsPerLeaf == number_) {
			return routes_[to % kHostsPerLeaf];
		}
		const uint32_t pair = HostOf(header.GetSource()) * kHosts + to;
		return routes_[kHostsPerLeaf + (pair * 2654435761u >> 16) % kSpines];
	}

	Level level_;
	uint32_t number_;
	ns3::Ptr<ns3::Ipv4> ipv4_;
	std::vector<ns3::Ptr<ns3::Ipv4Route>> routes_;
};

/* The fabric: hosts, leaves and spines, each with a Router, and what arrives at the hosts. */
struct Fabric {
	ns3::NodeContainer hosts{kHosts};
	ns3::QueueDiscContainer queues;
	Delivered delivered;

	Fabric(uint32_t threshold_pkts, uint32_t limit_pkts)
	{
		using namespace ns3;
		NodeContainer leaves(kLeaves);
		NodeContainer spines(kSpines);
		InternetStackHelper stack;
		stack.SetIpv6StackInstall(false);
		const auto start = [&stack](NodeContainer nodes, Router::Level level) {
			stack.Install(nodes);
			std::vector<Ptr<Router>> routers;
			for (uint32_t i = 0; i < nodes.GetN(); i++) {
				routers.push_back(CreateObject<Router>(level, i));
				nodes.Get(i)->GetObject<Ipv4>()->SetRoutingProtocol(routers[i]);
			}
			return routers;
		};
		const auto of_hosts = start(hosts, Router::Level::kHost);
		const auto of_leaves = start(leaves, Router::Level::kLeaf);
		const auto of_spines = start(spines, Router::Level::kSpine);

		/* RED without an average is a threshold. Packets wait in it, not in the device. */
		TrafficControlHelper step;
		const DoubleValue threshold(threshold_pkts);
		step.SetRootQueueDisc("ns3::RedQueueDisc", "QW", DoubleValue(1), "MinTh", threshold,
				      "MaxTh", threshold, "Gentle", BooleanValue(false), "UseEcn",
				      BooleanValue(true), "UseHardDrop", BooleanValue(false),
				      "MaxSize", StringValue(std::to_string(limit_pkts) + "p"));
		const auto join = [this, &step](PointToPointHelper link, Ptr<Node> below,
						Ptr<Router> router, Ptr<Node> above,
						Ptr<Router> upper) {
			const auto devices = link.Install(below, above);
			router->AddPort(devices.Get(0));
			upper->AddPort(devices.Get(1));
			queues.Add(step.Install(devices));
			return devices.Get(0);
		};
		auto host_link = LinkHelper(kHostBps, Seconds(kLinkDelayS), "1p");
		auto spine_link = LinkHelper(kSpineBps, Seconds(kLinkDelayS), "1p");
		for (uint32_t i = 0; i < kHosts; i++) {
			const uint32_t leaf = i / kHostsPerLeaf;
			join(host_link, hosts.Get(i), of_hosts[i], leaves.Get(leaf),
			     of_leaves[leaf])
				->TraceConnectWithoutContext(
					"MacRx", MakeCallback(&Delivered::Count, &delivered));
		}
		for (uint32_t leaf = 0; leaf < kLeaves; leaf++) {
			for (uint32_t i = 0; i < kSpines; i++) {
				join(spine_link, leaves.Get(leaf), of_leaves[leaf], spines.Get(i),
				     of_spines[i]);
			}
		}
	}
};

/* Points of a distribution function, linear between them; the first is a size of its own. */
struct Sizes {
	std::vector<std::pair<double, double>> points;

	explicit Sizes(const std::string &path)
	{
		std::ifstream file(path);
		std::string line;
		double bytes, share;
		while (std::getline(file, line)) {
			if (std::sscanf(line.c_str(), "%lf %lf", &bytes, &share) == 2) {
				points.emplace_back(bytes, share);
			}
		}
	}
	double Mean() const
	{
		double mean = points[0].first * points[0].second;
		for (size_t i = 1; i < points.size(); i++) {
			mean += (points[i].first + points[i - 1].first) / 2 *
				(points[i].second - points[i - 1].second);
		}
		return mean;
	}
	uint64_t At(double share) const
	{
		size_t i = 0;
		while (points[i].second < share) {
			i++;
		}
		if (i == 0) {
			return static_cast<uint64_t>(points[0].first);
		}
		const auto &[below, from] = points[i - 1];
		const auto &[above, to] = points[i];
		return static_cast<uint64_t>(below +
					     (above - below) * (share - from) / (to - from));
	}
};

/* Seconds from a handshake's SYN until the last byte on an empty path, with an unlimited window. */
double IdealS(uint32_t from, uint32_t to, uint64_t size)
{
	std::vector<double> rates = {kHostBps, kHostBps};
	if (from / kHostsPerLeaf != to / kHostsPerLeaf) {
		rates = {kHostBps, kSpineBps, kSpineBps, kHostBps};
	}
	const double bits_per_pkt = 8 * (kMssBytes + kHeaderBytes);
	const uint64_t full_pkts = (size - 1) / kMssBytes;
	const double last_bits = 8.0 * (size - full_pkts * kMssBytes + kHeaderBytes);
	double handshake = 0;
	/* Full packets leave at the rate of the first link, the slowest. The last one may be
	 * smaller, and waits for the one before it. */
	double full = full_pkts ? (full_pkts - 1) * bits_per_pkt / kHostBps : 0;
	double last = full;
	for (const double rate : rates) {
		handshake += 2 * (8 * kSynBytes / rate + kLinkDelayS);
		full += full_pkts ? bits_per_pkt / rate : 0;
		last = std::max(last, full) + last_bits / rate + kLinkDelayS;
		full += kLinkDelayS;
	}
	return handshake + last;
}

double Quantile(std::vector<double> values, double share)
{
	std::sort(values.begin(), values.end());
	return values.empty() ? 0 : values[static_cast<size_t>(share * (values.size() - 1) + 0.5)];
}

class Traffic
{
      public:
	uint64_t begun = 0;
	uint64_t received_bytes = 0;
	std::vector<double> slowdowns;
	/* The key is the whole part of the size's logarithm. */
	std::map<int, std::vector<double>> slowdowns_by_log;

	Traffic(const ns3::NodeContainer &hosts, const Sizes &sizes, uint64_t seed)
	    : hosts_(hosts), sizes_(sizes), random_(seed),
	      gap_s_(kLoad * kHostBps * kMssBytes / (kMssBytes + kHeaderBytes) / 8 / sizes.Mean())
	{
		using namespace ns3;
		for (uint32_t host = 0; host < kHosts; host++) {
			const auto socket = NewSocket(host);
			socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
			socket->Listen();
			socket->SetAcceptCallback(
				MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
				MakeCallback(&Traffic::Accept, this));
			ScheduleNext(host);
		}
	}

      private:
	struct Transfer {
		uint64_t size;
		uint64_t to_send;
		uint64_t to_receive;
		double ideal_s;
		ns3::Time began;
	};

	ns3::Ptr<ns3::Socket> NewSocket(uint32_t host)
	{
		return ns3::Socket::CreateSocket(hosts_.Get(host),
						 ns3::TcpSocketFactory::GetTypeId());
	}
	void ScheduleNext(uint32_t host)
	{
		ns3::Simulator::Schedule(ns3::Seconds(gap_s_(random_)), &Traffic::Begin, this,
					 host);
	}
	void Begin(uint32_t from)
	{
		using namespace ns3;
		ScheduleNext(from);
		std::uniform_int_distribution<uint32_t> other(1, kHosts - 1);
		const uint32_t to = (from + other(random_)) % kHosts;
		const uint64_t size = sizes_.At(std::uniform_real_distribution<>()(random_));
		const auto socket = NewSocket(from);
		socket->Bind();
		Address name;
		socket->GetSockName(name);
		const auto port = InetSocketAddress::ConvertFrom(name).GetPort();
		Transfer &transfer = transfers_[{from, port}];
		transfer = {size, size, size, IdealS(from, to, size), Simulator::Now()};
		const auto send = [&transfer](Ptr<Socket> socket, uint32_t = 0) {
			Send(transfer, socket);
		};
		socket->SetConnectCallback(Callback<void, Ptr<Socket>>(send), {});
		socket->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(send));
		begun++;
		socket->Connect(InetSocketAddress(AddressOf(to), kPort));
	}
	static void Send(Transfer &transfer, ns3::Ptr<ns3::Socket> socket)
	{
		while (transfer.to_send) {
			const auto bytes = static_cast<uint32_t>(
				std::min<uint64_t>(transfer.to_send, kMssBytes));
			if (socket->GetTxAvailable() < bytes ||
			    socket->Send(ns3::Create<ns3::Packet>(bytes)) < 0) {
				return;
			}
			transfer.to_send -= bytes;
			if (!transfer.to_send) {
				socket->Close();
			}
		}
	}
	void Accept(ns3::Ptr<ns3::Socket> socket, const ns3::Address &peer)
	{
		using namespace ns3;
		const auto from = InetSocketAddress::ConvertFrom(peer);
		Transfer &transfer = transfers_.at({HostOf(from.GetIpv4()), from.GetPort()});
		socket->SetRecvCallback(Callback<void, Ptr<Socket>>(
			[this, &transfer](Ptr<Socket> socket) { Receive(transfer, socket); }));
		const Callback<void, Ptr<Socket>> close(
			[](Ptr<Socket> socket) { socket->Close(); });
		socket->SetCloseCallbacks(close, close);
	}
	void Receive(Transfer &transfer, ns3::Ptr<ns3::Socket> socket)
	{
		while (const auto packet = socket->Recv()) {
			received_bytes += packet->GetSize();
			transfer.to_receive -= packet->GetSize();
			if (packet->GetSize() && !transfer.to_receive) {
				const auto took = ns3::Simulator::Now() - transfer.began;
				const double slowdown = took.GetSeconds() / transfer.ideal_s;
				slowdowns.push_back(slowdown);
				slowdowns_by_log[std::log10(transfer.size)].push_back(slowdown);
			}
		}
	}

	ns3::NodeContainer hosts_;
	const Sizes &sizes_;
	std::mt19937_64 random_;
	std::exponential_distribution<> gap_s_;
	std::map<std::pair<uint32_t, uint16_t>, Transfer> transfers_;
};

void Run(double duration_s, const Sizes &sizes, uint64_t seed, uint32_t threshold_pkts,
	 uint32_t limit_pkts)
{
	using namespace ns3;
	SetTcpDefaults("ns3::TcpDctcp", kMssBytes, 10, kBufferBytes);
	Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(TcpSocketState::On));
	Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
	Fabric fabric(threshold_pkts, limit_pkts);
	Traffic traffic(fabric.hosts, sizes, seed);

	Simulator::Stop(Seconds(duration_s));
	const auto start = std::chrono::steady_clock::now();
	const std::clock_t cpu_start = std::clock();
	Simulator::Run();
	const double cpu_s = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
	const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;

	uint64_t marks = 0;
	uint64_t drops = 0;
	for (uint32_t i = 0; i < fabric.queues.GetN(); i++) {
		const auto &stats = fabric.queues.Get(i)->GetStats();
		marks += stats.nTotalMarkedPackets;
		drops += stats.nTotalDroppedPackets;
	}
	std::printf("{\"duration_s\": %g, \"data_pkts\": %llu, \"bytes\": %llu, \"wall_s\": %.3f, "
		    "\"cpu_s\": %.3f, \"peak_rss_bytes\": %llu, \"begun\": %llu, "
		    "\"completed\": %zu, \"marks\": %llu, \"drops\": %llu, "
		    "\"slowdowns\": {\"median\": %.3f, \"p99\": %.3f",
		    duration_s, static_cast<unsigned long long>(fabric.delivered.data_pkts),
		    static_cast<unsigned long long>(traffic.received_bytes), wall.count(), cpu_s,
		    static_cast<unsigned long long>(PeakRssBytes()),
		    static_cast<unsigned long long>(traffic.begun), traffic.slowdowns.size(),
		    static_cast<unsigned long long>(marks), static_cast<unsigned long long>(drops),
		    Quantile(traffic.slowdowns, 0.5), Quantile(traffic.slowdowns, 0.99));
	for (const auto &[log, slowdowns] : traffic.slowdowns_by_log) {
		std::printf(", \"%.0f\": %.3f", std::pow(10, log + 1), Quantile(slowdowns, 0.5));
	}
	std::printf("}}\n");
	Simulator::Destroy();
}

} // namespace

int main(int argc, char *argv[])
{
	double duration_s = 0.001;
	uint64_t seed = 1;
	uint32_t threshold_pkts = 100;
	uint32_t limit_pkts = 2000;
	std::string cdf;
	ns3::CommandLine arguments;
	arguments.AddValue("duration-s", "simulated time (s)", duration_s);
	arguments.AddValue("seed", "of arrivals, sizes and destinations", seed);
	arguments.AddValue("threshold", "packets above which ports mark", threshold_pkts);
	arguments.AddValue("limit", "packets that a port holds", limit_pkts);
	arguments.AddValue("sizes", "file with lines of bytes and a share", cdf);
	arguments.Parse(argc, argv);
	const Sizes sizes(cdf);
	if (duration_s <= 0 || sizes.points.empty() || sizes.points.back().second < 1) {
		std::cerr << "ns3_leafspine: duration-s must be positive, sizes a file whose last "
			     "share is 1\n";
		return 2;
	}
	Run(duration_s, sizes, seed, threshold_pkts, limit_pkts);
	return 0;
}
