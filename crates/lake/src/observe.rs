//! Repeated observations of things become spans in which nothing changed.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::civil::Date;
use record::Span;

use crate::path::{date, midnight};

/// One look at all things of a kind: each row is a span that begins at `time` and holds for as
/// long as one observation may.
#[derive(Clone, Debug)]
pub struct Snapshot<S> {
    pub time: Timestamp,
    pub rows: Vec<S>,
    /// What the names of the things begin with that were looked at; none if that is all of them.
    /// A look says nothing of the others: their spans neither end nor go on.
    pub only: Option<String>,
}

impl<S> Snapshot<S> {
    /// A look at everything.
    pub fn of_all(time: Timestamp, rows: Vec<S>) -> Snapshot<S> {
        Snapshot { time, rows, only: None }
    }
}

/// Lays snapshots, in the order of their times, over the spans of the days they fall on.
///
/// A thing seen again unchanged extends its span; one that changed or is gone ends it at the
/// moment of the look that says so; one not looked at ends when its last observation no longer
/// holds. Spans are cut at midnight, and what holds beyond goes on in the next day's.
pub(crate) fn observe<S: Span>(days: &mut BTreeMap<Date, Vec<S>>, snapshots: Vec<Snapshot<S>>) {
    let mut open: HashMap<String, (Date, usize)> = HashMap::new();
    let mut open_day: Option<Date> = None;
    for snapshot in snapshots {
        let time = snapshot.time;
        let day = date(time);
        if open_day != Some(day) {
            open = open_spans(day, days.entry(day).or_default());
            open_day = Some(day);
        }
        let mut still_open = HashMap::with_capacity(snapshot.rows.len());
        for row in snapshot.rows {
            let entity = row.entity().to_owned();
            let known = open.remove(&entity);
            let spans = days.get_mut(&day).expect("the day was entered above");
            if let Some((_, place)) = known {
                let span = &mut spans[place];
                if time <= span.last_seen_time() {
                    still_open.insert(entity, (day, place)); // seen before, as on a second run
                    continue;
                }
                if span.end_time() >= time && span.same_state(&row) {
                    span.see_again(time);
                    span.set_end_time(row.end_time());
                    cut_at_midnight(days, day, place);
                    still_open.insert(entity, (day, place));
                    continue;
                }
                let end = span.end_time().min(time);
                span.set_end_time(end);
            }
            let place = spans.len();
            spans.push(row);
            cut_at_midnight(days, day, place);
            still_open.insert(entity, (day, place));
        }
        // What was not seen now is over, unless this look is older than what is known.
        let spans = days.get_mut(&day).expect("the day was entered above");
        for (entity, (span_day, place)) in open {
            if snapshot.only.as_ref().is_some_and(|begin| !entity.starts_with(begin)) {
                still_open.insert(entity, (span_day, place));
                continue;
            }
            let span = &mut spans[place];
            if time > span.last_seen_time() {
                let end = span.end_time().min(time);
                span.set_end_time(end);
            }
        }
        open = still_open;
    }
    for spans in days.values_mut() {
        spans.retain(|span| span.start_time() < span.end_time());
    }
}

/// The last span of each thing on a day.
fn open_spans<S: Span>(day: Date, spans: &[S]) -> HashMap<String, (Date, usize)> {
    let mut open: HashMap<String, (Date, usize)> = HashMap::new();
    for (place, span) in spans.iter().enumerate() {
        let last = open.entry(span.entity().to_owned()).or_insert((day, place));
        if spans[last.1].start_time() < span.start_time() {
            *last = (day, place);
        }
    }
    open
}

/// Ends a span at its day's midnight; the rest of its time goes on in the next day.
fn cut_at_midnight<S: Span>(days: &mut BTreeMap<Date, Vec<S>>, day: Date, place: usize) {
    let Ok(next_day) = day.tomorrow() else { return };
    let midnight = midnight(next_day);
    let span = &mut days.get_mut(&day).expect("the span lies on this day")[place];
    if span.end_time() <= midnight {
        return;
    }
    let mut rest = span.clone();
    span.set_end_time(midnight);
    rest.set_start_time(midnight);
    rest.carry_over();
    let next = days.entry(next_day).or_default();
    match next
        .iter_mut()
        .find(|span| span.entity() == rest.entity() && span.start_time() == midnight)
    {
        Some(known) if known.last_seen_time() <= rest.last_seen_time() => *known = rest,
        Some(_) => {}
        None => next.push(rest),
    }
}
