//! The line that charts of use draw: how much could be held at once, all the time, for exactly
//! what was granted to be used.

use jiff::Timestamp;
use report::{Amounts, Kind};

use super::{Allocation, Holders, Measure};
use crate::{Question, Sight};

/// The allocations of the one user, group or account that a chart shows, on average over each of its
/// columns, times `scale` of the column's seconds; nothing if it has none.
///
/// A chart of everybody has no line, and neither has a chart of one of several holders: the area would
/// not be what is used of the allocation. A chart of some clusters has the allocations that hold in no
/// other, since it does not show what is used of the rest.
pub(crate) fn line(
    question: &Question,
    measure: Measure,
    edges: &[Timestamp],
    scale: impl Fn(f64) -> f64,
) -> Option<Amounts> {
    let zone = &question.period.zone;
    let granted: Vec<Rate> = question
        .allocations_seen()
        .filter(|allocation| allocation.unit.measure == measure && is_shown(allocation, question))
        .filter_map(|allocation| {
            let (start, end) = allocation.time(zone)?;
            Some(Rate {
                start: start.as_microsecond(),
                end: end.as_microsecond(),
                at_once: allocation.at_once(zone)?,
            })
        })
        .collect();
    let columns: Vec<(i64, i64)> = edges
        .windows(2)
        .map(|edges| (edges[0].as_microsecond(), edges[1].as_microsecond()))
        .collect();
    let at_once = |(start, end): (i64, i64)| {
        let within = granted.iter().filter(|rate| rate.start < end && rate.end > start);
        let parts = within.map(|rate| {
            let overlap = rate.end.min(end) - rate.start.max(start);
            rate.at_once * overlap as f64 / (end - start) as f64
        });
        parts.reduce(|sum, part| sum + part)
    };
    let values: Vec<Option<f64>> = columns
        .iter()
        .map(|column| Some(at_once(*column)? * scale((column.1 - column.0) as f64 / 1e6)))
        .collect();
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
    mean.map(|mean| Amounts {
        name: "granted".to_owned(),
        kind: Kind::Granted,
        values,
        mean: Some(mean),
    })
}

/// From when to when how much may be held.
struct Rate {
    start: i64,
    end: i64,
    at_once: f64,
}

fn is_shown(allocation: &Allocation, question: &Question) -> bool {
    let clusters = &question.clusters;
    let is_whole = clusters.is_empty()
        || (!allocation.clusters.is_empty()
            && allocation.clusters.iter().all(|cluster| clusters.contains(cluster)));
    is_whole && shown_holder(question).is_some_and(|holder| allocation.holders == holder)
}

/// Returns the only holder whose use a chart shows. None if it shows several holders, or a part of one's use.
fn shown_holder(question: &Question) -> Option<Holders> {
    let mut options = question.options.iter();
    let (kind, name) = match (options.next(), options.next(), &question.sight) {
        (Some((option, name)), None, _) => (option.as_str(), name.clone()),
        // Users see only their own use, unless they coordinate accounts.
        (None, None, Sight::Own { user, accounts, .. }) if accounts.is_empty() => {
            ("user", user.clone())
        }
        _ => return None,
    };
    let mut holders = Holders::default();
    match kind {
        "user" => holders.users.push(name),
        "group" => holders.groups.push(name),
        "account" => holders.accounts.push(name),
        _ => return None,
    }
    Some(holders)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use report::Period;

    use super::super::AllocationUnit;
    use super::*;
    use crate::Secret;

    fn allocation(account: &str, amount: f64, unit: &str, from: &str, to: &str) -> Allocation {
        Allocation {
            name: account.to_owned(),
            holders: Holders { accounts: vec![account.to_owned()], ..Holders::default() },
            clusters: vec!["maple".to_owned()],
            unit: AllocationUnit::by_name(unit).unwrap(),
            amount,
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
        }
    }

    /// Columns of a day from the 1st to the 4th of 2026.
    fn check(options: &[(&str, &str)], clusters: &[&str], expected: Option<&[Option<f64>]>) {
        check_seen_by(Sight::Staff, options, clusters, expected);
    }

    fn check_seen_by(
        sight: Sight,
        options: &[(&str, &str)],
        clusters: &[&str],
        expected: Option<&[Option<f64>]>,
    ) {
        let day = |day: i8| jiff::civil::date(2026, 1, day).to_zoned(TimeZone::UTC).unwrap();
        let edges: Vec<Timestamp> = (1..=4).map(|date| day(date).timestamp()).collect();
        let period = Period { start: edges[0], end: edges[3], zone: TimeZone::UTC };
        let mut question = Question { sight, ..Question::about(period) };
        let of_users = |names: &[&str]| Allocation {
            holders: Holders {
                users: names.iter().map(|name| (*name).to_owned()).collect(),
                ..Holders::default()
            },
            ..allocation("users", 144.0, "gpu-hour", "2026-01-01", "2026-01-04")
        };
        question.allocations = vec![
            // 40 GPUs all year.
            allocation("lab", 40.0, "gpu-year", "2026-01-01", "2027-01-01"),
            // 48 GPU hours in two days: one GPU.
            allocation("guest", 48.0, "gpu-hour", "2026-01-02", "2026-01-04"),
            allocation("guest", 96.0, "gpu-hour", "2026-01-03", "2026-01-05"),
            allocation("guest", 48.0, "cpu-hour", "2026-01-02", "2026-01-04"),
            // 144 GPU hours in three days: two GPUs.
            of_users(&["ann"]),
            of_users(&["bob", "eve"]),
        ];
        question.options =
            options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        question.clusters = clusters.iter().map(|name| (*name).to_owned()).collect();
        let line = line(&question, Measure::Gpu, &edges, |_| 1.0);
        assert_eq!(line.as_ref().map(|line| &line.values[..]), expected);
    }

    #[test]
    fn years_over_a_year_are_as_many_at_once() {
        check(&[("account", "lab")], &[], Some(&[Some(40.0); 3]));
    }

    #[test]
    fn what_holds_at_one_time_is_added_up_and_before_it_there_is_no_line() {
        // One GPU from the 2nd on, and two more from the 3rd on.
        check(&[("account", "guest")], &[], Some(&[None, Some(1.0), Some(3.0)]));
    }

    #[test]
    fn a_chart_of_everybody_has_no_line() {
        check(&[], &[], None);
        check(&[], &["maple"], None);
    }

    #[test]
    fn a_chart_of_one_of_several_holders_has_no_line() {
        check(&[("user", "ann")], &[], Some(&[Some(2.0); 3]));
        check(&[("user", "bob")], &[], None);
    }

    #[test]
    fn users_who_see_only_their_own_use_see_their_line() {
        let own = |accounts: &[&str]| Sight::Own {
            user: "ann".to_owned(),
            accounts: accounts.iter().map(|name| (*name).to_owned()).collect(),
            secret: Secret::new(b"salt"),
        };
        check_seen_by(own(&[]), &[], &[], Some(&[Some(2.0); 3]));
        check_seen_by(own(&["lab"]), &[], &[], None);
    }

    #[test]
    fn nothing_is_granted_to_others_elsewhere_or_to_a_part() {
        check(&[("account", "nobody")], &[], None);
        check(&[("user", "lab")], &[], None);
        check(&[("account", "lab"), ("partition", "gpu")], &[], None);
        check(&[("account", "lab")], &["birch"], None);
        check(&[("account", "lab")], &["maple", "birch"], Some(&[Some(40.0); 3]));
    }
}
