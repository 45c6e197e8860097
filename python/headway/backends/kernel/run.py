"""One run on the kernel: starts its programs, and builds the trace from their files."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from headway.backends.kernel import network, records, sites, traffic_files, web
from headway.backends.kernel.headwayctl import Child, Headwayctl
from headway.backends.kernel.programs import Programs, needs_ecn, port_of
from headway.backends.kernel.testbed import Testbed
from headway.engine import engine
from headway.errors import HeadwayError
from headway.experiment import (
    ACCURATE,
    ASKING,
    Bulk,
    Cbr,
    Exchanges,
    Experiment,
    Flow,
    Pages,
    Sessions,
    Site,
    Vectors,
    named_links,
)
from headway.experiment.directions import server_sends_more
from headway.mechanisms import gateway
from headway.registry import registry
from headway.trace import SCHEMA, FlowSummary, Trace
from headway.versions import versions

_SETUP_NS = 500_000_000
_SETUP_PER_FLOW_NS = 60_000_000
_SETUP_WEB_NS = 2_000_000_000
"""Time that the first client of Web pages needs to load Python modules."""
_SETUP_PER_WEB_NS = 250_000_000
"""Additional time for each further client of Web pages, because all load at the same time."""
_LATE_NS = 5_000_000
"""An exchange that begins later than this after its due time gets a note in the trace."""


class Run:
    """The programs of one run on a testbed."""

    def __init__(
        self,
        ctl: Headwayctl,
        testbed: Testbed,
        experiment: Experiment,
        controls: Mapping[int, str],
        folder: Path,
    ) -> None:
        self._ctl = ctl
        self._testbed = testbed
        self._experiment = experiment
        self._controls = controls
        self._folder = folder
        self._senders: dict[int, Child] = {}
        self._receivers: dict[int, Child] = {}
        self._sampler: Child | None = None
        self._watcher: Child | None = None
        self._proxy = testbed.proxy()
        self._sent: dict[int, Mapping[str, Any]] = {}
        self._received: dict[int, Mapping[str, Any]] = {}
        self._sampled: Mapping[str, Any] = {}
        self._skipped_controls: list[int] = []
        """Flows whose control the kernel skipped at least once."""
        self._sysctls: dict[str, str] = {}
        self._quiet_ns: int | None = None
        """Time by which the last packets will have arrived; set once all programs have ended."""
        self._ports = [port_of(index) for index in range(len(experiment.flows))]
        self.start_ns = 0

    @property
    def end_ns(self) -> int:
        """Time at which the run ends at the latest; it ends earlier if all transfers are done."""
        return self.start_ns + self._experiment.duration

    def start(self) -> None:
        """Start all programs; traffic begins at ``start_ns``, shortly after this call."""
        flows = self._experiment.flows
        self._sysctls = self._testbed.sysctls()
        hosts = sorted(
            {
                self._testbed.host(index, is_opener=not server_sends_more(flow))
                for index, flow in enumerate(flows)
                if flow.is_tcp
            }
        )
        sampler = [self._ctl.path, "sample", "--die-with-parent",
                   "--out", str(self._folder / "samples"),
                   "--port", f"{self._ports[0]}-{self._ports[-1]}"]  # fmt: skip
        if any(map(server_sends_more, flows)):
            sampler.append("--both-ends")
        if len(hosts) <= 8:
            for host in hosts:
                sampler += ["--netns", self._testbed.netns(host)]
        self._sampler = Child(sampler, "sampler")
        self._sampler.wait_ready()
        if self._proxy is not None:
            self._proxy.start(self._controls[gateway.CONTROL])
        programs = Programs(
            self._ctl, self._testbed, self._experiment, self._controls, self._folder, 0
        )
        setup_ns = _SETUP_NS + _SETUP_PER_FLOW_NS * len(flows)
        if web_flows := sum(isinstance(flow.app, Pages) for flow in flows):
            self._start_web(programs)
            setup_ns += _SETUP_WEB_NS + _SETUP_PER_WEB_NS * (web_flows - 1)
        if any(isinstance(flow.app, Site) for flow in flows):
            setup_ns += sites.SETUP_NS
        self.start_ns = time.monotonic_ns() + setup_ns
        programs = replace(programs, start_ns=self.start_ns)
        self._testbed.begin(self.start_ns)
        self._watch_routers()
        names = self._experiment.flow_names()
        for index, flow in enumerate(flows):
            if not self._is_web(index):
                command = programs.receiver(index, flow)
                self._receivers[index] = Child(command, f"receiver of {names[index]}")
        for index, child in self._receivers.items():
            if not self._is_web(index):
                child.wait_ready()
        for index, flow in enumerate(flows):
            command = programs.sender(index, flow)
            self._senders[index] = Child(command, f"sender of {names[index]}")
        if time.monotonic_ns() > self.start_ns:
            raise HeadwayError(
                "kernel backend: the machine is too busy to start the programs in time"
            )

    def _start_web(self, programs: Programs) -> None:
        """Start Web servers first, since they take longest to start."""
        for index, flow in enumerate(self._experiment.flows):
            if self._is_web(index):
                name = f"Web server of {self._experiment.flow_names()[index]}"
                self._receivers[index] = Child(programs.receiver(index, flow), name)
        for child in self._receivers.values():
            child.wait_ready()

    def _watch_routers(self) -> None:
        """Start a program that reads the routers' counters at checkpoints before the run's end."""
        experiment = self._experiment
        times_ns = [at for at in experiment.checkpoints_ns() if at < experiment.duration]
        assert self._testbed.mechanisms is not None
        command = self._testbed.mechanisms.watch_command()
        if not (command and times_ns):
            return
        at = self._folder / "readings.at"
        at.write_text("".join(f"{self.start_ns + time_ns}\n" for time_ns in times_ns))
        self._watcher = Child(
            [self._ctl.path, *command, "--at", str(at), "--out", str(self._folder / "readings"),
             "--die-with-parent"],
            "watcher of routers",
        )  # fmt: skip
        self._watcher.wait_ready()

    def _readings(self) -> list[dict[str, Any]]:
        """The routers' counters at the checkpoints, with times since the run's start."""
        if self._watcher is None:
            return []
        lines = (self._folder / "readings").read_text(encoding="utf-8").splitlines()
        readings: list[dict[str, Any]] = [json.loads(line) for line in lines]
        return [{**one, "time_ns": one["time_ns"] - self.start_ns} for one in readings]

    def check(self) -> None:
        """Raise HeadwayError if a program has failed."""
        for child in self._children():
            child.check()
        if self._proxy is not None:
            self._proxy.check()

    def is_over(self) -> bool:
        """Whether all programs have ended, and the last packets have had time to arrive."""
        programs = [
            *self._senders.values(),
            *(child for index, child in self._receivers.items() if not self._is_web(index)),
        ]
        if not all(child.ended() for child in programs):
            return False
        if self._quiet_ns is None:
            farthest_ns = max(flow.delay for flow in self._experiment.flows)
            rtt_ns = self._experiment.base_rtt_ns + 2 * farthest_ns
            self._quiet_ns = time.monotonic_ns() + 2 * rtt_ns
        return time.monotonic_ns() > self._quiet_ns

    def finish(self) -> None:
        """Collect the programs' summaries. Raises HeadwayError."""
        self._sent = {index: child.result(5.0) for index, child in self._senders.items()}
        for index, child in self._receivers.items():
            if self._is_web(index):
                child.interrupt()
        self._received = {index: child.result(5.0) for index, child in self._receivers.items()}
        if self._testbed.mechanisms is not None:
            self._testbed.mechanisms.read()
        if self._watcher is not None:
            self._watcher.interrupt()
            self._watcher.result(5.0)
        if self._sampler is not None:
            self._sampler.interrupt()
            self._sampled = self._sampler.result(10.0)

    def _is_web(self, index: int) -> bool:
        """Whether the flow's server is a Web server, which runs until SIGTERM."""
        return isinstance(self._experiment.flows[index].app, Pages)

    def kill(self) -> None:
        """Kill all programs that still run."""
        for child in self._children():
            child.kill()
        if self._proxy is not None:
            self._proxy.kill()

    def _children(self) -> list[Child]:
        others = [child for child in (self._sampler, self._watcher) if child is not None]
        return [*self._senders.values(), *self._receivers.values(), *others]

    def trace(self, requested: Experiment, key: str, *, builtin: bool) -> Trace:
        """The trace of experiment ``requested``, after the run and the testbed have ended."""
        experiment = self._experiment
        log = records.PacketLog.load(
            self._testbed.log,
            self._ports,
            self.start_ns,
            experiment.duration,
            network.logged_routes(experiment),
            is_reversed=gateway.is_reversed(experiment),
        )
        samples = records.read(self._folder / "samples", records.SAMPLE)
        samples = samples[samples["time_ns"] < self.end_ns]
        checkpoints = [*experiment.checkpoints_ns(), experiment.duration]
        tables = _link_tables(log, checkpoints, experiment)
        assert self._testbed.mechanisms is not None
        counted = self._testbed.mechanisms.router_counters(self._readings())
        tables["router_counters"] = records.frame("router_counters", counted)
        tables["queue_counters"] = self._queue_counters()
        for absent in ("sub_queues", "captured"):
            tables[absent] = records.empty(absent)
        parts: dict[str, list[pl.DataFrame]] = {
            name: [] for name in ("flow_state", "backoffs", "flow_counters", "udp", "responses")
        }
        flows = []
        for index, flow in enumerate(experiment.flows):
            recorded = "local_port" if server_sends_more(flow) else "peer_port"
            own = samples[samples[recorded] == self._ports[index]]
            if isinstance(flow.app, Cbr):
                self._udp(index, parts)
            else:
                self._tcp(index, flow, own, checkpoints, parts)
                parts["responses"].append(self._responses(index, requested.flows[index], log))
            summary = self._summary(index, flow, own, log)
            flows.append(summary.model_copy(update={"kind": requested.flows[index].app.kind}))
        order = {"flow_state": ["time_ns"], "backoffs": ["time_ns"], "udp": ["sent_ns"],
                 "flow_counters": ["time_ns", "flow"], "responses": ["end_ns"]}  # fmt: skip
        tables |= {name: records.concat(name, parts[name], order[name]) for name in parts}
        return Trace(
            tables=tables,
            flows=tuple(flows),
            links=gateway.LINKS
            if gateway.has_gateway(experiment)
            else network.link_names(experiment),
            meta={"key": key, **self._meta(requested, builtin, log)},
            capture=self._testbed.capture(),
            routers=experiment.router_algorithms(),
            queues=experiment.queue_algorithms(),
        )

    def _queue_counters(self) -> pl.DataFrame:
        """The queue disciplines' counters, which the emulator reports at its end."""
        experiment = self._experiment
        links = list(named_links(experiment.topology).values())
        queues = {queue.name: queue for queue in experiment.queue_algorithms()}
        rows = []
        emulated = self._testbed.summary.get("directions", [])
        for link, direction in enumerate(emulated, min(gateway.link_numbers(experiment))):
            counted = direction.get("queue_counters", {})
            if (queue := queues.get(links[link].aqm.name)) is None:
                continue
            algorithm = list(queues).index(queue.name)
            for name, counter in enumerate(queue.counters):
                if counter.name in counted:
                    value = counted[counter.name]
                    rows.append((experiment.duration, link, algorithm, name, value))
        return pl.DataFrame(rows, schema=SCHEMA["queue_counters"], orient="row")

    def _udp(self, index: int, parts: Mapping[str, list[pl.DataFrame]]) -> None:
        sent = records.read_rows(self._folder / f"sent{index}", 2)
        received = records.read_rows(self._folder / f"received{index}", 3)
        if "udp" in self._experiment.record:
            parts["udp"].append(
                records.udp_fates(sent, received, index, self.start_ns, self._experiment.duration)
            )

    def _tcp(
        self,
        index: int,
        flow: Flow,
        samples: records.Records,
        checkpoints: Sequence[int],
        parts: Mapping[str, list[pl.DataFrame]],
    ) -> None:
        received = records.read_rows(self._folder / f"received{index}", 2)
        if "flows" in self._experiment.record:
            parts["flow_state"].append(records.flow_state(samples, index, self.start_ns))
        parts["backoffs"].append(records.backoffs(samples, index, self.start_ns))
        if records.has_unknown_ssthresh(samples):
            self._skipped_controls.append(index)
        parts["flow_counters"].append(
            records.tcp_counters(
                samples,
                received,
                self._final(index, flow),
                index,
                self.start_ns,
                checkpoints,
                syns=0 if server_sends_more(flow) else 1,
            )
        )

    def _responses(self, index: int, requested: Flow, log: records.PacketLog) -> pl.DataFrame:
        if isinstance(requested.app, Bulk):
            return records.empty("responses")
        rows = records.read_rows(self._folder / f"sent{index}", 3)
        if isinstance(requested.app, Sessions):
            played = self._experiment.flows[index]
            rows = traffic_files.start_after_handshake(rows, played, log.first_arrivals_ns(index))
        return records.frame(
            "responses",
            {
                "flow": np.full(len(rows), index),
                "epoch": rows[:, 0],
                "start_ns": rows[:, 1] - self.start_ns,
                "end_ns": rows[:, 2] - self.start_ns,
            },
        )

    def _final(self, index: int, flow: Flow) -> Mapping[str, Any] | None:
        """The last TCP_INFO of the flow's end that sends more data."""
        ends = self._received if server_sends_more(flow) else self._sent
        final: Mapping[str, Any] | None = ends[index].get("tcp_info")
        return final

    def _summary(
        self, index: int, flow: Flow, samples: records.Records, log: records.PacketLog
    ) -> FlowSummary:
        own_link_ns = self._experiment.topology.access_delay + flow.delay
        first_ns, last_ns = log.span_ns(index, own_link_ns)
        name = self._experiment.flow_names()[index]
        if flow.control is None:
            return FlowSummary(
                name=name, kind=flow.app.kind, first_packet_ns=first_ns, last_packet_ns=last_ns,
                ce_marks=log.marks(index),
            )  # fmt: skip
        started_ns = self._sent[index].get("started_ns")
        if started_ns is not None and gateway.gateway_precedes_link(self._experiment):
            first_ns = started_ns - self.start_ns
        info = self._final(index, flow) or {}
        unique = None
        if info.get("sent_bytes") is not None and info.get("retransmitted_bytes") is not None:
            unique = info["sent_bytes"] - info["retransmitted_bytes"]
        startup = flow.control.startup
        if startup is None and flow.control.kernel_own is None:
            startup = registry().control(flow.control.name).startup
        control = engine.plain(flow.control.name)
        asks_ecn = needs_ecn(flow) or bool(flow.ecn_of_ends and flow.ecn_of_ends[0] in ASKING)
        assert self._testbed.mechanisms is not None
        return FlowSummary(
            name=name,
            kind=flow.app.kind,
            control=control,
            startup=startup,
            first_packet_ns=first_ns,
            last_packet_ns=last_ns,
            unique_bytes=unique,
            done_ns=self._done_ns(index, flow),
            handshake_rtt_us=_handshake_us(samples) or self._connected_us(index),
            mss_bytes=info.get("mss_bytes"),
            ecn=info.get("ecn") if asks_ecn else None,
            accurate_ecn=None if ACCURATE in (flow.ecn_of_ends or ()) else False,
            ce_marks=log.marks(index, is_back=server_sends_more(flow)),
            ece_acks=None if flow.ecn or asks_ecn else 0,
            protocols=self._testbed.mechanisms.of_flow(index),
            first_flight=None,
            rwnd_limited_us=info.get("rwnd_limited_us"),
            sndbuf_limited_us=info.get("sndbuf_limited_us"),
        )

    def _done_ns(self, index: int, flow: Flow) -> int | None:
        """When the receiver read a sized bulk transfer's last byte; None if it did not."""
        received = self._received[index]
        size = flow.app.size if isinstance(flow.app, Bulk) else None
        if size is None or received.get("last_ns") is None or received["received_bytes"] < size:
            return None
        last_ns: int = received["last_ns"]
        return last_ns - self.start_ns

    def _connected_us(self, index: int) -> int | None:
        """Duration of the client's connect().

        It is used for flows that are recorded at the server, because the sampler records no SYN of
        server sockets.
        """
        sent = self._sent[index]
        if sent.get("started_ns") is None or sent.get("connected_ns") is None:
            return None
        length_ns: int = sent["connected_ns"] - sent["started_ns"]
        return length_ns // 1000

    def _late_notes(self) -> list[str]:
        """One note for each flow whose exchanges began late because the machine was busy."""
        names = self._experiment.flow_names()
        late_ns = {
            name: max(end[index].get("late_max_ns") or 0 for end in (self._sent, self._received))
            for index, name in enumerate(names)
            if isinstance(self._experiment.flows[index].app, Vectors | Exchanges | Pages)
        }
        return [
            f"{name}: exchanges began up to {ns / 1e6:.1f} ms late"
            for name, ns in late_ns.items()
            if ns > _LATE_NS
        ]

    def _meta(
        self, experiment: Experiment, builtin: bool, log: records.PacketLog
    ) -> dict[str, Any]:
        notes = []
        stacks = {flow.stack or experiment.stack for flow in experiment.flows}
        if stacks != {"linux-6"}:
            notes.append(
                f"the experiment asks for stack {' and '.join(sorted(stacks))}; on the kernel "
                f"backend the stack is that of Linux {platform.release()}, and only the controls "
                "are the same"
            )
        if builtin:
            notes.append("the kernel's own controls, not Headway's")
        if self._sampled.get("lost"):
            notes.append(f"{self._sampled['lost']} records of the sampler were lost")
        if self._skipped_controls:
            notes.append(
                f"the kernel did not run the control of {len(self._skipped_controls)} connections "
                "when it asked for an ssthresh; it could answer no sooner than at the next ACK"
            )
        notes += self._late_notes()
        for index, name in enumerate(experiment.flow_names()):
            if self._is_web(index):
                notes += web.notes(name, self._sent[index], self._received[index])
        notes += [f"emulator: {warning}" for warning in self._testbed.summary.get("warnings", [])]
        return {
            "backend": "kernel",
            "experiment": experiment.model_dump(mode="json"),
            "seed": experiment.seed,
            "versions": {**versions(), "headwayctl": self._ctl.digest},
            "platform": platform.platform(),
            "kernel": {
                "release": platform.release(),
                "version": platform.version(),
                "sysctls": self._sysctls,
                "offloads": dict(self._testbed.offloads()),
                "controls": {str(k): v for k, v in self._controls.items()},
            },
            "emulator": {
                **self._testbed.summary,
                "stalls_ns": {
                    name: log.stalls_ns(link)
                    for link, name in enumerate(network.link_names(experiment))
                },
            },
            "sampler": dict(self._sampled),
            "controls_left_out": list(self._skipped_controls),
            "visits": {
                str(index): sites.summary_since_start(
                    self._sent[index], self.start_ns, self._folder / f"picture{index}"
                )
                for index, flow in enumerate(experiment.flows)
                if isinstance(flow.app, Site)
            },
            "udp_senders": {
                str(index): dict(sent)
                for index, sent in self._sent.items()
                if "late_max_ns" in sent
            },
            "mechanisms": self._testbed.mechanisms and self._testbed.mechanisms.meta(),
            "notes": notes,
        }


def _link_tables(
    log: records.PacketLog, checkpoints: Sequence[int], experiment: Experiment
) -> dict[str, pl.DataFrame]:
    """Tables of the links that the emulator logged, with the links' numbers in the trace."""
    wanted = experiment.record
    links = range(len(network.link_names(experiment)))
    tables = {
        name: records.concat(name, [make(link) for link in links], by)
        for name, make, by in (
            ("queue", log.queue, ["time_ns"]),
            ("queue_full", log.queue_full, ["start_ns"]),
            (
                "link_counters",
                lambda link: log.link_counters(link, checkpoints),
                ["time_ns", "link"],
            ),
        )
    }
    # in the kernel, router algorithms record counters but no events, so this table is empty
    tables["router_events"] = records.empty("router_events")
    tables["transfers"] = records.empty("transfers")
    tables["readings"] = records.empty("readings")
    tables["drops"] = log.drops() if "drops" in wanted else records.empty("drops")
    if "queue" not in wanted:
        tables["queue"] = records.empty("queue")
    before = min(gateway.link_numbers(experiment))
    return {
        name: table.with_columns((pl.col("link") + before).cast(table.schema["link"]))
        if before and "link" in table.columns
        else table
        for name, table in tables.items()
    }


def _handshake_us(samples: records.Records) -> int | None:
    """Handshake time in us of the first connection."""
    requested = samples[samples["kind"] == records.SYN]
    if requested.size == 0:
        return None
    same = samples["local_port"] == requested[0]["local_port"]
    done = samples[same & (samples["kind"] == records.ESTABLISHED)]
    if done.size == 0:
        return None
    length_ns = int(done[0]["time_ns"]) - int(requested[0]["time_ns"])
    return length_ns // 1000
