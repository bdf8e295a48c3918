//! `plimsoll demo --serve`: the simulated site lives on as time passes, and its pages with it.

use std::sync::Arc;

use anyhow::Result;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Lake, Place};
use source::simulated::{SimulatedNow, Site};

use crate::Outcome;
use crate::cli::{self, Demo};
use crate::collector::Wanted;
use crate::command::collect::{Collecting, Order, Round};
use crate::command::demo::{Plan, clusters, make};
use crate::command::demo_config;
use crate::command::serve::{Door, show};
use crate::complain;
use crate::config::Config;

pub(super) async fn run(
    config: &Config,
    arguments: &Demo,
    place: &Place,
    now: Timestamp,
) -> Result<Outcome> {
    let folder = &arguments.folder;
    // What the demo's own file will say; whoever runs it may have said otherwise of another site.
    let config = Config { access: None, zone: TimeZone::UTC, ..config.clone() };
    let door = Door::open(&config, arguments.listen).await?;
    let (lake, site) = match Plan::of(folder).filter(|plan| goes_on(plan, arguments, now)) {
        Some(plan) => {
            complain(&format!("the demo in {} goes on", folder.display()));
            let lake = Lake::create(place)?.with_zone(&config.zone);
            (lake, Arc::new(Site::new(&plan.scale()?)))
        }
        None => {
            let Demo { seed, days, .. } = *arguments;
            let plan = Plan { seed, days, until: now, simulated_until: now + FUTURE };
            make(&config, folder, place, &plan).await?
        }
    };
    let memory = config.memory;
    let config = Config { memory, ..cli::Site::of(folder.join(demo_config::FILE)).load()? };
    let order = Order::new(&config, lake.clone(), Wanted { days: 1, refresh: false, parallel: 1 });
    let rounds = clusters().into_iter().map(|cluster| Round {
        machine: Arc::new(SimulatedNow { site: site.clone(), cluster: cluster.name.clone() }),
        every: arguments.collect,
        cluster,
    });
    let collecting = Collecting::of(&order, rounds);
    show(&config, lake, door, Some(collecting)).await
}

/// What is yet to happen at a site when its demo is made.
const FUTURE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Whether a demo is the one that is asked for, and something still happens in it.
fn goes_on(plan: &Plan, arguments: &Demo, now: Timestamp) -> bool {
    (plan.seed, plan.days) == (arguments.seed, arguments.days) && now < plan.simulated_until
}
