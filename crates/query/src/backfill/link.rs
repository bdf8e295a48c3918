//! Which phases of GPUs belong to which executions.

use std::cmp::Reverse;

use hashbrown::HashMap;

use super::execution::{Execution, Executions};
use super::history::{GpuPhase, History, Place};
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
        holds: &HashMap<Name, i64>,
    ) -> Links {
        let of_all = || executions.list.iter().enumerate();
        let by_job = ByName::new(of_all().map(|(place, execution)| (execution.who.job, place)));
        let by_gpu = ByName::new(of_all().flat_map(|(place, execution)| {
            executions.gpu_ids(execution).iter().map(move |id| (*id, place))
        }));
        let executions = &executions.list;
        let found = |GpuPhase { gpu, phase }: &GpuPhase| {
            let gpu = &history.gpus[*gpu];
            let Place { cluster, machine, .. } = gpu.place;
            let hold = holds.get(&cluster).copied().unwrap_or_default();
            // How long both lasted together, where a look may be late by as long as it holds.
            let overlap = |execution: &Execution| {
                execution.until.min(phase.end + hold) - execution.start.max(phase.start - hold)
            };
            if phase.who.job != Name::UNKNOWN {
                by_job
                    .get(phase.who.job)
                    .filter(|found| executions[*found].cluster == cluster)
                    .filter(|found| overlap(&executions[*found]) > 0)
                    .max_by_key(|found| (overlap(&executions[*found]), Reverse(*found)))
                    .map(|found| (Linked::ByJob, found))
            } else {
                by_gpu
                    .get(gpu.gpu_id)
                    .filter(|found| {
                        let Execution { cluster: of, machine: on, who, .. } = &executions[*found];
                        (*of, *on) == (cluster, machine)
                            && (phase.who.user == Name::UNKNOWN || who.user == phase.who.user)
                    })
                    .filter(|found| executions[*found].start.abs_diff(phase.start) <= hold as u64)
                    .min_by_key(|found| executions[*found].start.abs_diff(phase.start))
                    .map(|found| (Linked::ByGpu, found))
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

/// Places in a list, by a name that several may share.
struct ByName {
    /// Where those of each name begin, by its number.
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl ByName {
    fn new(each: impl Iterator<Item = (Name, usize)> + Clone) -> ByName {
        let last = each.clone().map(|(name, _)| name.number()).max().unwrap_or_default();
        let mut starts = vec![0; last + 2];
        each.clone().for_each(|(name, _)| starts[name.number()] += 1);
        let mut start = 0;
        for count in &mut starts {
            start += std::mem::replace(count, start);
        }
        let mut places = vec![0; start as usize];
        let mut next = starts.clone();
        for (name, place) in each {
            let next = &mut next[name.number()];
            places[*next as usize] = place as u32;
            *next += 1;
        }
        ByName { starts, places }
    }

    fn get(&self, name: Name) -> impl Iterator<Item = usize> {
        let start = |number: usize| self.starts.get(number).copied().unwrap_or_default() as usize;
        let range = start(name.number())..start(name.number() + 1);
        self.places.get(range).unwrap_or_default().iter().map(|place| *place as usize)
    }
}
