//! The counters of a link: packets, bytes, the queue over time, and how long the queue was full.
//! They become rows of the trace, or are summed up for a digest.

use super::counters::Watch;
use super::{Drop, Link, Offer};
use crate::trace::digest::LinkTotals;
use crate::trace::record::Tables;
use headway_algorithms::LinkView;

impl Link {
    /// Removes the packets from the queue that have left by `now_ns`.
    #[inline(always)]
    pub fn drain(&mut self, now_ns: u64, tables: &mut Tables) {
        while let Some(&(depart_ns, ip_bytes)) = self.queue.front() {
            if depart_ns > now_ns {
                break;
            }
            self.queue.drop_front();
            self.counters.sent_pkts += 1;
            self.counters.sent_bytes += u64::from(ip_bytes);
            self.change_queue(depart_ns, self.queue_bytes - ip_bytes, tables);
        }
    }

    #[inline(always)]
    pub(super) fn change_queue(&mut self, time_ns: u64, queue_bytes: u32, tables: &mut Tables) {
        self.integrate(time_ns);
        self.queue_bytes = queue_bytes;
        if self.record_queue {
            self.record_change(time_ns, tables);
        }
    }

    #[inline(never)]
    fn record_change(&mut self, time_ns: u64, tables: &mut Tables) {
        let pkts = self.queue_pkts();
        tables
            .queue
            .push(self.number, time_ns as i64, self.queue_bytes, pkts);
    }

    #[inline(never)]
    fn watch_change(&mut self, time_ns: u64) {
        if let Some(watch) = &mut self.watch {
            let held_ns = time_ns.saturating_sub(self.last_change_ns.max(watch.from_ns));
            watch.queue_bytes.add(u64::from(self.queue_bytes), held_ns);
        }
    }

    #[inline(always)]
    fn integrate(&mut self, time_ns: u64) {
        if self.watch.is_some() {
            self.watch_change(time_ns);
        }
        self.counters.queue_byte_ns +=
            u128::from(self.queue_bytes) * u128::from(time_ns - self.last_change_ns);
        self.last_change_ns = time_ns;
    }

    #[inline(always)]
    pub(super) fn end_full(&mut self, now_ns: u64, tables: &mut Tables) {
        if self.full_since.is_some() {
            self.no_longer_full(now_ns, tables);
        }
    }

    #[inline(never)]
    fn no_longer_full(&mut self, now_ns: u64, tables: &mut Tables) {
        if let Some((start_ns, pkts)) = self.full_since.take() {
            if let Some(watch) = &mut self.watch {
                watch.full_events += u64::from(start_ns >= watch.from_ns);
            }
            if !tables.off {
                tables
                    .queue_full
                    .push(self.number, start_ns as i64, now_ns as i64, pkts);
            }
        }
    }

    /// Counts a packet that is dropped before it reaches the queue.
    pub fn refuse(&mut self, ip_bytes: u32, reason: Drop) {
        self.counters.arrived_pkts += 1;
        self.counters.arrived_bytes += u64::from(ip_bytes);
        self.dropped(ip_bytes, reason);
    }

    pub(super) fn dropped(&mut self, ip_bytes: u32, reason: Drop) -> Offer {
        self.counters.dropped_pkts += 1;
        self.counters.dropped_bytes += u64::from(ip_bytes);
        Offer::Dropped(reason)
    }

    /// Brings the link's counters up to date at `now_ns`.
    pub fn settle(&mut self, now_ns: u64, tables: &mut Tables) {
        self.drain(now_ns, tables);
        self.integrate(now_ns);
    }

    /// Records the counters of the link's routers at `now_ns`.
    pub(crate) fn count_routers(&mut self, now_ns: u64, tables: &mut Tables) {
        if let Some(routers) = &mut self.routers {
            let view = LinkView {
                now_ns,
                ..self.view
            };
            routers.count(&view, tables);
        }
    }

    /// Names and values of the queue discipline's counters at `now_ns`.
    pub fn queue_counters(&mut self, now_ns: u64) -> impl Iterator<Item = (String, u64)> + '_ {
        let view = LinkView {
            now_ns,
            ..self.view
        };
        self.discipline.tick(&view);
        let names = self.discipline.info().counters.iter();
        let names = names.map(|counter| counter.name.to_owned());
        names.zip(self.discipline.counters())
    }

    /// Records the counters of the link's queue discipline and of its sub-queues at `now_ns`.
    /// `algorithm` is the discipline's index in the list of the run's disciplines.
    pub(crate) fn count_queue(&mut self, now_ns: u64, algorithm: u8, tables: &mut Tables) {
        let (time_ns, number) = (now_ns as i64, self.number);
        for (name, (_, value)) in (0..).zip(self.queue_counters(now_ns)) {
            let row = &mut tables.queue_counters;
            row.push(time_ns, number, algorithm, name, value);
        }
        for (number, queue) in (0..).zip(self.discipline.sub_queues()) {
            if queue.pkts == 0 && queue.sent_pkts == 0 && queue.dropped_pkts == 0 {
                continue;
            }
            tables.sub_queues.push(
                time_ns,
                self.number,
                number,
                queue.pkts,
                queue.bytes,
                queue.sent_pkts,
                queue.sent_bytes,
                queue.sojourn_ns / 1000,
                queue.dropped_pkts,
                queue.marked_ect0_pkts,
                queue.marked_ect1_pkts,
            );
        }
    }

    /// Prepares the sums of a digest, which begin at `from_ns`.
    pub(crate) fn watch(&mut self, from_ns: u64) {
        self.watch = Some(Box::new(Watch {
            from_ns,
            ..Watch::default()
        }));
    }

    /// Begins the part of the run that the digest sums up. The link's counters must be up to date.
    pub(crate) fn begin(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.before = self.counters.clone();
        }
    }

    /// The digest's sums up to `now_ns`; call [`Link::settle`] before this.
    pub(crate) fn totals(&mut self, now_ns: u64, name: String, tables: &mut Tables) -> LinkTotals {
        let watch = self.watch.take().unwrap_or_default();
        let (now, before) = (&self.counters, &watch.before);
        let view = LinkView {
            now_ns,
            ..self.view
        };
        LinkTotals {
            name,
            arrived_pkts: now.arrived_pkts - before.arrived_pkts,
            sent_pkts: now.sent_pkts - before.sent_pkts,
            sent_bytes: now.sent_bytes - before.sent_bytes,
            dropped_pkts: now.dropped_pkts - before.dropped_pkts,
            queue_full_events: watch.full_events,
            queue_bytes: watch.queue_bytes.over_time(),
            routers: match &mut self.routers {
                Some(routers) => routers.totals(&view, tables),
                None => vec![],
            },
        }
    }

    /// At the end of the run, ends a queue-full event that still lasts.
    pub fn finish(&mut self, now_ns: u64, tables: &mut Tables) {
        self.end_full(now_ns, tables);
    }
}
