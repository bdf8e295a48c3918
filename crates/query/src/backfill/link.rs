//! Which phases of GPUs belong to which executions.

use std::cmp::Reverse;

use super::execution::{Execution, Executions};
use super::history::{GpuPhase, History};
use super::index::Index;
use crate::names::Name;
use crate::side_by_side::side_by_side;

/// How spans and history met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linked {
    ByJob,
    ByGpu,
    HistoryOnly,
    SpansOnly,
}

impl Linked {
    pub(super) fn name(self) -> &'static str {
        match self {
            Linked::ByJob => "job",
            Linked::ByGpu => "gpu",
            Linked::HistoryOnly => "history",
            Linked::SpansOnly => "spans",
        }
    }
}

/// Phases and executions that belong together.
pub(super) struct Links {
    /// By execution.
    list: Vec<Link>,
    pub(super) unlinked: Vec<usize>,
}

pub(super) struct Link {
    execution: usize,
    pub(super) linked: Linked,
    pub(super) phase: usize,
}

impl Links {
    pub(super) fn find(
        history: &History,
        phases: &[GpuPhase],
        executions: &Executions,
        index: &Index,
    ) -> Links {
        let found = |GpuPhase { gpu, phase, .. }: &GpuPhase| {
            let place = history.gpus[*gpu].place;
            let hold = index.hold(place.cluster);
            // How long both lasted together, where a look may be late by as long as it holds.
            let overlap = |execution: &Execution| {
                execution.until.min(phase.end + hold) - execution.start.max(phase.start - hold)
            };
            if phase.who.job != Name::UNKNOWN {
                index
                    .of_job(executions, phase.who.job, place)
                    .filter(|(_, execution)| overlap(execution) > 0)
                    .max_by_key(|(found, execution)| (overlap(execution), Reverse(*found)))
                    .map(|(found, _)| (Linked::ByJob, found))
            } else {
                index
                    .on_gpu(*gpu)
                    .iter()
                    .map(|found| (*found as usize, &executions.list[*found as usize]))
                    .filter(|(_, execution)| {
                        phase.who.user == Name::UNKNOWN || execution.who.user == phase.who.user
                    })
                    .filter(|(_, execution)| execution.start.abs_diff(phase.start) <= hold as u64)
                    .min_by_key(|(_, execution)| execution.start.abs_diff(phase.start))
                    .map(|(found, _)| (Linked::ByGpu, found))
            }
        };
        let parts = side_by_side(phases, |first, part| {
            let mut links = Links { list: Vec::new(), unlinked: Vec::new() };
            for (number, phase) in (first..).zip(part) {
                match found(phase) {
                    Some((linked, execution)) => {
                        links.list.push(Link { execution, linked, phase: number });
                    }
                    None => links.unlinked.push(number),
                }
            }
            links.list.sort_unstable_by_key(|link| (link.execution, link.phase));
            links
        });
        let mut links = Links { list: Vec::new(), unlinked: Vec::new() };
        for part in parts {
            links.list.extend(part.list);
            links.unlinked.extend(part.unlinked);
        }
        // Stable, since it makes use of what is in order already.
        links.list.sort_by_key(|link| (link.execution, link.phase));
        links
    }

    /// Of each of some executions that follow one another, the phases that it was seen in.
    pub(super) fn of_executions<'a>(
        &'a self,
        first: usize,
        executions: &'a [Execution],
    ) -> impl Iterator<Item = (&'a Execution, &'a [Link])> {
        let before = self.list.partition_point(|link| link.execution < first);
        let mut rest = &self.list[before..];
        (first..).zip(executions).map(move |(place, execution)| {
            let count = rest.iter().take_while(|link| link.execution == place).count();
            let (links, others) = rest.split_at(count);
            rest = others;
            (execution, links)
        })
    }
}
