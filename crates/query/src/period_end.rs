//! Where periods end that are named by their length alone, such as the last seven days.

use std::sync::Arc;

use anyhow::Result;
use jiff::Timestamp;
use lake::{Lake, Trackers};
use report::NewestData;

/// The end of periods that are named by their length: now, or the newest data if it is more than
/// one day old.
#[derive(Clone, Debug)]
pub struct PeriodEnd {
    pub time: Timestamp,
    /// The newest data, if the periods end there.
    pub newest: Option<NewestData>,
    /// The trackers that this was read from. The question that follows starts with the same ones, so
    /// that it makes no more requests than one that names its end.
    pub(crate) trackers: Arc<Trackers>,
}

impl PeriodEnd {
    /// Finds the end for questions about some clusters, or about all if none is named.
    pub async fn find(lake: &Lake, clusters: &[String], now: Timestamp) -> Result<PeriodEnd> {
        let trackers = Arc::new(lake.trackers().await?);
        let newest = newest_data(&trackers, clusters)
            // Data from the future is a matter of clocks, and not old.
            .and_then(|time| NewestData::if_old(time, now));
        Ok(PeriodEnd { time: newest.map_or(now, |newest| newest.time), newest, trackers })
    }
}

/// The latest moment up to which there is data of some clusters, or of all if none is named.
fn newest_data(trackers: &Trackers, clusters: &[String]) -> Option<Timestamp> {
    let chosen =
        trackers.iter().filter(|(cluster, _)| clusters.is_empty() || clusters.contains(cluster));
    chosen.filter_map(|(_, tracker)| tracker.newest_data()).max()
}
