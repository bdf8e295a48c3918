//! What was measured of a step, in the words of the simulated `sacct`.

use super::slurm_sacct_row::{Row, RowKind};
use super::slurm_usage::Measured;
use super::text::{Unit, cpu_time, disk, duration, number, push};

impl Row<'_> {
    pub(super) fn total_cpu(&self, out: &mut Vec<u8>) {
        cpu_time(out, self.cpu_milliseconds());
    }

    pub(super) fn user_cpu(&self, out: &mut Vec<u8>) {
        cpu_time(out, self.cpu_milliseconds() - self.system_milliseconds());
    }

    pub(super) fn system_cpu(&self, out: &mut Vec<u8>) {
        cpu_time(out, self.system_milliseconds());
    }

    /// The CPU time of one task, of which all are alike: that of the mean one and the least one.
    pub(super) fn cpu_of_task(&self, out: &mut Vec<u8>) {
        if let Some(sampled) = self.sampled() {
            duration(out, sampled.cpu_milliseconds / self.tasks() / 1000);
        }
    }

    /// Memory of one task.
    pub(super) fn resident(&self, out: &mut Vec<u8>) {
        if let Some(sampled) = self.sampled() {
            self.memory(out, sampled.resident_bytes, Unit::Byte);
        }
    }

    pub(super) fn virtual_memory(&self, out: &mut Vec<u8>) {
        if let Some(sampled) = self.sampled() {
            self.memory(out, sampled.virtual_bytes(), Unit::Byte);
        }
    }

    /// What a task read; it writes a twentieth of that.
    pub(super) fn disk_read(&self, out: &mut Vec<u8>) {
        if let Some(sampled) = self.sampled() {
            disk(out, sampled.read_bytes());
        }
    }

    pub(super) fn disk_write(&self, out: &mut Vec<u8>) {
        if let Some(sampled) = self.sampled() {
            disk(out, sampled.read_bytes() / 20);
        }
    }

    /// The node of the largest task: of equals, the first.
    pub(super) fn node_of_largest(&self, out: &mut Vec<u8>) {
        if self.sampled().is_some() {
            let placements = self.cluster.placements(self.rows.attempt);
            self.cluster.node_list(&placements[..1], out);
        }
    }

    /// A script is one task; of the others there is one a node.
    pub(super) fn tasks(&self) -> u64 {
        if self.kind == RowKind::Batch { 1 } else { u64::from(self.rows.attempt.need.nodes) }
    }

    /// What so many of the step's tasks used, which are all alike.
    pub(super) fn tres_usage(&self, tasks: u64, out: &mut Vec<u8>) {
        let Some(sampled) = self.sampled() else { return };
        let attempt = self.rows.attempt;
        push(out, "cpu=");
        duration(out, sampled.cpu_milliseconds * tasks / self.tasks() / 1000);
        push(out, ",energy=0,fs/disk=");
        number(out, sampled.read_bytes() * tasks);
        let is_work = match self.kind {
            RowKind::Batch => !attempt.has_step,
            RowKind::Step => true,
            RowKind::Job | RowKind::External => false,
        };
        if attempt.need.gpus > 0 && is_work {
            // Both are sums over the GPUs of the task.
            push(out, ",gres/gpumem=");
            number(out, (attempt.gpu_memory_mb() << 20) * tasks);
            push(out, ",gres/gpuutil=");
            number(out, attempt.gpu_percent() * tasks);
        }
        push(out, ",mem=");
        self.memory(out, sampled.resident_bytes * tasks, Unit::Byte);
        push(out, ",pages=0,vmem=");
        self.memory(out, sampled.virtual_bytes() * tasks, Unit::Byte);
    }

    fn cpu_milliseconds(&self) -> u64 {
        self.measured.map_or(0, |measured| measured.cpu_milliseconds)
    }

    /// A twentieth of the work is the kernel's.
    fn system_milliseconds(&self) -> u64 {
        self.cpu_milliseconds() / 20
    }

    /// The step, if it was looked at before it was over.
    fn sampled(&self) -> Option<Sampled> {
        let Measured { cpu_milliseconds, resident_pages } = self.measured?;
        Some(Sampled { cpu_milliseconds, resident_bytes: u64::from(resident_pages?) * 4096 })
    }
}

/// What is known of a step that was looked at.
struct Sampled {
    /// Over all tasks.
    cpu_milliseconds: u64,
    /// Of a task.
    resident_bytes: u64,
}

impl Sampled {
    /// A task has its libraries, too.
    fn virtual_bytes(&self) -> u64 {
        self.resident_bytes + (200 << 20)
    }

    fn read_bytes(&self) -> u64 {
        self.resident_bytes / 4096 * 3 + 6976
    }
}
