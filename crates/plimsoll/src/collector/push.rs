//! Tells others of what a collection changed.

use std::sync::Arc;

use jiff::SignedDuration;
use lake::Lake;
use source::Machine;

use super::Collector;
use crate::config::Sink;
use crate::sink::{self, Selection, Which};

impl Collector {
    /// Pushes the attempts that are new or changed to each sink. What could not be pushed is pushed the
    /// next time; a sink that is new is told of what changes from now on.
    pub(crate) async fn push(&mut self, lake: &Lake, machine: &Arc<dyn Machine>, sinks: &[Sink]) {
        self.live.sinks.retain(|name, _| sinks.iter().any(|sink| sink.name == *name));
        for Sink { name, target } in sinks {
            let before = self.run - SignedDuration::from_micros(1);
            let since = self.writer.tracker().pushed.get(name).copied().unwrap_or(before);
            let selection = Selection {
                clusters: vec![self.cluster.name.clone()],
                which: Which::ChangedAfter(since),
            };
            let outcome = sink::push(lake, machine, target, &selection).await;
            let health = self.live.sinks.entry(name.clone().into()).or_default();
            let until = outcome.as_ref().ok().and_then(|done| done.until).unwrap_or(since);
            self.writer.set_pushed(name, until);
            let cluster = &self.cluster.name;
            match outcome {
                Ok(done) => {
                    health.error = None;
                    health.success_time = Some(machine.now());
                    health.documents += done.pushed.taken as i64;
                    health.refused += done.pushed.refused as i64;
                    if let Some(first) = done.pushed.first_refusal {
                        let refused = done.pushed.refused;
                        self.summary.failures.push(format!(
                            "{cluster}: push {name}: {refused} documents were refused, {first}"
                        ));
                    }
                }
                Err(error) => {
                    let words = format!("{error:#}");
                    self.summary.failures.push(format!(
                        "{cluster}: push {name}: {words}; what is left is pushed the next time"
                    ));
                    health.error = Some(words.into());
                }
            }
        }
    }
}
