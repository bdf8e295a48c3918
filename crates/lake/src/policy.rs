//! The site policies of a cluster, each stored whole.

use anyhow::Result;
use jiff::Timestamp;
use record::{Record, SitePolicy};

use crate::write::Writer;
use crate::{Lake, LakeFile, Trackers, known_files};

impl Lake {
    /// The files that hold site policies. On object storage the trackers name them, so that a
    /// question about a lake without any policy makes no further request.
    pub async fn policy_files(&self, trackers: &Trackers) -> Result<Vec<LakeFile>> {
        match known_files(&SitePolicy::TABLE, trackers) {
            Some(known) if self.folder().is_none() => Ok(known),
            _ => self.files(&SitePolicy::TABLE, trackers).await,
        }
    }
}

impl Writer {
    /// The times from which the stored policies apply, in order.
    pub async fn policy_starts(&self) -> Result<Vec<Timestamp>> {
        let mut starts = Vec::new();
        for file in self.lake.files_of(&SitePolicy::TABLE, &self.cluster).await? {
            let rows: Vec<SitePolicy> = self.stored(&file.meta.location).await?;
            starts.extend(rows.iter().map(|row| row.valid_from));
        }
        starts.sort_unstable();
        starts.dedup();
        Ok(starts)
    }

    /// The rows of the newest policy that is stored; none if there is none.
    pub async fn newest_policy(&self) -> Result<Vec<SitePolicy>> {
        let files = self.lake.files_of(&SitePolicy::TABLE, &self.cluster).await?;
        let Some(last) = files.iter().max_by_key(|file| file.date) else { return Ok(Vec::new()) };
        let mut rows: Vec<SitePolicy> = self.stored(&last.meta.location).await?;
        let newest = rows.iter().map(|row| row.valid_from).max();
        rows.retain(|row| Some(row.valid_from) == newest);
        Ok(rows)
    }

    /// Stores a policy, all rows of which have one `valid_from`. It replaces the one that is stored
    /// for the same time, as a whole. Returns whether that one was another.
    pub async fn put_policy(&mut self, policy: &[SitePolicy]) -> Result<bool> {
        let Some(first) = policy.first() else { return Ok(false) };
        debug_assert!(policy.iter().all(|row| row.valid_from == first.valid_from));
        let path = self.file::<SitePolicy>(first.valid_from);
        let stored: Vec<SitePolicy> = self.stored(&path).await?;
        let (same_time, others): (Vec<&SitePolicy>, Vec<&SitePolicy>) =
            stored.iter().partition(|row| row.valid_from == first.valid_from);
        let is_same = same_time.len() == policy.len()
            && same_time.iter().zip(policy).all(|(one, other)| one.says_the_same(other));
        if is_same {
            return Ok(false);
        }
        let mut rows: Vec<&SitePolicy> = others.into_iter().chain(policy).collect();
        rows.sort_unstable_by(|one, other| one.compare_place(other));
        self.replace(&path, &rows).await?;
        Ok(true)
    }

    /// Removes the policies that apply from later than a time on, and returns how many these are.
    pub async fn remove_policies_after(&mut self, time: Timestamp) -> Result<usize> {
        let mut removed = 0;
        for file in self.lake.files_of(&SitePolicy::TABLE, &self.cluster).await? {
            let path = &file.meta.location;
            let rows: Vec<SitePolicy> = self.stored(path).await?;
            let (kept, later): (Vec<&SitePolicy>, Vec<&SitePolicy>) =
                rows.iter().partition(|row| row.valid_from <= time);
            removed += later.iter().filter(|row| row.kind == SitePolicy::WHOLE).count();
            if kept.is_empty() {
                self.files.remove(std::iter::once(path)).await?;
                self.tracker.files.remove(path.as_ref());
            } else if !later.is_empty() {
                self.replace(path, &kept).await?;
            }
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// A policy of so many rules.
    fn policy(valid_from: &str, rules: i64) -> Vec<SitePolicy> {
        let row = |rule: i64| SitePolicy {
            cluster: "maple".into(),
            valid_from: time(valid_from),
            rule,
            kind: if rule == 0 { SitePolicy::WHOLE } else { "backfill_partition" }.into(),
            pattern: (rule > 0).then(|| format!("p{rule}").into()),
            value: None,
            family: None,
            tier: None,
            weight: None,
            memory_gb: None,
            hidden: None,
            stored_time: time("2026-03-09T00:00:00Z"),
        };
        (0..=rules).map(row).collect()
    }

    async fn all(lake: &Lake) -> Vec<(String, i64)> {
        let mut rows = Vec::new();
        for file in lake.policy_files(&lake.trackers().await.unwrap()).await.unwrap() {
            rows.extend(lake.read::<SitePolicy>("maple", &file.meta.location).await.unwrap());
        }
        rows.into_iter().map(|row| (row.valid_from.to_string(), row.rule)).collect()
    }

    #[tokio::test]
    async fn a_policy_replaces_the_one_of_its_time_whole_and_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::create(folder.path()).unwrap();
        let mut writer = lake.writer("maple").await.unwrap();
        assert_eq!(writer.newest_policy().await.unwrap(), []);
        let (morning, noon) = ("2026-03-08T06:00:00Z", "2026-03-08T12:00:00Z");
        for (policy, is_new) in [
            (policy(noon, 1), true),
            (policy(morning, 3), true),
            (policy(morning, 1), true),
            (policy(morning, 1), false),
        ] {
            assert_eq!(writer.put_policy(&policy).await.unwrap(), is_new);
        }
        let row = |time: &str, rule: i64| (time.to_owned(), rule);
        let expected = [row(morning, 0), row(morning, 1), row(noon, 0), row(noon, 1)];
        assert_eq!(all(&lake).await, expected);
        assert_eq!(writer.policy_starts().await.unwrap(), [time(morning), time(noon)]);
        assert_eq!(writer.newest_policy().await.unwrap(), policy(noon, 1));
        assert!(writer.put_policy(&policy("2026-03-10T00:00:00Z", 0)).await.unwrap());
        assert_eq!(writer.newest_policy().await.unwrap(), policy("2026-03-10T00:00:00Z", 0));
        assert_eq!(writer.remove_policies_after(time(morning)).await.unwrap(), 2);
        assert_eq!(all(&lake).await, expected[..2]);
        writer.finish().await.unwrap();
        assert_eq!(all(&lake).await, expected[..2]);
    }
}
