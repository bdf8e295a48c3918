//! What SLURM measures of an attempt, and on which step it says so.

use super::slurm_attempt::{Attempt, Part, State};
use super::{Moment, NEVER};

/// CPU time and resident memory of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) cpu_milliseconds: u64,
    /// Pages of 4 KiB; None where the step was over before it was looked at.
    pub(super) resident_pages: Option<u32>,
}

/// The steps of an attempt that has ended, as they were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// Only the first component of a heterogeneous job has one.
    pub(super) batch: Option<Measured>,
    pub(super) external: Measured,
    /// Step 0, where the work was started by srun.
    pub(super) step: Option<Measured>,
}

/// Memory is looked at every half minute (`JobAcctGatherFrequency`).
const SAMPLE_SECONDS: Moment = 30;

impl Usage {
    /// What was measured by the end of an attempt; None where it has not ended or nothing was
    /// kept, since its node failed.
    pub(super) fn of(attempt: &Attempt) -> Option<Usage> {
        let is_measured = attempt.start != NEVER
            && attempt.end != NEVER
            && !matches!(attempt.state, State::NodeFail | State::CancelledWaiting);
        is_measured.then(|| {
            let elapsed = attempt.end - attempt.start;
            let sampled = |pages| (elapsed >= SAMPLE_SECONDS).then_some(pages);
            let variety = attempt.id.wrapping_add(attempt.submit) % 61;
            let work = Measured {
                cpu_milliseconds: attempt.work_milliseconds(elapsed),
                resident_pages: sampled(attempt.resident_pages()),
            };
            // A script that only waits for srun, and the `sleep` that holds the allocation.
            let script = Measured {
                cpu_milliseconds: u64::from(14 + variety % 9),
                resident_pages: sampled(2700 + variety),
            };
            let has_batch = !matches!(attempt.part, Part::Component { offset: 1, .. });
            Usage {
                batch: has_batch.then_some(if attempt.has_step { script } else { work }),
                external: Measured {
                    cpu_milliseconds: u64::from(1 + variety % 2),
                    resident_pages: sampled(390 + variety % 31),
                },
                step: attempt.has_step.then_some(work),
            }
        })
    }

    pub(super) fn cpu_milliseconds(&self) -> u64 {
        self.steps().map(|step| step.cpu_milliseconds).sum()
    }

    /// The most that the job held at once over so many nodes: a script is on one of them, the
    /// tasks of a step on all. What only holds the allocation is not the job's.
    pub(super) fn max_resident_pages(&self, nodes: u16) -> Option<u32> {
        let on_all = |step: Measured| step.resident_pages.map(|pages| pages * u32::from(nodes));
        match (self.batch, self.step) {
            (None, None) => on_all(self.external),
            (batch, step) => {
                batch.and_then(|batch| batch.resident_pages).max(step.and_then(on_all))
            }
        }
    }

    fn steps(&self) -> impl Iterator<Item = Measured> {
        [self.batch, Some(self.external), self.step].into_iter().flatten()
    }
}

impl Attempt {
    fn work_milliseconds(&self, elapsed: Moment) -> u64 {
        let held = f64::from(elapsed) * f64::from(self.need.cpus) * f64::from(self.need.nodes);
        (held * f64::from(self.plan.cpu_use) * 1000.0) as u64
    }

    /// The memory of the largest task, of which there is one a node.
    fn resident_pages(&self) -> u32 {
        let pages_per_mb = 256.0;
        (f64::from(self.need.memory_mb) * pages_per_mb * f64::from(self.plan.memory_use)) as u32
    }
}
