//! Our own names: base units, a cluster label on each number, and as many users as the site wants.

mod health;
mod jobs;
mod nodes;
mod pool;
mod recent;

use jiff::Timestamp;
use record::Live;
use report::Family;

use super::MetricOptions;
use crate::{CurrentPolicy, Judgement};

pub(super) use health::health;

const MIB: f64 = 1024.0 * 1024.0;

/// What was last seen of the clusters. Only ages depend on the time.
pub fn own(
    lives: &[Live],
    options: &MetricOptions,
    judgement: &Judgement,
    now: Timestamp,
) -> Vec<Family> {
    let mut families = health(lives, now);
    families.extend(state(lives, options, &CurrentPolicy::own(judgement)));
    families
}

/// What was seen. It is the same until somebody looks again.
pub(super) fn state(
    lives: &[Live],
    options: &MetricOptions,
    policy: &CurrentPolicy,
) -> Vec<Family> {
    let mut families = nodes::nodes(lives, options);
    families.extend(jobs::jobs(lives, options));
    families.extend(pool::gpu_slots(lives, policy));
    families.extend(pool::daemons(lives));
    families.extend(recent::recent_use(lives));
    families
}
