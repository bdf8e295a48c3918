//! What an attempt asks for and holds, in the words of the simulated `sacct`.

use super::slurm_attempt::Part;
use super::slurm_cluster::SlurmCluster;
use super::slurm_nodes::Placement;
use super::slurm_sacct_row::{Row, RowKind};
use super::text::{Unit, converted, number, push, unconverted};

impl SlurmCluster {
    /// `c003`, or `c[003-004,007]`.
    pub(super) fn node_list(&self, placements: &[Placement], out: &mut Vec<u8>) {
        let node = |at: usize| &self.nodes[usize::from(placements[at].node)];
        if placements.len() == 1 {
            return push(out, &node(0).name);
        }
        out.push(node(0).name.as_bytes()[0]);
        let mut at = 0;
        while at < placements.len() {
            out.push(if at == 0 { b'[' } else { b',' });
            let first = at;
            while at + 1 < placements.len() && node(at + 1).number == node(at).number + 1 {
                at += 1;
            }
            push(out, &node(first).name[1..]);
            if at > first {
                out.push(b'-');
                push(out, &node(at).name[1..]);
            }
            at += 1;
        }
        out.push(b']');
    }
}

impl Row<'_> {
    /// Sorted by name, as in sacct alone: the model's count before the total that includes it.
    pub(super) fn tres(
        &self,
        out: &mut Vec<u8>,
        nodes: u16,
        gpu_type: Option<&str>,
        with_billing: bool,
    ) {
        let need = self.rows.attempt.need;
        let cpus = u32::from(nodes) * u32::from(need.cpus);
        if with_billing {
            push(out, "billing=");
            number(out, cpus);
            out.push(b',');
        }
        push(out, "cpu=");
        number(out, cpus);
        if need.gpus > 0 {
            let gpus = u32::from(nodes) * u32::from(need.gpus);
            if let Some(gpu_type) = gpu_type {
                push(out, ",gres/gpu:");
                push(out, gpu_type);
                out.push(b'=');
                number(out, gpus);
            }
            push(out, ",gres/gpu=");
            number(out, gpus);
        }
        push(out, ",mem=");
        self.memory(out, u64::from(nodes) * u64::from(need.memory_mb), Unit::Mebibyte);
        push(out, ",node=");
        number(out, nodes);
    }

    /// Memory, in the units that were asked for.
    pub(super) fn memory(&self, out: &mut Vec<u8>, amount: u64, unit: Unit) {
        let write = if self.rows.converts { converted } else { unconverted };
        write(out, amount, unit);
    }

    /// How the job was submitted, or the step started.
    pub(super) fn submit_line(&self, out: &mut Vec<u8>) {
        let attempt = self.rows.attempt;
        let need = attempt.need;
        match self.kind {
            RowKind::Batch | RowKind::External => return,
            RowKind::Step => return push(out, "srun app"),
            RowKind::Job => {}
        }
        push(out, "sbatch --partition=");
        push(out, attempt.partition.name());
        push(out, " --time=");
        number(out, attempt.limit_minutes);
        push(out, " --nodes=");
        number(out, need.nodes);
        push(out, " --cpus-per-task=");
        number(out, need.cpus);
        push(out, " --mem=");
        number(out, need.memory_mb);
        out.push(b'M');
        if need.gpus > 0 {
            push(out, " --gpus-per-node=");
            number(out, need.gpus);
        }
        if matches!(attempt.part, Part::Task { .. }) {
            push(out, " --array=1-100%20");
        }
        push(out, " job.sh");
    }

    pub(super) fn work_dir(&self, out: &mut Vec<u8>) {
        let user = self.rows.attempt.user();
        push(out, "/home/");
        push(out, user.name);
        out.push(b'/');
        push(out, user.account);
    }
}
