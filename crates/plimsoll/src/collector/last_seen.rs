//! What was last seen of the cluster, kept for metrics: what looks saw is there already, and the rest
//! is added here.

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use record::{AccessPoint, Seen};

use super::Collector;

impl Collector {
    /// Writes it, with how the sources fare.
    pub(super) async fn keep_last_seen(&mut self) -> Result<()> {
        self.live.collected_ratio = self.collected_ratio();
        // What is no longer asked, such as an access point that is gone, has no health.
        let lately = (3.0 * self.live.cadence_seconds).max(3600.0);
        let run = self.run;
        self.live.sources.retain(|source| {
            let age = |time: Timestamp| run.duration_since(time).as_secs_f64();
            source.last_time.is_some_and(|time| age(time) <= lately)
        });
        self.note_heard();
        self.writer.put_live(&self.live).await
    }

    /// Adds to the access points until when each told of its jobs, also of those that the pool no
    /// longer lists.
    fn note_heard(&mut self) {
        let tracked = &self.writer.tracker().access_points;
        if tracked.is_empty() {
            return;
        }
        let none = || Seen { time: self.run, rows: Vec::new() };
        let points = self.live.access_points.get_or_insert_with(none);
        for (name, heard) in tracked {
            let heard_time = Some(heard.until);
            match points.rows.iter_mut().find(|point| point.name == *name) {
                Some(point) => point.heard_time = heard_time,
                None => points.rows.push(AccessPoint {
                    name: name.clone().into(),
                    heard_time,
                    update_time: None,
                }),
            }
        }
    }

    /// Of the last seven days that are over, the share that was collected when it was.
    fn collected_ratio(&self) -> Option<f64> {
        const DAYS: i32 = 7;
        let today = self.run.to_zoned(TimeZone::UTC).date();
        let mut day = today;
        let mut collected = 0;
        for _ in 0..DAYS {
            day = day.yesterday().ok()?;
            // What is still due of yesterday in the hour after midnight is the lag of accounting.
            collected += i32::from(self.writer.tracker().days.contains_key(&day));
        }
        Some(f64::from(collected) / f64::from(DAYS))
    }
}
