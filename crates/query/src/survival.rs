//! How long things last, where some of them were still going on when they were last seen.
//!
//! The estimates of E. L. Kaplan and P. Meier (1958) with M. Greenwood's variance, and the
//! log-rank test of N. Mantel (1966).

/// How long something was seen to last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Observation {
    pub(crate) seconds: f64,
    /// Whether it ended then; if not, it lasted at least so long.
    pub(crate) ended: bool,
}

/// How many last longer than a time, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    /// Where it falls, in the order of time.
    pub(crate) steps: Vec<Step>,
    /// The longest that was seen; beyond it nothing is known.
    pub(crate) longest_seconds: f64,
}

/// A time at which something ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) seconds: f64,
    /// How many were seen to last until this time at least.
    pub(crate) at_risk: u64,
    /// How many of these ended at it.
    pub(crate) ended: u64,
    /// The share that lasts longer.
    pub(crate) survival: f64,
    /// Where that share lies with a confidence of 95 %.
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// The normal distribution's quantile at 97.5 %.
const TWO_SIDED_95: f64 = 1.959_963_984_540_054;

impl Curve {
    /// The curve by what was observed, in whatever order.
    pub(crate) fn of(observations: &[Observation]) -> Curve {
        let mut sorted = observations.to_vec();
        sorted.sort_unstable_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let mut curve = Curve {
            longest_seconds: sorted.last().map_or(0.0, |last| last.seconds),
            ..Curve::default()
        };
        let mut at_risk = sorted.len() as u64;
        let (mut survival, mut variance) = (1.0, 0.0);
        for same in sorted.chunk_by(|one, other| one.seconds == other.seconds) {
            let ended = same.iter().filter(|observation| observation.ended).count() as u64;
            if ended > 0 {
                let (risk, ends) = (at_risk as f64, ended as f64);
                survival *= 1.0 - ends / risk;
                variance += ends / (risk * (risk - ends));
                let (lower, upper) = band(survival, variance);
                let seconds = same[0].seconds;
                curve.steps.push(Step { seconds, at_risk, ended, survival, lower, upper });
            }
            at_risk -= same.len() as u64;
        }
        curve
    }

    /// The last step that is not later than a time; none if nothing ended until then.
    pub(crate) fn step_at(&self, seconds: f64) -> Option<&Step> {
        let place = self.steps.partition_point(|step| step.seconds <= seconds);
        place.checked_sub(1).map(|last| &self.steps[last])
    }

    /// The share that lasts longer than a time; unknown beyond what was seen, but where none is
    /// left.
    pub(crate) fn survival(&self, seconds: f64) -> Option<f64> {
        let survival = self.step_at(seconds).map_or(1.0, |step| step.survival);
        (seconds <= self.longest_seconds || survival == 0.0).then_some(survival)
    }

    /// How long it takes until at most this share is left; unknown if so many never were seen to
    /// end.
    pub(crate) fn time_until(&self, share: f64) -> Option<f64> {
        // A share such as 0.5 is reached by products such as 0.5000000000000001.
        let is_reached = |step: &&Step| step.survival <= share + 1e-12;
        self.steps.iter().find(is_reached).map(|step| step.seconds)
    }

    /// How long they last on average if each is stopped after a time: the area under the curve.
    pub(crate) fn mean_until(&self, seconds: f64) -> Option<f64> {
        self.survival(seconds)?;
        let (mut area, mut before, mut survival) = (0.0, 0.0, 1.0);
        for step in self.steps.iter().take_while(|step| step.seconds < seconds) {
            area += survival * (step.seconds - before);
            (before, survival) = (step.seconds, step.survival);
        }
        Some(area + survival * (seconds - before))
    }
}

/// The band by the logarithm of the cumulative hazard, which stays between 0 and 1.
fn band(survival: f64, variance: f64) -> (f64, f64) {
    if survival <= 0.0 {
        return (0.0, 0.0);
    }
    let hazard = -survival.ln();
    let width = TWO_SIDED_95 * variance.sqrt() / hazard;
    let bound = |width: f64| (-hazard * width.exp()).exp();
    (bound(width), bound(-width))
}

/// Whether a group and all others last equally long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogRank {
    pub(crate) statistic: f64,
    /// How likely so great a difference is if they do.
    pub(crate) p_value: f64,
}

/// Compares each group with all others together; none where there are no others, or nothing ended
/// that tells them apart.
pub(crate) fn log_rank(groups: &[&[Observation]]) -> Vec<Option<LogRank>> {
    let mut all: Vec<(f64, bool, usize)> = groups
        .iter()
        .enumerate()
        .flat_map(|(place, group)| group.iter().map(move |seen| (seen.seconds, seen.ended, place)))
        .collect();
    all.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let mut at_risk: Vec<f64> = groups.iter().map(|group| group.len() as f64).collect();
    let mut risk = all.len() as f64;
    let mut excess = vec![0.0; groups.len()];
    let mut variance = vec![0.0; groups.len()];
    for same in all.chunk_by(|one, other| one.0 == other.0) {
        let ends = same.iter().filter(|seen| seen.1).count() as f64;
        if ends > 0.0 {
            let ties = if risk > 1.0 { ends * (risk - ends) / (risk - 1.0) } else { 0.0 };
            for group in 0..groups.len() {
                let share = at_risk[group] / risk;
                excess[group] -= ends * share;
                variance[group] += ties * share * (1.0 - share);
            }
            same.iter().filter(|seen| seen.1).for_each(|seen| excess[seen.2] += 1.0);
        }
        same.iter().for_each(|seen| at_risk[seen.2] -= 1.0);
        risk -= same.len() as f64;
    }
    let compared = |(excess, variance): (&f64, &f64)| {
        let statistic = excess * excess / variance;
        // Chi-squared with one degree of freedom.
        let p_value = libm::erfc((statistic / 2.0).sqrt());
        (*variance > 1e-12).then_some(LogRank { statistic, p_value })
    };
    excess.iter().zip(&variance).map(compared).collect()
}

#[cfg(test)]
mod tests;
