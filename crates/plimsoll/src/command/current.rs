//! `plimsoll current`: who holds what right now, and who waits for what.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use jiff::SignedDuration;
use record::{NodeSpan, Text};
use report::{Unit, Value};
use source::htcondor::{CondorQCurrent, Daemon, Daemons, condor_q_current, daemons};
use source::slurm::{ScontrolNode, SqueueCurrent, scontrol_show_node, squeue_current};
use source::{CurrentJob, Failure, Machine, Phase};

use crate::Outcome;
use crate::cli::Current;
use crate::command::{live, output};
use crate::complain;
use crate::config::{Config, Kind};

pub(crate) fn run(config: &Config, arguments: &Current) -> Result<Outcome> {
    output::format(&arguments.output)?;
    let clusters = live::clusters(config, &arguments.cluster)?;
    let now = config.now();
    let mut rejects = 0;
    let round = live::ask(&clusters, |cluster, machine| {
        let name = &cluster.name;
        let mut queue = match cluster.kind {
            Kind::Slurm => slurm_queue(name, machine, cluster.slurm_cluster.as_deref())?,
            Kind::Htcondor => condor_queues(name, machine)?,
        };
        rejects += std::mem::take(&mut queue.rejects);
        Ok(queue)
    })?;

    let mut rows = Vec::new();
    let mut notes = round.notes;
    let mut is_whole = round.is_whole;
    for (cluster, queue) in &round.answers {
        if !queue.is_known {
            notes.push(format!(
                "{cluster}: The pool lists no access point, so its jobs are unknown. Check that this \
                 machine may read the ads of its schedulers: condor_status -schedd."
            ));
            is_whole = false;
            continue;
        }
        let holdings = Holdings::of(&queue.jobs, &queue.nodes);
        notes.push(holdings.summary(cluster));
        notes.extend(queue.missing.iter().map(|missing| {
            format!(
                "{cluster}: An access point did not answer, and its jobs are missing: {missing}"
            )
        }));
        is_whole &= queue.missing.is_empty();
        notes.extend(holdings.notes.iter().map(|note| format!("{cluster}: {note}")));
        rows.extend(holdings.rows(cluster));
    }
    let mut report = live::report(
        "current",
        "Who holds what right now, and who waits for what?",
        now,
        &config.zone,
        &COLUMNS,
        rows,
    );
    notes.push(
        "A job that shares its nodes with nobody else counts all of their CPUs, once a user and \
         node; what waits counts what it asks for, each task of an array by itself. Jobs of \
         HTCondor have no partition."
            .to_owned(),
    );
    report.notes = notes;
    let written = output::write(&[report], &arguments.output)?;
    Ok(if rejects == 0 && is_whole { written } else { Outcome::Findings })
}

/// The jobs of a cluster that are not over.
struct CurrentQueue {
    jobs: Vec<CurrentJob>,
    /// The nodes of a SLURM cluster, whose CPUs an exclusive job counts.
    nodes: Vec<NodeSpan>,
    /// The access points of a pool that did not answer, each with its failure.
    missing: Vec<String>,
    /// Whether there was anything to query: a pool may list no access point.
    is_known: bool,
    rejects: usize,
}

fn slurm_queue(
    name: &str,
    machine: &dyn Machine,
    known_as: Option<&str>,
) -> Result<CurrentQueue, Failure> {
    let jobs = live::records(name, machine, &squeue_current(known_as), SqueueCurrent::new())?;
    let parser = ScontrolNode::new(name, machine.now(), SignedDuration::ZERO);
    let nodes = live::records(name, machine, &scontrol_show_node(known_as), parser)?;
    let rejects = jobs.rejects.len() + nodes.rejects.len();
    Ok(CurrentQueue {
        jobs: jobs.records,
        nodes: nodes.records,
        missing: Vec::new(),
        is_known: true,
        rejects,
    })
}

/// Queries the access points of a pool one by one. Fails if none of them answers.
fn condor_queues(name: &str, machine: &dyn Machine) -> Result<CurrentQueue, Failure> {
    let daemons = live::records(name, machine, &daemons(), Daemons::default())?;
    let mut queue = CurrentQueue {
        jobs: Vec::new(),
        nodes: Vec::new(),
        missing: Vec::new(),
        is_known: false,
        rejects: daemons.rejects.len(),
    };
    let mut answers = 0;
    let mut last_failure = None;
    for daemon in daemons.records {
        let Daemon::AccessPoint(point) = daemon else { continue };
        queue.is_known = true;
        let command = condor_q_current(Some(&point.name));
        match live::records(name, machine, &command, CondorQCurrent::default()) {
            Ok(jobs) => {
                answers += 1;
                queue.rejects += jobs.rejects.len();
                queue.jobs.extend(jobs.records);
            }
            Err(failure) => {
                complain(&format!("warning: {name}: left out {}: {failure}", point.name));
                queue.missing.push(format!("{}: {failure}", point.name));
                last_failure = Some(failure);
            }
        }
    }
    match last_failure {
        Some(failure) if answers == 0 => Err(failure),
        _ => Ok(queue),
    }
}

const COLUMNS: [(&str, &str, Unit); 11] = [
    ("cluster", "Cluster", Unit::Label),
    ("user", "User", Unit::Label),
    ("partition", "Partition", Unit::Label),
    ("running_jobs", "Running jobs", Unit::Count),
    ("running_cpus", "CPUs", Unit::Count),
    ("running_nodes", "Nodes", Unit::Count),
    ("running_gpus", "GPUs", Unit::Count),
    ("pending_jobs", "Pending jobs", Unit::Count),
    ("pending_cpus", "CPUs asked", Unit::Count),
    ("pending_nodes", "Nodes asked", Unit::Count),
    ("pending_gpus", "GPUs asked", Unit::Count),
];

/// What each user holds and waits for in each partition of a cluster.
struct Holdings {
    by_user: BTreeMap<Who, Holding>,
    notes: Vec<String>,
}

/// A user and a partition.
type Who = (Option<Text>, Option<Text>);

#[derive(Default)]
struct Holding {
    running: Sum,
    running_nodes: BTreeSet<String>,
    pending: Sum,
}

/// A sum is unknown once one of its parts is.
struct Sum {
    jobs: i64,
    cpus: Option<i64>,
    nodes: Option<i64>,
    gpus: Option<i64>,
}

impl Default for Sum {
    fn default() -> Self {
        Sum { jobs: 0, cpus: Some(0), nodes: Some(0), gpus: Some(0) }
    }
}

fn add(sum: &mut Option<i64>, part: Option<i64>) {
    *sum = sum.zip(part).map(|(sum, part)| sum + part);
}

impl Holdings {
    fn of(jobs: &[CurrentJob], nodes: &[NodeSpan]) -> Holdings {
        let node_cpus: HashMap<&str, i64> =
            nodes.iter().filter_map(|node| Some((node.node.as_str(), node.cpus?))).collect();
        let mut by_user: BTreeMap<Who, Holding> = BTreeMap::new();
        let mut notes = Vec::new();
        // Whole nodes that were counted for a user.
        let mut counted: BTreeSet<(Option<&str>, &str)> = BTreeSet::new();
        let (mut suspended, mut on_hold) = (0, 0);
        for job in jobs {
            let who = (job.user.clone(), job.partition.clone());
            let holding = by_user.entry(who).or_default();
            match job.phase {
                Phase::Suspended => suspended += 1,
                Phase::OnHold => on_hold += 1,
                Phase::Waits => {
                    holding.pending.jobs += 1;
                    add(&mut holding.pending.cpus, job.cpus);
                    add(&mut holding.pending.nodes, job.nodes);
                    add(&mut holding.pending.gpus, job.gpus);
                }
                Phase::Holds => {
                    holding.running.jobs += 1;
                    let names = job.node_names.as_deref();
                    let whole =
                        names.filter(|names| job.is_exclusive && !names.is_empty()).and_then(
                            |names| names.iter().map(|name| node_cpus.get(name.as_str())).collect(),
                        );
                    let cpus = match (whole, names) {
                        (Some::<Vec<&i64>>(cpus), Some(names)) => {
                            let mut fresh = 0;
                            for (name, cpus) in names.iter().zip(cpus) {
                                if counted.insert((job.user.as_deref(), name)) {
                                    fresh += cpus;
                                }
                            }
                            Some(fresh)
                        }
                        _ => job.cpus,
                    };
                    add(&mut holding.running.cpus, cpus);
                    add(&mut holding.running.gpus, job.gpus);
                    match names {
                        Some(names) => holding.running_nodes.extend(names.iter().cloned()),
                        None => holding.running.nodes = None,
                    }
                }
            }
        }
        by_user.retain(|_, holding| holding.running.jobs + holding.pending.jobs > 0);
        for holding in by_user.values_mut() {
            add(&mut holding.running.nodes, Some(holding.running_nodes.len() as i64));
        }

        // Only what AccountingStorageTRES lists is in a job's TRES; nodes always have their Gres.
        let in_use: i64 = nodes.iter().filter_map(|node| node.alloc_gpus).sum();
        let of_jobs: i64 = by_user.values().filter_map(|holding| holding.running.gpus).sum();
        if in_use > 0 && of_jobs == 0 {
            notes.push(format!(
                "{in_use} GPUs are in use, but SLURM does not account for them by job: \
                 AccountingStorageTRES lacks gres/gpu."
            ));
            for holding in by_user.values_mut() {
                (holding.running.gpus, holding.pending.gpus) = (None, None);
            }
        }
        if suspended > 0 {
            notes.push(format!("{suspended} suspended jobs are counted in neither."));
        }
        if on_hold > 0 {
            notes.push(format!("{on_hold} jobs on hold are counted in neither."));
        }
        Holdings { by_user, notes }
    }

    fn rows(&self, cluster: &str) -> Vec<Vec<Value>> {
        let mut holdings: Vec<(&Who, &Holding)> = self.by_user.iter().collect();
        // Who holds most comes first; the map's order decides ties.
        holdings.sort_by_key(|(_, holding)| {
            std::cmp::Reverse((holding.running.cpus, holding.pending.cpus))
        });
        holdings
            .into_iter()
            .map(|((user, partition), holding)| {
                let Holding { running, pending, .. } = holding;
                vec![
                    live::label(Some(cluster)),
                    live::label(user.as_deref()),
                    live::label(partition.as_deref()),
                    Value::Integer(running.jobs),
                    live::count(running.cpus),
                    live::count(running.nodes),
                    live::count(running.gpus),
                    Value::Integer(pending.jobs),
                    live::count(pending.cpus),
                    live::count(pending.nodes),
                    live::count(pending.gpus),
                ]
            })
            .collect()
    }

    fn summary(&self, cluster: &str) -> String {
        let mut running = Sum::default();
        let mut pending = Sum::default();
        let mut nodes = BTreeSet::new();
        for holding in self.by_user.values() {
            for (sum, part) in [(&mut running, &holding.running), (&mut pending, &holding.pending)]
            {
                sum.jobs += part.jobs;
                add(&mut sum.cpus, part.cpus);
                add(&mut sum.gpus, part.gpus);
            }
            nodes.extend(&holding.running_nodes);
        }
        let shown =
            |number: Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
        format!(
            "{cluster} in all: {} jobs hold {} CPUs and {} GPUs on {} nodes; {} wait for {} CPUs and {} GPUs.",
            running.jobs,
            shown(running.cpus),
            shown(running.gpus),
            nodes.len(),
            pending.jobs,
            shown(pending.cpus),
            shown(pending.gpus)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::parse;

    fn nodes(text: &str) -> Vec<NodeSpan> {
        let time = "2026-11-15T00:00:00Z".parse().unwrap();
        parse(ScontrolNode::new("maple", time, SignedDuration::ZERO), text.as_bytes()).records
    }

    fn check(rows: &str, nodes_text: &str, expected: &[&str], notes: usize) {
        let header = "JOBID|USER|PARTITION|STATE|NODES|CPUS|TRES_ALLOC|OVER_SUBSCRIBE|NODELIST|";
        let jobs = parse(SqueueCurrent::new(), format!("{header}\n{rows}").as_bytes()).records;
        let holdings = Holdings::of(&jobs, &nodes(nodes_text));
        let zone = jiff::tz::TimeZone::UTC;
        let shown: Vec<String> = holdings
            .rows("maple")
            .iter()
            .map(|row| {
                let cells: Vec<_> =
                    row[1..].iter().map(|value| Unit::Count.show(value, &zone)).collect();
                cells.join(" ")
            })
            .collect();
        assert_eq!(shown, expected);
        assert_eq!(holdings.notes.len(), notes, "{:?}", holdings.notes);
    }

    const NODES: &str = "NodeName=n1 CPUTot=8 State=IDLE\nNodeName=n2 CPUTot=16 State=IDLE\n";

    #[test]
    fn a_job_that_shares_with_nobody_counts_whole_nodes_once() {
        check(
            // Two jobs of ann on n1, one of them also on n2: 8 + 16, not 8 + 8 + 16.
            "1|ann|cpu|RUNNING|1|2|cpu=2|USER|n1|\n\
             2|ann|cpu|RUNNING|2|3|cpu=3|USER|n[1-2]|\n\
             3|bob|cpu|RUNNING|1|2|cpu=2|OK|n1|\n\
             4|eve|cpu|RUNNING|1|5|cpu=5|NO|n9|\n",
            NODES,
            &[
                "ann cpu 2 24 2 0 0 0 0 0",
                // n9 is not among the nodes: what the job itself says counts.
                "eve cpu 1 5 1 0 0 0 0 0",
                "bob cpu 1 2 1 0 0 0 0 0",
            ],
            0,
        );
    }

    #[test]
    fn what_waits_counts_what_it_asks_for() {
        check(
            "5_1|ann|gpu|PENDING|2|8|cpu=8,gres/gpu=4|NO||\n\
             5_2|ann|gpu|PENDING|2|8|cpu=8,gres/gpu=4|NO||\n\
             6|ann|cpu|COMPLETING|1|1|cpu=1|OK|n1|\n\
             7|eve|cpu|SUSPENDED|1|1|cpu=1|OK|n1|\n",
            NODES,
            &["ann cpu 1 1 1 0 0 0 0 0", "ann gpu 0 0 0 0 2 16 4 8"],
            1,
        );
    }

    #[test]
    fn gpus_are_unknown_where_jobs_do_not_account_for_them() {
        check(
            "1|ann|cpu|RUNNING|1|2|cpu=2|OK|n1|\n",
            "NodeName=n1 CPUTot=8 State=MIXED Gres=gpu:2 GresUsed=gpu:1(IDX:0) AllocTRES=cpu=2\n",
            &["ann cpu 1 2 1 - 0 0 0 -"],
            1,
        );
    }
}
