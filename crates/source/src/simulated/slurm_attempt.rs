//! One attempt of a job on the simulated SLURM cluster.

use super::slurm_nodes::Need;
use super::slurm_workload::{Ending, FIRST_GID, FIRST_UID, Partition, Plan, Pool, USERS, User};
use super::text::{number, push};
use super::{Moment, NEVER};

/// One row of accounting: a job, or a task of an array, from a submission or a requeue to its end.
#[derive(Clone)]
pub(super) struct Attempt {
    /// `JobIDRaw`; the array's own number for tasks that never stood alone.
    pub(super) id: u32,
    pub(super) part: Part,
    pub(super) user: u16,
    pub(super) name: &'static str,
    pub(super) partition: Partition,
    pub(super) pools: &'static [Pool],
    pub(super) hold: Hold,
    pub(super) need: Need,
    pub(super) limit_minutes: u32,
    pub(super) has_step: bool,
    pub(super) submit: Moment,
    pub(super) eligible: Moment,
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) state: State,
    pub(super) restarts: u8,
    /// Whether a next attempt followed.
    pub(super) requeued: bool,
    pub(super) plan: Plan,
    pub(super) first_placement: u32,
}

/// What an attempt is a part of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    Whole,
    Task { array: u32, task: u32 },
    Component { job: u32, offset: u8 },
}

/// Why a job may not start when it is submitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hold {
    None,
    User,
    BeginTime,
    Dependency,
}

/// How an attempt ended, or where it stands when the simulation ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Pending,
    Running,
    Ended(Ending),
    CancelledWaiting,
    NodeFail,
    Preempted,
}

impl Attempt {
    pub(super) fn user(&self) -> &'static User {
        &USERS[usize::from(self.user)]
    }

    pub(super) fn uid(&self) -> u32 {
        FIRST_UID + u32::from(self.user)
    }

    /// The number of the user's group, which has the name of the account.
    pub(super) fn gid(&self) -> u32 {
        let is_alike = |user: &User| user.account == self.user().account;
        FIRST_GID + USERS.iter().take_while(|user| !is_alike(user)).count() as u32
    }

    /// Over all nodes.
    pub(super) fn cpus(&self) -> u32 {
        u32::from(self.need.cpus) * u32::from(self.need.nodes)
    }

    /// Over all nodes.
    pub(super) fn gpus(&self) -> u32 {
        u32::from(self.need.gpus) * u32::from(self.need.nodes)
    }

    /// Over all nodes.
    pub(super) fn memory_mb(&self) -> u64 {
        u64::from(self.need.memory_mb) * u64::from(self.need.nodes)
    }

    /// Percent of one GPU, so up to 400 for four.
    pub(super) fn gpu_percent(&self) -> u64 {
        (f64::from(self.plan.gpu_use) * 100.0 * f64::from(self.need.gpus)).round() as u64
    }

    /// The sum over the GPUs of a node.
    pub(super) fn gpu_memory_mb(&self) -> u64 {
        (f64::from(self.plan.gpu_use) * 38_000.0) as u64 * u64::from(self.need.gpus)
    }

    /// Where it stands at a moment; None before it exists.
    pub(super) fn state_at(&self, now: Moment) -> Option<State> {
        if now < self.submit {
            None
        } else if self.end <= now {
            Some(self.state)
        } else if self.start <= now {
            Some(State::Running)
        } else {
            Some(State::Pending)
        }
    }

    /// Whether accounting knows by `now` when it was or will be eligible.
    pub(super) fn is_eligible_known(&self, now: Moment) -> bool {
        match self.hold {
            Hold::None | Hold::BeginTime => self.eligible != NEVER,
            Hold::User | Hold::Dependency => self.eligible <= now,
        }
    }

    /// Whether it is one row with the tasks of its array that wait like it.
    pub(super) fn waits_with(&self, other: &Attempt) -> bool {
        let array = |part| match part {
            Part::Task { array, .. } => Some(array),
            _ => None,
        };
        array(self.part).is_some()
            && array(self.part) == array(other.part)
            && self.restarts == 0
            && other.restarts == 0
    }
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Pending => "PENDING",
            State::Running => "RUNNING",
            State::NodeFail => "NODE_FAIL",
            State::Preempted => "PREEMPTED",
            State::CancelledWaiting
            | State::Ended(Ending::CancelledByOwner | Ending::CancelledByRoot) => "CANCELLED",
            State::Ended(Ending::Completed) => "COMPLETED",
            State::Ended(Ending::Failed { .. }) => "FAILED",
            State::Ended(Ending::Timeout) => "TIMEOUT",
            State::Ended(Ending::OutOfMemory) => "OUT_OF_MEMORY",
        }
    }
}

/// A job's id as sacct and squeue show it: `12`, `16_5`, `16_[5-20]` for tasks that wait, `24+1`.
pub(super) fn job_id(out: &mut Vec<u8>, attempt: &Attempt, last: &Attempt, is_waiting: bool) {
    match (attempt.part, last.part) {
        (Part::Whole, _) => number(out, attempt.id),
        (Part::Component { job, offset }, _) => {
            number(out, job);
            out.push(b'+');
            number(out, offset);
        }
        (Part::Task { array, task }, Part::Task { task: last_task, .. })
            if is_waiting && attempt.restarts == 0 =>
        {
            number(out, array);
            push(out, "_[");
            number(out, task);
            if last_task != task {
                out.push(b'-');
                number(out, last_task);
            }
            out.push(b']');
        }
        (Part::Task { array, task }, _) => {
            number(out, array);
            out.push(b'_');
            number(out, task);
        }
    }
}
