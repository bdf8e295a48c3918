//! Finds executions by their job and by their GPUs.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use super::execution::{Execution, Executions};
use super::history::{History, Place};
use crate::names::{Name, Names};

/// The executions of a period by job and by GPU, and how long a sample of each cluster is valid.
pub(super) struct Index {
    by_job: Lists,
    by_gpu: Lists,
    /// The machines that samples show.
    machines: HashSet<(Name, Name)>,
    holds: HashMap<Name, i64>,
}

impl Index {
    pub(super) fn new(
        history: &History,
        executions: &Executions,
        holds: &BTreeMap<String, i64>,
        names: &mut Names,
    ) -> Index {
        let of_all = || executions.list.iter().enumerate();
        Index {
            by_job: Lists::new(of_all().map(|(place, one)| (one.who.job.number(), place))),
            by_gpu: Lists::new(
                of_all().flat_map(|(place, one)| executions.gpus(one).map(move |gpu| (gpu, place))),
            ),
            machines: history
                .gpus
                .iter()
                .map(|gpu| (gpu.place.cluster, gpu.place.machine))
                .collect(),
            holds: holds.iter().map(|(cluster, hold)| (names.of(Some(cluster)), *hold)).collect(),
        }
    }

    /// How long a sample of a cluster is valid, in microseconds.
    pub(super) fn hold(&self, cluster: Name) -> i64 {
        self.holds.get(&cluster).copied().unwrap_or_default()
    }

    /// The executions on a GPU in the order of their starts, by their places in the list.
    pub(super) fn on_gpu(&self, gpu: usize) -> &[u32] {
        self.by_gpu.get(gpu)
    }

    /// The executions of a job that may have been in a place, with their places in the list. The
    /// machine that the history names decides, unless samples never show a machine of that name.
    pub(super) fn of_job<'a>(
        &'a self,
        executions: &'a Executions,
        job: Name,
        Place { cluster, machine, .. }: Place,
    ) -> impl Iterator<Item = (usize, &'a Execution)> {
        let of_job = self.by_job.get(job.number()).iter().map(|place| *place as usize);
        let of_job = of_job.map(|place| (place, &executions.list[place]));
        of_job.filter(move |(_, execution)| {
            let machines = executions.machines(execution);
            execution.cluster == cluster
                && (machines.contains(&machine)
                    || !machines.iter().any(|other| self.machines.contains(&(cluster, *other))))
        })
    }
}

/// Places in a list, by a number that several may share.
struct Lists {
    /// Where those of each number begin.
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Lists {
    fn new(each: impl Iterator<Item = (usize, usize)> + Clone) -> Lists {
        let last = each.clone().map(|(number, _)| number).max().unwrap_or_default();
        let mut starts = vec![0; last + 2];
        each.clone().for_each(|(number, _)| starts[number] += 1);
        let mut start = 0;
        for count in &mut starts {
            start += std::mem::replace(count, start);
        }
        let mut places = vec![0; start as usize];
        let mut next = starts.clone();
        for (number, place) in each {
            let next = &mut next[number];
            places[*next as usize] = place as u32;
            *next += 1;
        }
        Lists { starts, places }
    }

    fn get(&self, number: usize) -> &[u32] {
        let start = |number: usize| self.starts.get(number).copied().unwrap_or_default() as usize;
        self.places.get(start(number)..start(number + 1)).unwrap_or_default()
    }
}
