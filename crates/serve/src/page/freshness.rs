//! How old is what is shown: on every page.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use query::now::{SOURCES, Shown};
use report::Value;

use crate::App;
use crate::access::Visitor;
use crate::address::Root;

/// How old what is known of each cluster is, and of each of its sources.
pub(super) async fn line(app: &App, visitor: &Visitor, root: &Root, clusters: &[String]) -> Markup {
    let site = &app.site;
    let now = (site.now)();
    // Files are of some clusters; a server has the others too.
    let (told, clusters) = match root.is_of_files() {
        true => (Told::Moment(&site.zone), clusters),
        false => (Told::Age(now), &[][..]),
    };
    let Ok(seen) = app.seen().await else {
        return html! { p class="fresh stale" { "It is not known how fresh this is." } };
    };
    let filters = BTreeMap::new();
    let shown = Shown { clusters, filters: &filters, top: None, sight: &visitor.sight };
    let rows = SOURCES.report(&seen, &shown, &site.zone, now).table.rows;
    let mut clusters: BTreeMap<&str, Vec<Source>> = BTreeMap::new();
    for row in &rows {
        if let [Value::Text(cluster), Value::Text(name), Value::Boolean(is_fresh), time, ..] =
            &row[..]
        {
            let time = if let Value::Time(time) = time { Some(*time) } else { None };
            let source = Source { name, is_fresh: *is_fresh, time };
            clusters.entry(cluster).or_default().push(source);
        }
    }
    html! {
        details class="fresh" {
            summary {
                @if let Told::Moment(_) = told { "Written " (told.words(now)) ". " }
                "Last answers: "
                @if clusters.is_empty() { "none yet" }
                @for (index, (cluster, sources)) in clusters.iter().enumerate() {
                    @if index > 0 { ", " }
                    b { (cluster) } " "
                    // A cluster is as fresh as its source that answered longest ago.
                    @if let Some(oldest) = sources.iter().min_by_key(|source| source.time) {
                        (oldest.answered(told))
                    }
                }
            }
            ul {
                @for (cluster, sources) in &clusters {
                    li { (cluster) ": "
                        @for (index, source) in sources.iter().enumerate() {
                            @if index > 0 { ", " } (source.name) " " (source.answered(told))
                        }
                    }
                }
            }
        } "\n"
    }
}

/// How it is told when something was: on a page that is read later it is not known how long ago.
#[derive(Clone, Copy)]
enum Told<'a> {
    Age(Timestamp),
    Moment(&'a TimeZone),
}

impl Told<'_> {
    fn words(self, time: Timestamp) -> String {
        match self {
            Told::Age(now) => ago(now.duration_since(time).as_secs()),
            Told::Moment(zone) => {
                time.to_zoned(zone.clone()).strftime("%a %-d %b %Y %H:%M %Z").to_string()
            }
        }
    }
}

/// A source, and when it last answered.
struct Source<'a> {
    name: &'a str,
    is_fresh: bool,
    time: Option<Timestamp>,
}

impl Source<'_> {
    fn answered(&self, told: Told<'_>) -> Markup {
        html! {
            span class=[(!self.is_fresh).then_some("stale")] {
                @match self.time {
                    Some(time) => time datetime=(time) { (told.words(time)) },
                    None => "never",
                }
                @if !self.is_fresh { " (stale)" }
            }
        }
    }
}

fn ago(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..=119 => format!("{seconds} s ago"),
        seconds @ 120..=7199 => format!("{} min ago", seconds / 60),
        seconds @ 7200..=172_799 => format!("{} h ago", seconds / 3600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}
