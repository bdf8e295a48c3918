//! What was last seen of a cluster, as it is seen.

use std::borrow::Cow;

use record::{JobCount, Live, SeenNode, SourceHealth, Text};

use super::{OTHERS, SAID, Sight};

impl Sight {
    pub(crate) fn veil_live<'a>(&self, live: &'a Live) -> Cow<'a, Live> {
        if matches!(self, Sight::Staff) {
            return Cow::Borrowed(live);
        }
        let mut live = live.clone();
        for seen in live.nodes.iter_mut().flat_map(|seen| &mut seen.rows) {
            self.veil_node(seen);
        }
        if let Some(seen) = &mut live.jobs {
            seen.rows.iter_mut().for_each(|jobs| self.veil_jobs(jobs));
            seen.rows = added_up(std::mem::take(&mut seen.rows));
        }
        live.sources.iter_mut().for_each(veil_source);
        Cow::Owned(live)
    }

    fn veil_node(&self, seen: &mut SeenNode) {
        if let Sight::Public { .. } = self {
            seen.node.reason = None;
            seen.node.reason_user = None;
            seen.node.reservation = None;
        }
    }

    fn veil_jobs(&self, jobs: &mut JobCount) {
        let name = |known: &mut Option<Text>, name: &dyn Fn(&str) -> String| {
            *known = known.as_deref().map(|known| name(known).into());
        };
        match self {
            Sight::Staff => {}
            Sight::Own { user, accounts, .. } => {
                let is_charged = jobs
                    .account
                    .as_ref()
                    .is_some_and(|name| accounts.iter().any(|account| account == name));
                if jobs.user.as_deref() != Some(user) && !is_charged {
                    name(&mut jobs.user, &|_| OTHERS.to_owned());
                    jobs.account = None;
                }
            }
            Sight::Public { secret } => {
                name(&mut jobs.user, &|user| secret.pseudonym("user", user));
                name(&mut jobs.account, &|account| secret.pseudonym("account", account));
            }
        }
    }
}

/// What a command prints when it fails is the machine's, and may say anything.
fn veil_source(source: &mut SourceHealth) {
    source.error = source.error.take().map(|_| SAID.into());
}

/// Jobs that have become alike are one row.
fn added_up(rows: Vec<JobCount>) -> Vec<JobCount> {
    let mut sums: Vec<JobCount> = Vec::new();
    for row in rows {
        let is_alike = |sum: &&mut JobCount| {
            let what = |jobs: &JobCount| {
                let JobCount { state, partition, account, user, qos, reason, access_point, .. } =
                    jobs.clone();
                (state, partition, account, user, qos, reason, access_point)
            };
            what(sum) == what(&row)
        };
        match sums.iter_mut().find(is_alike) {
            Some(sum) => add(sum, &row),
            None => sums.push(row),
        }
    }
    sums
}

/// What is not known of one is not known of both.
fn add(sum: &mut JobCount, more: &JobCount) {
    sum.jobs += more.jobs;
    sum.cpus = sum.cpus.zip(more.cpus).map(|(one, other)| one + other);
    sum.gpus = sum.gpus.zip(more.gpus).map(|(one, other)| one + other);
    sum.nodes = sum.nodes.zip(more.nodes).map(|(one, other)| one + other);
    sum.memory_mb = sum.memory_mb.zip(more.memory_mb).map(|(one, other)| one + other);
    sum.eligible_time = [sum.eligible_time, more.eligible_time].into_iter().flatten().min();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(user: &str, account: &str, jobs: i64, cpus: Option<i64>) -> JobCount {
        JobCount {
            state: "RUNNING".into(),
            user: Some(user.into()),
            account: Some(account.into()),
            jobs,
            cpus,
            ..JobCount::default()
        }
    }

    /// Who is told how many jobs and CPUs, by user and account.
    fn check(sight: &Sight, expected: &[(&str, Option<&str>, i64, Option<i64>)]) {
        let live = Live {
            jobs: Some(record::Seen {
                time: jiff::Timestamp::UNIX_EPOCH,
                rows: vec![
                    jobs("ann", "chem", 1, Some(2)),
                    jobs("bob", "bio", 3, Some(4)),
                    jobs("carl", "bio", 5, Some(6)),
                    jobs("dora", "math", 7, None),
                ],
            }),
            ..Live::default()
        };
        let seen = sight.veil_live(&live);
        let rows: Vec<_> = seen.jobs.as_ref().unwrap().rows.iter().collect();
        let told: Vec<_> = rows
            .iter()
            .map(|jobs| {
                (jobs.user.as_deref().unwrap(), jobs.account.as_deref(), jobs.jobs, jobs.cpus)
            })
            .collect();
        assert_eq!(told, expected);
    }

    fn own(accounts: &[&str]) -> Sight {
        Sight::Own {
            user: "ann".into(),
            accounts: accounts.iter().map(|name| (*name).to_owned()).collect(),
            secret: crate::Secret::new(b"salt"),
        }
    }

    /// 3 and 5 and 7 jobs of others; of 7 it is not known how many CPUs they hold.
    #[test]
    fn jobs_of_others_are_a_sum() {
        check(&own(&[]), &[("ann", Some("chem"), 1, Some(2)), (OTHERS, None, 15, None)]);
    }

    #[test]
    fn a_coordinator_sees_those_of_the_account() {
        check(
            &own(&["bio"]),
            &[
                ("ann", Some("chem"), 1, Some(2)),
                ("bob", Some("bio"), 3, Some(4)),
                ("carl", Some("bio"), 5, Some(6)),
                (OTHERS, None, 7, None),
            ],
        );
    }

    #[test]
    fn the_public_sees_no_name() {
        let sight = Sight::Public { secret: crate::Secret::new(b"salt") };
        let live = Live { jobs: None, ..Live::default() };
        assert_eq!(sight.veil_live(&live).jobs, None);
        let mut row = jobs("ann", "chem", 1, None);
        sight.veil_jobs(&mut row);
        let (user, account) = (row.user.unwrap(), row.account.unwrap());
        assert!(user.starts_with("user-") && account.starts_with("account-"), "{user} {account}");
    }
}
