//! The words of a letter.

use report::{Period, Table, Value};

use super::Case;
use crate::config::Notify;

/// How many names of jobs are advised about at the most: who has more begins with these.
const MOST_ADVICE: usize = 8;

/// The text of a user's letter. `rightsizing` is what that report says of all users.
pub(crate) fn text(case: &Case, notify: &Notify, rightsizing: &Table, period: &Period) -> String {
    let mut text = format!(
        "Hello {},\n\nthis is how your jobs used what they held, {} ({}).\n\n",
        case.user,
        period.named(),
        period.zone_name()
    );
    for finding in &case.findings {
        text += &format!("- {}\n", finding.words);
    }
    let advice = advice(&case.user, rightsizing);
    if !advice.is_empty() {
        text += "\nWhat these jobs could ask for next time, by what they used:\n\n";
        text +=
            &advice.iter().take(MOST_ADVICE).map(|line| format!("  {line}\n")).collect::<String>();
        if let Some(more) = advice.len().checked_sub(MOST_ADVICE + 1) {
            let names = if more == 0 { "name" } else { "names" };
            text += &format!("  and {} more {names} of jobs\n", more + 1);
        }
    }
    text += &format!(
        "\nThis letter is written by a program, and comes every {} days at the most.\n",
        notify.cadence_days
    );
    if let Some(footer) = &notify.footer {
        text += &format!("{footer}\n");
    }
    text
}

/// A line for each name of jobs, ready to be copied.
fn advice(user: &str, rightsizing: &Table) -> Vec<String> {
    let place = |name: &str| rightsizing.columns.iter().position(|column| column.name == name);
    let text = |row: &[Value], name: &str| match row.get(place(name)?)? {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    let of_user = rightsizing.rows.iter().filter(|row| text(row, "user").as_deref() == Some(user));
    let lines = of_user.filter_map(|row| {
        let asks = ["memory", "cpus", "time"].map(|name| text(row, name));
        let asks: Vec<String> = asks.into_iter().flatten().collect();
        let (name, cluster) = (text(row, "job_name")?, text(row, "cluster")?);
        // Names of jobs are chosen by users; a letter has one line for each.
        let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
        (!asks.is_empty())
            .then(|| format!("{}    (jobs named {name} on {cluster})", asks.join(" ")))
    });
    lines.collect()
}
