//! Phases of GPUs with the exact times of jobs.
//!
//! Samples decide what a GPU did, and the job history decides when. A phase that samples show begins
//! and ends at a sampling time, up to one sampling interval after the change itself. If the history has
//! the job that began or ended there, its time takes the place of the sampling time. A time that
//! contradicts a sample is not used.
//!
//! Boundaries move and open phases are split, so the phases of a GPU never overlap and cover the same
//! time as its samples. Samples after the period show changes that lie in it, so phases are cut to the
//! period last.

use super::execution::{Execution, Executions};
use super::history::{Gpu, GpuPhase, GpuSide};
use super::index::Index;
use super::phase::{Phase, Situation};
use super::sampling::SamplingTimes;
use crate::gpu_history::Who;
use crate::names::Name;

/// The job history, for the phases of one side of GPUs.
pub(super) struct ExactTimes<'a> {
    pub(super) side: GpuSide,
    pub(super) gpus: &'a [Gpu],
    pub(super) executions: &'a Executions,
    pub(super) index: &'a Index,
    pub(super) samples: &'a SamplingTimes,
    /// When the period begins. Phases that were going on then are cut there.
    pub(super) period_start: i64,
    pub(super) period_end: i64,
}

impl ExactTimes<'_> {
    /// Replaces sampling times by the times of jobs. The phases are by GPU and time, and stay so.
    pub(super) fn apply(&self, sampled: &[GpuPhase]) -> Vec<GpuPhase> {
        let mut phases = Vec::with_capacity(sampled.len());
        for of_one in sampled.chunk_by(|one, other| one.gpu == other.gpu) {
            let first = phases.len();
            let mut next_start = None;
            for (place, sampled) in of_one.iter().enumerate() {
                let mut phase = sampled.clone();
                phase.phase.start = next_start.take().unwrap_or(phase.phase.start);
                if phases.len() == first && place > 0 && phase.phase.start == self.period_start {
                    // The phase before it had ended when the period began.
                    phase.phase.before = Situation::Unknown;
                }
                if let Some(next) = of_one.get(place + 1)
                    && next.phase.start <= sampled.phase.end
                {
                    let is_cut = place == 0 && self.is_cut(sampled);
                    let after = (!is_cut).then_some(phase.phase.start);
                    let boundary = self.boundary(after, sampled, next).max(phase.phase.start);
                    phase.phase.end = boundary;
                    next_start = Some(boundary);
                    if boundary == phase.phase.start {
                        continue;
                    }
                }
                match phase.phase.situation {
                    Situation::Open => self.split(&phase, &mut phases),
                    _ => phases.push(phase),
                }
            }
            join(&mut phases, first);
            self.cut(&mut phases, first);
        }
        phases
    }

    /// Cuts the phases of one GPU at the end of the period.
    fn cut(&self, phases: &mut Vec<GpuPhase>, first: usize) {
        let inside = phases[first..].partition_point(|seen| seen.phase.start < self.period_end);
        phases.truncate(first + inside);
        if let Some(GpuPhase { phase, .. }) = phases[first..].last_mut()
            && phase.end >= self.period_end
        {
            (phase.end, phase.after) = (self.period_end, Situation::Unknown);
        }
    }

    /// Whether a phase may have begun, and ended, before the period: the sample that shows it is older.
    fn is_cut(&self, sampled: &GpuPhase) -> bool {
        sampled.phase.start == self.period_start
    }

    /// When one phase became the next: between the last sample of the first and the first sample of the
    /// second. Between two jobs that is the later one of the end and the start. Samples never showed the
    /// GPU without a job, and HTCondor keeps a claim from one job to the next.
    ///
    /// It is after the exact start of the first. Without one, the first was going on when the period
    /// began, and the change may have come before that.
    fn boundary(&self, after: Option<i64>, sampled: &GpuPhase, next: &GpuPhase) -> i64 {
        let latest = next.phase.start;
        let earliest = self.samples.last_before(self.gpus[sampled.gpu].place.cluster, latest);
        let fits = |time: &i64| {
            (earliest..=latest).contains(time) && after.is_none_or(|start| *time > start)
        };
        let ends = self.executions_of(sampled, earliest).filter_map(|execution| execution.end);
        let starts = self.executions_of(next, earliest).map(|execution| execution.start);
        ends.filter(fits).max().max(starts.filter(fits).max()).unwrap_or(latest)
    }

    /// The executions that may be the job of a phase and did not end before a time.
    fn executions_of(&self, of: &GpuPhase, since: i64) -> impl Iterator<Item = &Execution> {
        let has_job = matches!(of.phase.situation, Situation::Taken | Situation::Owner);
        let by_job = has_job && of.phase.who.job != Name::UNKNOWN;
        let by_gpu = has_job && of.phase.who.job == Name::UNKNOWN;
        let place = self.gpus[of.gpu].place;
        let of_job = by_job.then(|| self.index.of_job(self.executions, of.phase.who.job, place));
        let user = of.phase.who.user;
        let of_gpu = by_gpu.then(|| {
            // Jobs follow each other on a GPU: those before one that had ended have ended too.
            let on_gpu = self.index.on_gpu(of.gpu);
            let execution = |place: &u32| &self.executions.list[*place as usize];
            let begun = on_gpu.partition_point(|place| execution(place).start <= of.phase.end);
            on_gpu[..begun]
                .iter()
                .rev()
                .map(execution)
                .take_while(move |execution| execution.until >= since)
                .filter(move |one| user == Name::UNKNOWN || one.who.user == user)
        });
        let of_job = of_job.into_iter().flatten().map(|(_, execution)| execution);
        of_job.chain(of_gpu.into_iter().flatten())
    }

    /// Adds an open phase, split by jobs that ran on the GPU between two samples. One during which a
    /// sample was taken contradicts that sample and is left out.
    fn split(&self, open: &GpuPhase, phases: &mut Vec<GpuPhase>) {
        let cluster = self.gpus[open.gpu].place.cluster;
        let on_gpu = self.index.on_gpu(open.gpu);
        let of = |place: &u32| &self.executions.list[*place as usize];
        // A job that began before the period may have ended before the next sample.
        let before = if self.is_cut(open) { self.samples.longest_interval(cluster) } else { 0 };
        let since = open.phase.start - before;
        let first = on_gpu.partition_point(|place| of(place).start < since);
        let mut from = open.phase.start;
        let piece = |start, end| Phase { start, end, ..open.phase.clone() };
        for execution in on_gpu[first..].iter().map(of) {
            if execution.start >= open.phase.end {
                break;
            }
            let situation = match (self.side, execution.is_backfill) {
                (GpuSide::Backfill, true) => Situation::Taken,
                (_, false) => Situation::Owner,
                (GpuSide::Primary, true) => continue,
            };
            let (start, end) = (execution.start.max(from), execution.until.min(open.phase.end));
            if end <= start || self.samples.last_before(cluster, end) > execution.start {
                continue;
            }
            if from < start {
                phases.push(GpuPhase { phase: piece(from, start), ..*open });
            }
            let job = Phase { situation, who: execution.who, ..piece(start, end) };
            phases.push(GpuPhase { gpu: open.gpu, phase: job, is_sampled: false });
            from = end;
        }
        if from < open.phase.end {
            phases.push(GpuPhase { phase: piece(from, open.phase.end), ..*open });
        }
    }
}

/// Joins neighbouring phases of one GPU that are the same, and sets what comes before and after each.
fn join(phases: &mut Vec<GpuPhase>, first: usize) {
    let mut kept = first;
    for place in first..phases.len() {
        let next = phases[place].clone();
        if kept > first {
            let GpuPhase { phase, is_sampled, .. } = &mut phases[kept - 1];
            if phase.end == next.phase.start {
                let is_same = |one: &Phase<Who>, other: &Phase<Who>| {
                    (one.situation, one.who) == (other.situation, other.who)
                };
                if is_same(phase, &next.phase) {
                    (phase.end, phase.after) = (next.phase.end, next.phase.after);
                    *is_sampled |= next.is_sampled;
                    continue;
                }
                phase.after = next.phase.situation;
                let before = phase.situation;
                phases[kept] = next;
                phases[kept].phase.before = before;
                kept += 1;
                continue;
            }
        }
        phases[kept] = next;
        kept += 1;
    }
    phases.truncate(kept);
}
