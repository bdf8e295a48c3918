//! What is shown of a job beside the report of its attempts, and rests on what that says.

use jiff::{SignedDuration, Timestamp};
use query::{Ask, Sight};
use report::{Report, Value};

use super::answer::{Asked, Content, Part};
use crate::JobRun;
use crate::trouble::Trouble;

/// Of what was before a job, this is like it.
const BEFORE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The answer of an analysis about the user of the job above, in the time before its end. What the page
/// is about may be a year, and is everybody's.
pub(super) async fn report(
    asked: &Asked<'_>,
    name: &'static str,
    above: Option<&Part>,
) -> Result<Content, Trouble> {
    let Some(Part { content: Content::Report(report), .. }) = above else {
        return Ok(Content::Nothing);
    };
    let (Some(run), Some(user)) = (last_run(report), text(report, "user")) else {
        return Ok(Content::Nothing);
    };
    let mut options = asked.said();
    options.insert("user".to_owned(), user);
    let analysis = query::analysis(name)?;
    let start = run.last_time.checked_sub(BEFORE).unwrap_or(run.last_time);
    let mut question = asked.question.clone();
    // The end is not a part of a period.
    question.period.end = question.period.end.min(run.last_time + SignedDuration::from_secs(1));
    question.period.start = start.min(run.start_time);
    question.period_end = None;
    let ask = Ask { analysis, options, top: None };
    let mut reports = query::run_each(&asked.app.site.lake, &[ask], &question).await?;
    Ok(Content::Report(reports.pop().expect("one ask has one report")))
}

/// The steps of the first job of the report above. Who does not see the job is not told of them, and
/// neither is who sees it by a pseudonym.
pub(super) async fn steps(asked: &Asked<'_>, above: Option<&Part>) -> anyhow::Result<Content> {
    let find = match (&asked.app.site.steps, &asked.visitor.sight) {
        (Some(find), Sight::Staff | Sight::Own { .. }) => find,
        _ => return Ok(Content::Nothing),
    };
    let Some(Part { content: Content::Report(report), .. }) = above else {
        return Ok(Content::Nothing);
    };
    let Some(run) = last_run(report) else { return Ok(Content::Nothing) };
    Ok(match find(run).await? {
        Ok(report) => Content::Report(report),
        Err(words) => Content::Words(words),
    })
}

/// The run of the first row.
fn last_run(report: &Report) -> Option<JobRun> {
    let time = |name: &str| -> Option<Timestamp> {
        match value(report, name)? {
            Value::Time(time) => Some(*time),
            _ => None,
        }
    };
    Some(JobRun {
        cluster: text(report, "cluster")?,
        job_id: text(report, "job_id")?,
        start_time: time("start_time")?,
        last_time: time("end_time").or_else(|| time("observed_time"))?,
    })
}

/// What stands in the first row.
fn value<'a>(report: &'a Report, name: &str) -> Option<&'a Value> {
    let place = report.table.columns.iter().position(|column| column.name == name)?;
    report.table.rows.first()?.get(place)
}

fn text(report: &Report, name: &str) -> Option<String> {
    match value(report, name)? {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use report::{Column, Coverage, Period, Table, Unit};

    use super::*;

    /// The run of a row with these times.
    fn check(start: Value, end: Value, expected: Option<(&str, &str)>) {
        let names = ["cluster", "job_id", "start_time", "end_time", "observed_time"];
        let column = |name: &str| Column {
            name: name.to_owned(),
            heading: String::new(),
            unit: Unit::Label,
        };
        let text = |text: &str| Value::Text(text.to_owned());
        let row = vec![text("maple"), text("12"), start, end, Value::Time(time(9))];
        let report = Report {
            name: String::new(),
            title: String::new(),
            period: Period { start: time(0), end: time(1), zone: TimeZone::UTC },
            coverage: Coverage::default(),
            table: Table { columns: names.map(column).into(), rows: vec![row] },
            charts: Vec::new(),
            notes: Vec::new(),
        };
        let run =
            last_run(&report).map(|run| (run.start_time.to_string(), run.last_time.to_string()));
        let expected = expected.map(|(start, last)| (start.to_owned(), last.to_owned()));
        assert_eq!(run, expected);
    }

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_run_is_from_its_start_to_its_end_or_until_it_was_last_seen() {
        let (two, nine) = ("1970-01-01T00:00:02Z", "1970-01-01T00:00:09Z");
        check(Value::Time(time(2)), Value::Time(time(2)), Some((two, two)));
        check(Value::Time(time(2)), Value::Unknown, Some((two, nine)));
        check(Value::Unknown, Value::Unknown, None);
    }
}
