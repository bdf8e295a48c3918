//! When GPUs were sampled, as far as their spans show it.

use hashbrown::{HashMap, HashSet};

use super::history::History;
use super::index::Index;
use crate::names::Name;

/// A sample may come late by this part of the sampling interval.
const LATENESS: i64 = 50;

/// The sampling times of each cluster.
///
/// Spans show a sampling time only if some GPU of the cluster changed then. Between two of these, samples are taken to
/// be one sampling interval apart.
pub(super) struct SamplingTimes {
    clusters: HashMap<Name, Times>,
}

struct Times {
    /// In the order of time.
    known: Vec<i64>,
    /// The longest time from one sample to the next.
    longest_interval: i64,
}

impl SamplingTimes {
    /// Of the spans since a moment, at which those that were going on are cut.
    pub(super) fn of(history: &History, index: &Index, cut_at: i64) -> SamplingTimes {
        let mut known: HashMap<Name, HashSet<i64>> = HashMap::new();
        history.each_change(|cluster, time| {
            if time != cut_at {
                known.entry(cluster).or_default().insert(time);
            }
        });
        let clusters = history.gpus.iter().map(|gpu| gpu.place.cluster).collect::<HashSet<_>>();
        let times = |cluster| {
            let mut known: Vec<i64> = known.get(&cluster).into_iter().flatten().copied().collect();
            known.sort_unstable();
            let interval = index.hold(cluster) / 2;
            (cluster, Times { known, longest_interval: interval + interval / LATENESS })
        };
        SamplingTimes { clusters: clusters.into_iter().map(times).collect() }
    }

    /// The longest time from one sample of a cluster to the next, in microseconds.
    pub(super) fn longest_interval(&self, cluster: Name) -> i64 {
        self.clusters.get(&cluster).map_or(0, |times| times.longest_interval)
    }

    /// The last sample of a cluster before a moment.
    pub(super) fn last_before(&self, cluster: Name, moment: i64) -> i64 {
        let Some(Times { known, longest_interval }) = self.clusters.get(&cluster) else {
            return moment;
        };
        let before = known.partition_point(|time| *time < moment);
        let last = before.checked_sub(1).map_or(i64::MIN, |place| known[place]);
        last.max(moment - longest_interval)
    }
}
