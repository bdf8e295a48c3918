//! The nodes of the simulated SLURM cluster, and who may still fit on them.

use std::ops::Range;

use super::random::Random;
use super::slurm_workload::{POOLS, Pool};
use super::{Moment, NEVER};

pub(super) struct Node {
    pub(super) name: String,
    /// The number in its name.
    pub(super) number: u32,
    pub(super) pool: Pool,
    pub(super) cpus: u16,
    pub(super) memory_mb: u32,
    pub(super) gpus: u8,
}

/// What a job holds on one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placement {
    pub(super) node: u16,
    pub(super) cpus: u16,
    pub(super) memory_mb: u32,
    /// A bit for each GPU, by its index.
    pub(super) gpus: u8,
}

/// A time for which a node takes no jobs.
pub(super) struct Outage {
    pub(super) node: u16,
    pub(super) start: Moment,
    /// [`NEVER`] where it outlasts the simulation.
    pub(super) end: Moment,
    pub(super) kind: OutageKind,
    pub(super) reason: &'static str,
    pub(super) user: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OutageKind {
    Down,
    NotResponding,
    /// Its jobs run to their end.
    Drain,
}

/// Some 5 % of the nodes for debugging, 23 % with GPUs, the rest plain.
pub(super) fn nodes(count: u32) -> Vec<Node> {
    let count = count.clamp(5, 60_000);
    let gpu_nodes = (count * 23 / 100).max(3);
    let few = (gpu_nodes * 2 / 7).max(1);
    let debug = (count / 30).max(1);
    let counts = [debug, count - gpu_nodes - debug, gpu_nodes - 2 * few, few, few];
    // Names of one width, so that a list of them is one range.
    let width = if count > 999 { 5 } else { 3 };
    let mut nodes: Vec<Node> = Vec::new();
    for (pool, count) in POOLS.into_iter().zip(counts) {
        for _ in 0..count {
            let (cpus, memory_mb, gpus) = match pool {
                Pool::Debug | Pool::Cpu => (64, 257_000, 0),
                Pool::A100 => (128, 1_031_000, 8),
                Pool::H100 => (64, 1_031_000, 4),
                Pool::L40s => (64, 515_000, 4),
            };
            let prefix = if gpus == 0 { 'c' } else { 'g' };
            let number = match nodes.last() {
                Some(last) if last.name.starts_with(prefix) => last.number + 1,
                _ => 1,
            };
            let name = format!("{prefix}{number:0width$}");
            nodes.push(Node { name, number, pool, cpus, memory_mb, gpus });
        }
    }
    nodes
}

/// The outages of all nodes, in the order of their beginning.
pub(super) fn outages(seed: u64, nodes: usize, start: Moment, end: Moment) -> Vec<Outage> {
    const MEAN_SECONDS_BETWEEN: f64 = 25.0 * 86_400.0;
    const DOWN: [(&str, &str); 3] = [
        ("PSU failure, ticket #4711 | rack B", "root"),
        ("kernel panic", "mlopez"),
        ("fabric switch replaced", "root"),
    ];
    const DRAIN: [(&str, &str); 4] = [
        ("firmware upgrade", "mlopez"),
        ("ECC errors [dimm 3]", "root"),
        ("health check failed: /scratch not mounted", "root"),
        ("kernel update", "tbrandt"),
    ];
    let mut random = Random::new(seed, 3);
    let mut outages = Vec::new();
    for node in 0..nodes as u16 {
        let mut time = f64::from(start);
        loop {
            time += random.exponential(MEAN_SECONDS_BETWEEN);
            if time >= f64::from(end) {
                break;
            }
            let begin = time as Moment;
            time += random.lognormal(4.0 * 3600.0, 0.8);
            let (kind, &(reason, user)) = match random.below(10) {
                0..2 => (OutageKind::Down, random.pick(&DOWN)),
                2..4 => (OutageKind::NotResponding, &("Not responding", "slurm")),
                _ => (OutageKind::Drain, random.pick(&DRAIN)),
            };
            let over = if time > f64::from(end) { NEVER } else { time as Moment };
            outages.push(Outage { node, start: begin, end: over, kind, reason, user });
        }
    }
    outages.sort_by_key(|outage| (outage.start, outage.node));
    outages
}

/// What a job needs on each of its nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Need {
    pub(super) nodes: u16,
    pub(super) cpus: u16,
    pub(super) memory_mb: u32,
    pub(super) gpus: u8,
}

impl Need {
    /// Whether what this one cannot get, `other` cannot either.
    pub(super) fn is_within(&self, other: &Need) -> bool {
        self.nodes <= other.nodes
            && self.cpus <= other.cpus
            && self.memory_mb <= other.memory_mb
            && self.gpus <= other.gpus
    }
}

/// Who asks for room.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Who {
    Anyone,
    Preemptible,
    /// The one for whom nodes are kept free.
    Reserver,
}

#[derive(Clone, Copy)]
struct Usable {
    in_service: bool,
    /// For a job that has waited too long.
    reserved: bool,
}

/// What is free on each node now, and who runs there.
pub(super) struct Room {
    free: Vec<Placement>,
    /// What jobs that may be preempted hold.
    preemptible: Vec<Placement>,
    usable: Vec<Usable>,
    pub(super) running: Vec<Vec<u32>>,
    pools: [Range<usize>; POOLS.len()],
}

impl Room {
    pub(super) fn new(nodes: &[Node]) -> Room {
        let pools = POOLS.map(|pool| {
            let first = nodes.partition_point(|node| (node.pool as u8) < pool as u8);
            let last = nodes.partition_point(|node| node.pool as u8 <= pool as u8);
            first..last
        });
        let all_gpus = |node: &Node| if node.gpus == 0 { 0 } else { u8::MAX >> (8 - node.gpus) };
        Room {
            free: (0..)
                .zip(nodes)
                .map(|(index, node)| Placement {
                    node: index,
                    cpus: node.cpus,
                    memory_mb: node.memory_mb,
                    gpus: all_gpus(node),
                })
                .collect(),
            preemptible: (0..nodes.len() as u16)
                .map(|node| Placement { node, cpus: 0, memory_mb: 0, gpus: 0 })
                .collect(),
            usable: vec![Usable { in_service: true, reserved: false }; nodes.len()],
            running: vec![Vec::new(); nodes.len()],
            pools,
        }
    }

    /// The first nodes of a pool that have what is needed; fewer than asked for where there are
    /// not enough.
    pub(super) fn find(&self, pool: Pool, need: &Need, who: Who, found: &mut Vec<u16>) {
        found.clear();
        let range = self.pools[pool as usize].clone();
        let (free, usable) = (&self.free[range.clone()], &self.usable[range]);
        let suits = |(free, usable): (&Placement, &Usable)| {
            (usable.in_service && (!usable.reserved || who == Who::Reserver) && fits(free, need))
                .then_some(free.node)
        };
        let nodes = usize::from(need.nodes);
        match who {
            // From the other end, where they are less in the way.
            Who::Preemptible => {
                found.extend(free.iter().zip(usable).rev().filter_map(suits).take(nodes));
            }
            _ => found.extend(free.iter().zip(usable).filter_map(suits).take(nodes)),
        }
    }

    /// Keeps the nodes that are nearest to what is needed free of others.
    pub(super) fn reserve(&mut self, pool: Pool, need: &Need) {
        self.release(pool);
        let mut nodes: Vec<usize> = self.pools[pool as usize].clone().collect();
        nodes.retain(|&node| self.usable[node].in_service);
        nodes.sort_by_key(|&node| {
            let free = &self.free[node];
            std::cmp::Reverse((free.gpus.count_ones(), free.cpus))
        });
        for node in nodes.into_iter().take(usize::from(need.nodes)) {
            self.usable[node].reserved = true;
        }
    }

    pub(super) fn release(&mut self, pool: Pool) {
        for usable in &mut self.usable[self.pools[pool as usize].clone()] {
            usable.reserved = false;
        }
    }

    /// The first node that would have what is needed without its preemptible jobs.
    pub(super) fn find_by_preemption(&self, pool: Pool, need: &Need) -> Option<u16> {
        self.pools[pool as usize].clone().find_map(|node| {
            let preemptible = &self.preemptible[node];
            if preemptible.cpus == 0 || !self.usable[node].in_service || self.usable[node].reserved
            {
                return None;
            }
            let mut free = self.free[node];
            free.cpus += preemptible.cpus;
            free.memory_mb += preemptible.memory_mb;
            free.gpus |= preemptible.gpus;
            fits(&free, need).then_some(free.node)
        })
    }

    pub(super) fn fits(&self, node: u16, need: &Need) -> bool {
        fits(&self.free[usize::from(node)], need)
    }

    /// Takes what is needed from a node: the free GPUs with the lowest indices.
    pub(super) fn take(
        &mut self,
        node: u16,
        need: &Need,
        attempt: u32,
        preemptible: bool,
    ) -> Placement {
        let free = &mut self.free[usize::from(node)];
        let mut gpus = 0;
        for _ in 0..need.gpus {
            let rest = free.gpus & !gpus;
            gpus |= rest & rest.wrapping_neg();
        }
        free.cpus -= need.cpus;
        free.memory_mb -= need.memory_mb;
        free.gpus &= !gpus;
        if preemptible {
            let held = &mut self.preemptible[usize::from(node)];
            held.cpus += need.cpus;
            held.memory_mb += need.memory_mb;
            held.gpus |= gpus;
        }
        self.running[usize::from(node)].push(attempt);
        Placement { node, cpus: need.cpus, memory_mb: need.memory_mb, gpus }
    }

    pub(super) fn give_back(&mut self, placement: &Placement, attempt: u32, preemptible: bool) {
        let node = usize::from(placement.node);
        let free = &mut self.free[node];
        free.cpus += placement.cpus;
        free.memory_mb += placement.memory_mb;
        free.gpus |= placement.gpus;
        if preemptible {
            let held = &mut self.preemptible[node];
            held.cpus -= placement.cpus;
            held.memory_mb -= placement.memory_mb;
            held.gpus &= !placement.gpus;
        }
        self.running[node].retain(|&running| running != attempt);
    }

    pub(super) fn set_in_service(&mut self, node: u16, in_service: bool) {
        self.usable[usize::from(node)].in_service = in_service;
    }
}

fn fits(free: &Placement, need: &Need) -> bool {
    free.cpus >= need.cpus
        && free.memory_mb >= need.memory_mb
        && free.gpus.count_ones() >= u32::from(need.gpus)
}
