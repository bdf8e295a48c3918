//! Prints the simulated cluster's nodes as `scontrol show node` does, and its jobs.

use std::io::Write;

use super::arguments::{Arguments, Known, flag, value};
use super::slurm_attempt::State;
use super::slurm_cluster::SlurmCluster;
use super::slurm_nodes::{Node, Outage, OutageKind};
use super::slurm_settings::{VERSION, show_config};
use super::slurm_show_job::show_jobs;
use super::slurm_workload::Pool;
use super::text::{Output, memory};
use super::{DAY, Moment, SLURM_CLUSTER};
use crate::machine::{Command, Failure};

const OPTIONS: [Known; 3] = [
    flag(&["--details", "-d"]),
    flag(&["--oneliner", "-o"]),
    value(&["--clusters", "--cluster", "-M"]),
];

pub(super) fn scontrol(
    cluster: &SlurmCluster,
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &OPTIONS)?;
    if arguments.words == ["show", "config"] {
        show_config(now, sink);
        return Ok(());
    }
    let is_of_jobs = matches!(arguments.words[..], ["show", "job" | "jobs"]);
    let wanted = match arguments.words[..] {
        _ if is_of_jobs => None,
        ["show", "node" | "nodes"] => None,
        ["show", "node" | "nodes", name] => Some(name),
        ["show", entity, ..] => {
            return Err(arguments.failure(format!("invalid entity:{entity} for keyword:show")));
        }
        [keyword, ..] => return Err(arguments.failure(format!("invalid keyword: {keyword}"))),
        [] => return Err(arguments.failure("scontrol: error: no command")),
    };
    if !arguments.has("--oneliner") {
        return Err(
            arguments.failure("scontrol: error: this simulated site prints only with --oneliner")
        );
    }
    if let Some(name) = arguments.get("--clusters").filter(|name| *name != SLURM_CLUSTER) {
        return Err(arguments.failure(format!("scontrol: error: no cluster '{name}' is known")));
    }
    if is_of_jobs {
        show_jobs(cluster, now, arguments.has("--details"), sink);
        return Ok(());
    }
    let held = held(cluster, now);
    let mut output = Output::new(sink);
    let mut is_found = wanted.is_none();
    for (index, (node, held)) in cluster.nodes.iter().zip(&held).enumerate() {
        if wanted.is_none_or(|name| name == node.name) {
            is_found = true;
            let outage = cluster.outages.iter().find(|outage| {
                usize::from(outage.node) == index && outage.start <= now && now < outage.end
            });
            line(&mut output.text, node, held, outage, arguments.has("--details"), now);
            output.flow();
        }
    }
    if let (false, Some(name)) = (is_found, wanted) {
        return Err(arguments.failure(format!("Node {name} not found")));
    }
    output.finish();
    Ok(())
}

/// What jobs hold of a node, and the CPUs that they keep busy.
#[derive(Clone, Default)]
struct Held {
    cpus: u32,
    memory_mb: u64,
    gpus: u8,
    load: f64,
}

fn held(cluster: &SlurmCluster, now: Moment) -> Vec<Held> {
    let mut nodes = vec![Held::default(); cluster.nodes.len()];
    for index in cluster.alive.between(now, now) {
        let attempt = &cluster.attempts[index as usize];
        if attempt.state_at(now) != Some(State::Running) {
            continue;
        }
        for placement in cluster.placements(attempt) {
            let held = &mut nodes[usize::from(placement.node)];
            held.cpus += u32::from(placement.cpus);
            held.memory_mb += u64::from(placement.memory_mb);
            held.gpus |= placement.gpus;
            held.load += f64::from(placement.cpus) * f64::from(attempt.plan.cpu_use);
        }
    }
    nodes
}

fn line(
    out: &mut Vec<u8>,
    node: &Node,
    held: &Held,
    outage: Option<&Outage>,
    with_details: bool,
    now: Moment,
) {
    // Vec<u8> takes whatever is written to it, so that no write here can fail.
    let mut say = |text: std::fmt::Arguments| {
        let _ = out.write_fmt(text);
    };
    let Node { name, cpus, memory_mb, .. } = node;
    let gpu_type = node.pool.gpu_type();
    let features = gpu_type.unwrap_or("avx512");
    say(format_args!(
        "NodeName={name} Arch=x86_64 CoresPerSocket={cores}  CPUAlloc={allocated} \
         CPUEfctv={cpus} CPUTot={cpus} CPULoad={load:.2} AvailableFeatures=amd,{features} \
         ActiveFeatures=amd,{features} ",
        cores = cpus / 2,
        allocated = held.cpus,
        load = held.load,
    ));
    match gpu_type {
        Some(gpu_type) => say(format_args!("Gres=gpu:{gpu_type}:{}", node.gpus)),
        None => say(format_args!("Gres=(null)")),
    }
    if with_details {
        match gpu_type {
            Some(gpu_type) => {
                let count = held.gpus.count_ones();
                let indices = index_ranges(held.gpus);
                say(format_args!(" GresDrain=N/A GresUsed=gpu:{gpu_type}:{count}(IDX:{indices})"));
            }
            None => say(format_args!(" GresDrain=N/A GresUsed=gpu:0")),
        }
    }
    let boot = now / (30 * DAY) * (30 * DAY);
    let partitions = match node.pool {
        Pool::Debug => "debug",
        Pool::Cpu => "cpu,preempt",
        _ => "gpu,preempt",
    };
    say(format_args!(
        " NodeAddr={name} NodeHostName={name} Version={VERSION} OS=Linux 5.14.0 #1 SMP \
         PREEMPT_DYNAMIC @0  RealMemory={memory_mb} AllocMem={allocated} FreeMem={free} Sockets=2 \
         Boards=1 State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A \
         Partitions={partitions}  BootTime={boot} SlurmdStartTime={boot} LastBusyTime={now} ",
        allocated = held.memory_mb,
        free = u64::from(*memory_mb).saturating_sub(held.memory_mb / 2),
        state = state(node, held, outage),
    ));
    say(format_args!("CfgTRES="));
    tres(out, u32::from(*cpus), u64::from(*memory_mb), u32::from(node.gpus), gpu_type, true);
    out.extend_from_slice(b" AllocTRES=");
    if held.cpus > 0 {
        tres(out, held.cpus, held.memory_mb, held.gpus.count_ones(), gpu_type, false);
    }
    out.extend_from_slice(
        b" CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 \
          ExtSensorsTemp=n/s",
    );
    if let Some(Outage { reason, user, start, .. }) = outage {
        let _ = write!(out, " Reason={reason} [{user}@{start}]");
    }
    out.push(b'\n');
}

fn state(node: &Node, held: &Held, outage: Option<&Outage>) -> &'static str {
    let is_idle = held.cpus == 0;
    let is_full = held.cpus == u32::from(node.cpus);
    match outage.map(|outage| outage.kind) {
        Some(OutageKind::Down) => "DOWN",
        Some(OutageKind::NotResponding) => "DOWN+NOT_RESPONDING",
        Some(OutageKind::Drain) if is_idle => "IDLE+DRAIN",
        Some(OutageKind::Drain) if is_full => "ALLOCATED+DRAIN",
        Some(OutageKind::Drain) => "MIXED+DRAIN",
        None if is_idle => "IDLE",
        None if is_full => "ALLOCATED",
        None => "MIXED",
    }
}

/// In scontrol's own order.
fn tres(
    out: &mut Vec<u8>,
    cpus: u32,
    memory_mb: u64,
    gpus: u32,
    gpu_type: Option<&str>,
    with_billing: bool,
) {
    let _ = write!(out, "cpu={cpus},mem=");
    memory(out, memory_mb);
    if with_billing {
        let _ = write!(out, ",billing={cpus}");
    }
    if let (1.., Some(gpu_type)) = (gpus, gpu_type) {
        let _ = write!(out, ",gres/gpu={gpus},gres/gpu:{gpu_type}={gpus}");
    }
}

/// `0-1,3`, or `N/A` for none.
pub(super) fn index_ranges(bits: u8) -> String {
    let mut ranges: Vec<String> = Vec::new();
    let mut index = 0;
    while index < 8 {
        let length = (bits >> index).trailing_ones();
        match length {
            0 => {}
            1 => ranges.push(index.to_string()),
            _ => ranges.push(format!("{index}-{}", index + length - 1)),
        }
        index += length.max(1);
    }
    if ranges.is_empty() { "N/A".to_owned() } else { ranges.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_indices_are_ranges() {
        for (bits, expected) in
            [(0, "N/A"), (0b1, "0"), (0b1011, "0-1,3"), (0b1111_1111, "0-7"), (0b1000_0000, "7")]
        {
            assert_eq!(index_ranges(bits), expected);
        }
    }
}
