//! How a GPU's situation went on: what followed what, and how long each lasted.
//!
//! Spans are cut at midnight and wherever any column changes; a phase goes on until the situation
//! itself changes. Time that nobody observed ends a phase without telling how it ended.

/// What a GPU could be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Situation {
    /// Its backfill side could have taken a job.
    Open,
    /// A backfill job held it.
    Taken,
    /// Its owner's side was claimed, and no backfill job held it.
    Owner,
    /// It was free on a machine that takes no new jobs while others still run.
    Draining,
    /// It was drained, or kept from taking jobs.
    Drained,
    /// Its machine failed.
    Down,
    /// Its machine was in maintenance.
    Maintenance,
    /// Its machine rebooted.
    Rebooting,
    /// The cluster was looked at, and the GPU was not there or not offered.
    Gone,
    /// Nobody looked.
    Unknown,
}

impl Situation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Situation::Open => "open",
            Situation::Taken => "taken",
            Situation::Owner => "owner",
            Situation::Draining => "draining",
            Situation::Drained => "drained",
            Situation::Down => "down",
            Situation::Maintenance => "maintenance",
            Situation::Rebooting => "rebooting",
            Situation::Gone => "gone",
            Situation::Unknown => "unknown",
        }
    }
}

/// A time during which a GPU's situation did not change, and with it who held it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Phase<Who> {
    pub(crate) situation: Situation,
    pub(crate) who: Who,
    /// In microseconds, as are all times here.
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) before: Situation,
    pub(crate) after: Situation,
}

/// The phase that a GPU is in, as far as its spans have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track<Who> {
    now: Option<Phase<Who>>,
}

impl<Who: PartialEq> Track<Who> {
    /// Adds a span, which starts no earlier than those before; gives the phase that it ends.
    pub(crate) fn add(
        &mut self,
        start: i64,
        end: i64,
        situation: Situation,
        who: Who,
    ) -> Option<Phase<Who>> {
        let Some(now) = &mut self.now else {
            self.begin(start, end, situation, who, Situation::Unknown);
            return None;
        };
        let is_watched = now.end >= start;
        if is_watched && now.situation == situation && now.who == who {
            now.end = now.end.max(end);
            return None;
        }
        now.after = if is_watched { situation } else { Situation::Unknown };
        let before = if is_watched { now.situation } else { Situation::Unknown };
        let over = self.now.take();
        self.begin(start, end, situation, who, before);
        over
    }

    /// The phase that was still going on at the end.
    pub(crate) fn finish(self) -> Option<Phase<Who>> {
        self.now
    }

    fn begin(&mut self, start: i64, end: i64, situation: Situation, who: Who, before: Situation) {
        let after = Situation::Unknown;
        self.now = Some(Phase { situation, who, start, end, before, after });
    }
}

/// When a cluster was looked at: the times that any of its spans covers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Not sorted and overlapping while they come.
    intervals: Vec<(i64, i64)>,
}

impl Watch {
    pub(crate) fn add(&mut self, start: i64, end: i64) {
        match self.intervals.last_mut() {
            // Spans come GPU by GPU; most of them lie in what the one before covers.
            Some(last) if last.0 <= start && start <= last.1 => last.1 = last.1.max(end),
            _ => self.intervals.push((start, end)),
        }
        if self.intervals.len() > 100_000 {
            self.join();
        }
    }

    fn join(&mut self) {
        self.intervals.sort_unstable();
        self.intervals.dedup_by(|later, kept| {
            let touches = later.0 <= kept.1;
            if touches {
                kept.1 = kept.1.max(later.1);
            }
            touches
        });
    }

    /// Ready to be asked.
    pub(crate) fn joined(mut self) -> Watch {
        self.join();
        self
    }

    /// Whether somebody looked right after a moment; only of a joined one.
    fn covers(&self, moment: i64) -> bool {
        let place = self.intervals.partition_point(|interval| interval.0 <= moment);
        place.checked_sub(1).is_some_and(|last| moment < self.intervals[last].1)
    }

    /// Tells where a GPU was gone while others were seen.
    pub(crate) fn tell<Who>(&self, phase: &mut Phase<Who>) {
        if phase.after == Situation::Unknown && self.covers(phase.end) {
            phase.after = Situation::Gone;
        }
        if phase.before == Situation::Unknown && self.covers(phase.start - 1) {
            phase.before = Situation::Gone;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Situation::{Drained, Gone, Open, Owner, Taken, Unknown};
    use super::*;

    /// Spans of one GPU, a letter a time unit: `o` open, `a` and `b` taken by a user, `C` claimed
    /// by its owner, `d` drained, `.` not there; a second line says when anybody looked.
    fn check(spans: &str, looks: &str, expected: &[(&str, i64, i64, Situation, Situation)]) {
        let mut track = Track::default();
        let mut watch = Watch::default();
        let mut phases = Vec::new();
        for (place, letter) in looks.chars().enumerate().filter(|(_, letter)| *letter == '-') {
            let _ = letter;
            watch.add(place as i64, place as i64 + 1);
        }
        for (place, letter) in spans.chars().enumerate() {
            let situation = match letter {
                'o' => Open,
                'a' | 'b' => Taken,
                'C' => Owner,
                'd' => Drained,
                _ => continue,
            };
            let who = (situation == Taken).then_some(letter);
            phases.extend(track.add(place as i64, place as i64 + 1, situation, who));
        }
        phases.extend(track.finish());
        let watch = watch.joined();
        let seen: Vec<_> = phases
            .iter_mut()
            .map(|phase| {
                watch.tell(phase);
                (phase.situation.name(), phase.start, phase.end, phase.before, phase.after)
            })
            .collect();
        assert_eq!(seen, expected, "{spans}");
    }

    #[test]
    fn every_way_in_which_an_open_period_can_end() {
        check("ooaa", "----", &[("open", 0, 2, Unknown, Taken), ("taken", 2, 4, Open, Unknown)]);
        check("ooC", "---", &[("open", 0, 2, Unknown, Owner), ("owner", 2, 3, Open, Unknown)]);
        check("ood", "---", &[("open", 0, 2, Unknown, Drained), ("drained", 2, 3, Open, Unknown)]);
        check("oo.", "---", &[("open", 0, 2, Unknown, Gone)]);
        check("oo.", "-- ", &[("open", 0, 2, Unknown, Unknown)]);
        check("oo", "--", &[("open", 0, 2, Unknown, Unknown)]);
    }

    #[test]
    fn a_gap_ends_a_period_and_nobody_knows_how() {
        check(
            "oo oo",
            "-- --",
            &[("open", 0, 2, Unknown, Unknown), ("open", 3, 5, Unknown, Unknown)],
        );
        check("oo.oo", "-----", &[("open", 0, 2, Unknown, Gone), ("open", 3, 5, Gone, Unknown)]);
    }

    #[test]
    fn one_job_after_another_is_two_periods() {
        check(
            "aabC",
            "----",
            &[
                ("taken", 0, 2, Unknown, Taken),
                ("taken", 2, 3, Taken, Owner),
                ("owner", 3, 4, Taken, Unknown),
            ],
        );
    }
}
