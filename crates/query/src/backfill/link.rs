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
        // How long both lasted together, if either may be late by some time.
        let overlap = |GpuPhase { phase, .. }: &GpuPhase, execution: &Execution, late: i64| {
            execution.until.min(phase.end + late) - execution.start.max(phase.start - late)
        };
        let find = |number: usize, seen: &GpuPhase, links: &mut Links| {
            let GpuPhase { gpu, phase, .. } = seen;
            let place = history.gpus[*gpu].place;
            let hold = index.hold(place.cluster);
            if phase.who.job != Name::UNKNOWN {
                let of_job = || index.of_job(executions, phase.who.job, place);
                let nearest = of_job()
                    .filter(|(_, execution)| overlap(seen, execution, hold) > 0)
                    .max_by_key(|(found, one)| (overlap(seen, one, hold), Reverse(*found)));
                let Some((nearest, _)) = nearest else { return false };
                // A job that began again on its GPU before the next sample is one phase.
                let others = of_job().filter(|(_, execution)| overlap(seen, execution, 0) > 0);
                let others = others.map(|(found, _)| found).filter(|found| *found != nearest);
                links.list.extend(others.chain([nearest]).map(|execution| Link {
                    execution,
                    linked: Linked::ByJob,
                    phase: number,
                }));
                return true;
            }
            let on_gpu = index.on_gpu(*gpu);
            let start = |found: &u32| executions.list[*found as usize].start;
            let first = on_gpu.partition_point(|found| start(found) < phase.start - hold);
            let nearest = on_gpu[first..]
                .iter()
                .map(|found| (*found as usize, &executions.list[*found as usize]))
                .take_while(|(_, execution)| execution.start <= phase.start + hold)
                .filter(|(_, execution)| {
                    phase.who.user == Name::UNKNOWN || execution.who.user == phase.who.user
                })
                .min_by_key(|(_, execution)| execution.start.abs_diff(phase.start));
            links.list.extend(nearest.map(|(execution, _)| Link {
                execution,
                linked: Linked::ByGpu,
                phase: number,
            }));
            nearest.is_some()
        };
        let parts = side_by_side(phases, |first, part| {
            let mut links = Links { list: Vec::new(), unlinked: Vec::new() };
            for (number, phase) in (first..).zip(part) {
                if !find(number, phase, &mut links) {
                    links.unlinked.push(number);
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
