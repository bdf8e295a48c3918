//! Numbers of GPUs over time, by the hour of the week, and how long they are idle.

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::Timestamp;
use report::{Amounts, Bin, Cells, Columns, Grid, GridRow, Histogram, Kind, Period, Series, Unit};

use super::heatmap::users_by_time;
use super::seen::{Doing, Seen, State, spread};
use super::{Bucket, By};

/// GPUs in use over time, by what, and how many there are: on average over the observed part of
/// each bucket.
pub(super) fn usage(seen: &Seen, edges: &[Timestamp], by: By) -> Series {
    let moments = microseconds(edges);
    let (names, name_of) = names(seen, &moments, by);
    let observed = observed(seen, &moments);
    let amounts = |name: String, kind, place: Option<usize>| {
        let is_counted = |gpu: usize, doing: usize| match place {
            Some(place) => name_of(gpu, doing) == Some(place),
            None => seen.doings.list()[doing].state != State::Unobserved,
        };
        average(seen, &moments, &observed, name, kind, is_counted)
    };
    let stacked = names
        .iter()
        .enumerate()
        .map(|(place, (name, kind))| amounts(name.clone(), *kind, Some(place)));
    Series {
        edges: edges.to_vec(),
        // Averages over what was observed of a bucket are right for a part of it too.
        partial: vec![false; edges.len().saturating_sub(1)],
        heading: "GPUs".to_owned(),
        unit: Unit::Average,
        stacked: stacked.collect(),
        lines: vec![amounts("capacity".to_owned(), Kind::Capacity, None)],
    }
}

/// GPUs that nobody uses over time, and those of them that a backfill job could have.
pub(super) fn availability(seen: &Seen, edges: &[Timestamp]) -> Series {
    let moments = microseconds(edges);
    let observed = observed(seen, &moments);
    let doings = seen.doings.list();
    let of_state = |state: State| {
        let is_counted = |_: usize, doing: usize| doings[doing].state == state;
        average(seen, &moments, &observed, state.name().to_owned(), state.kind(), is_counted)
    };
    let line = |name: &str, kind, is_counted: &dyn Fn(&Doing) -> bool| {
        let is_counted = |_: usize, doing: usize| is_counted(&doings[doing]);
        average(seen, &moments, &observed, name.to_owned(), kind, is_counted)
    };
    Series {
        edges: edges.to_vec(),
        // Averages over what was observed of a bucket are right for a part of it too.
        partial: vec![false; edges.len().saturating_sub(1)],
        heading: "GPUs".to_owned(),
        unit: Unit::Average,
        stacked: [State::IdlePrioritized, State::IdleOpenCapacity]
            .into_iter()
            .chain(State::OUT_OF_SERVICE)
            .map(of_state)
            .collect(),
        lines: vec![
            line("all GPUs", Kind::Capacity, &|doing| doing.state != State::Unobserved),
            line("available for backfill", Kind::BusyBackfill, &|doing| doing.is_available),
        ],
    }
}

/// How much of the GPUs is in use in each hour of the week, of those of which it is known.
pub(super) fn week(seen: &Seen, period: &Period) -> Result<Grid> {
    let edges = Bucket::Seconds(3600).edges(period)?;
    let moments = microseconds(&edges);
    let (mut busy, mut known) = ([0i64; 7 * 24], [0i64; 7 * 24]);
    let hours: Vec<usize> = edges
        .iter()
        .map(|edge| {
            let time = edge.to_zoned(period.zone.clone());
            let day = usize::from(time.weekday().to_monday_zero_offset() as u8);
            day * 24 + usize::from(time.hour() as u8)
        })
        .collect();
    for span in &seen.spans {
        let state = seen.doings.list()[span.doing as usize].state;
        spread(span, &moments, |bucket, held| {
            if state != State::Unobserved {
                known[hours[bucket]] += held;
            }
            if state.is_busy() {
                busy[hours[bucket]] += held;
            }
        });
    }
    let percent =
        |hour: usize| (known[hour] > 0).then(|| busy[hour] as f64 / known[hour] as f64 * 100.0);
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    Ok(Grid {
        columns: Columns::Labels((0..24).map(|hour| format!("{hour:02}")).collect()),
        rows: days.map(|day| GridRow { label: day.to_owned(), ..GridRow::default() }).into(),
        categories: Vec::new(),
        cells: Cells::Numbers { values: (0..7 * 24).map(percent).collect(), unit: Unit::Percent },
    })
}

/// How long GPUs stay idle, and how many of these times are longer than is known, since the period
/// or what was observed ends within them.
pub(super) fn idle_times(seen: &Seen, period: &Period) -> (Histogram, usize) {
    let minutes = |count: i64| count * 60_000_000;
    let bins: [(&str, i64); 10] = [
        ("< 10 min", minutes(10)),
        ("10–30 min", minutes(30)),
        ("30–60 min", minutes(60)),
        ("1–2 h", minutes(2 * 60)),
        ("2–4 h", minutes(4 * 60)),
        ("4–8 h", minutes(8 * 60)),
        ("8–24 h", minutes(24 * 60)),
        ("1–2 d", minutes(2 * 24 * 60)),
        ("2–7 d", minutes(7 * 24 * 60)),
        ("≥ 7 d", i64::MAX),
    ];
    let (start, end) = (period.start.as_microsecond(), period.end.as_microsecond());
    let state = |doing: u32| seen.doings.list()[doing as usize].state;
    let mut counts = [0.0; 10];
    let mut cut = 0;
    for spans in seen.of_gpus() {
        let mut place = 0;
        while let Some(first) = spans.get(place) {
            if !state(first.doing).is_idle() {
                place += 1;
                continue;
            }
            let mut idle_end = first.end;
            let before = place.checked_sub(1).map(|before| spans[before]);
            place += 1;
            while let Some(next) = spans.get(place)
                && next.start == idle_end
                && state(next.doing).is_idle()
            {
                idle_end = next.end;
                place += 1;
            }
            let is_seen = |doing: u32| state(doing) != State::Unobserved;
            let begins = before.is_some_and(|span| span.end == first.start && is_seen(span.doing));
            let ends =
                spans.get(place).is_some_and(|span| span.start == idle_end && is_seen(span.doing));
            if !begins || !ends || first.start <= start || idle_end >= end {
                cut += 1;
            }
            let length = idle_end - first.start;
            if let Some(bin) = bins.iter().position(|(_, below)| length < *below) {
                counts[bin] += 1.0;
            }
        }
    }
    let bins = bins
        .iter()
        .zip(counts)
        .map(|((label, _), count)| Bin { label: (*label).to_owned(), count });
    let histogram = Histogram {
        heading: "Time that a GPU stays idle".to_owned(),
        count_heading: "Idle times".to_owned(),
        count_unit: Unit::Count,
        bins: bins.collect(),
    };
    (histogram, cut)
}

/// How many names have a colour of their own.
const MOST_NAMES: usize = 8;

type NameOf<'a> = Box<dyn Fn(usize, usize) -> Option<usize> + 'a>;

/// What the areas of a chart are, the largest first, and which of them a GPU that does something
/// is in, if it is in use.
fn names<'a>(seen: &'a Seen, edges: &[i64], by: By) -> (Vec<(String, Kind)>, NameOf<'a>) {
    let doings = seen.doings.list();
    let is_busy = move |doing: usize| doings[doing].state.is_busy();
    let (all, number_of): (Vec<String>, NameOf<'a>) = match by {
        By::User => {
            let users = users_by_time(seen, edges);
            let all = users.iter().map(|user| seen.users.list()[*user as usize].clone());
            let place_of: BTreeMap<u32, usize> =
                users.iter().enumerate().map(|(place, user)| (*user, place)).collect();
            let number_of = move |_: usize, doing: usize| {
                doings[doing].user.and_then(|user| place_of.get(&user).copied())
            };
            (all.collect(), Box::new(number_of))
        }
        By::Class | By::Device => {
            let name = move |gpu: usize, doing: usize| match by {
                By::Device => Some(seen.gpus[gpu].device.as_str()),
                _ => Some(seen.classes.list()[doings[doing].class? as usize].as_str()),
            };
            let mut held: BTreeMap<&str, i64> = BTreeMap::new();
            for span in &seen.spans {
                if is_busy(span.doing as usize)
                    && let Some(name) = name(span.gpu as usize, span.doing as usize)
                {
                    *held.entry(name).or_default() += span.end - span.start;
                }
            }
            let mut all: Vec<&str> = held.keys().copied().collect();
            all.sort_by_key(|name| (std::cmp::Reverse(held[name]), *name));
            let place_of: BTreeMap<&str, usize> =
                all.iter().enumerate().map(|(place, name)| (*name, place)).collect();
            let number_of =
                move |gpu: usize, doing: usize| place_of.get(name(gpu, doing)?).copied();
            (all.into_iter().map(str::to_owned).collect(), Box::new(number_of))
        }
    };
    let named = all.len().min(MOST_NAMES);
    let mut names: Vec<(String, Kind)> = all[..named]
        .iter()
        .zip(0u8..)
        .map(|(name, place)| (name.clone(), Kind::Ranked(place)))
        .collect();
    names.push(match all.len() - named {
        0 => ("unknown".to_owned(), Kind::Rest),
        others => (format!("{others} others and unknown"), Kind::Rest),
    });
    let has_rest = all.len() > named
        || seen.spans.iter().any(|span| {
            let (gpu, doing) = (span.gpu as usize, span.doing as usize);
            is_busy(doing) && number_of(gpu, doing).is_none()
        });
    if !has_rest {
        names.pop();
    }
    let name_of = move |gpu: usize, doing: usize| {
        is_busy(doing).then(|| number_of(gpu, doing).unwrap_or(named).min(named))
    };
    (names, Box::new(name_of))
}

/// GPUs that are counted, on average over the observed part of each bucket; unknown where nothing
/// was observed.
fn average(
    seen: &Seen,
    edges: &[i64],
    observed: &[i64],
    name: String,
    kind: Kind,
    is_counted: impl Fn(usize, usize) -> bool,
) -> Amounts {
    let mut held = vec![0i64; observed.len()];
    for span in &seen.spans {
        if is_counted(span.gpu as usize, span.doing as usize) {
            spread(span, edges, |bucket, microseconds| held[bucket] += microseconds);
        }
    }
    let ratio = |held: i64, observed: i64| (observed > 0).then(|| held as f64 / observed as f64);
    let mean = ratio(held.iter().sum(), observed.iter().sum());
    let values = held.iter().zip(observed).map(|(held, observed)| ratio(*held, *observed));
    Amounts { name, kind, values: values.collect(), mean }
}

/// For how much of each bucket anything at all was observed.
fn observed(seen: &Seen, edges: &[i64]) -> Vec<i64> {
    let is_seen = |doing: u32| seen.doings.list()[doing as usize].state != State::Unobserved;
    let mut times: Vec<(i64, i64)> = seen
        .spans
        .iter()
        .filter(|span| is_seen(span.doing))
        .map(|span| (span.start, span.end))
        .collect();
    times.sort_unstable();
    times.dedup();
    let mut observed = vec![0; edges.len().saturating_sub(1)];
    let mut until = i64::MIN;
    for (start, end) in times {
        let span = super::seen::Span { gpu: 0, start: start.max(until), end, doing: 0 };
        if span.start < span.end {
            spread(&span, edges, |bucket, microseconds| observed[bucket] += microseconds);
            until = end;
        }
    }
    observed
}

fn microseconds(edges: &[Timestamp]) -> Vec<i64> {
    edges.iter().map(|edge| edge.as_microsecond()).collect()
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::super::seen::tests::seen;
    use super::*;

    fn period(hours: i64) -> Period {
        let at = |hour: i64| Timestamp::from_second(hour * 3600).unwrap();
        Period { start: at(0), end: at(hours), zone: TimeZone::UTC }
    }

    fn edges(hours: i64) -> Vec<Timestamp> {
        Bucket::Seconds(3600).edges(&period(hours)).unwrap()
    }

    fn shown(series: &Series) -> Vec<String> {
        let all = series.stacked.iter().chain(&series.lines);
        let value = |value: &Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
        all.map(|amounts| {
            let values: Vec<String> = amounts.values.iter().map(value).collect();
            format!("{}: {} mean {}", amounts.name, values.join(" "), value(&amounts.mean))
        })
        .collect()
    }

    /// An hour of which half was observed, one of which nothing was, one with one GPU of two.
    const SPANS: &str = "
        a1 0   0.5 claimed  ann
        b1 0   0.5 backfill bob
        a1 2   3   claimed  ann
        b1 2   3   idle     -
        b1 3   4   claimed  -";

    #[test]
    fn use_is_the_average_over_what_was_observed_and_a_gap_where_nothing_was() {
        // Observed for half an hour, an hour and an hour: two GPUs each but for the last, where
        // one is known. Ann holds one for 1.5 of 2.5 hours.
        assert_eq!(
            shown(&usage(&seen(SPANS), &edges(4), By::User)),
            [
                "ann: 1 - 1 0 mean 0.6",
                "bob: 1 - 0 0 mean 0.2",
                "unknown: 0 - 0 1 mean 0.4",
                "capacity: 2 - 2 1 mean 1.6",
            ]
        );
    }

    #[test]
    fn use_by_device_and_by_class() {
        assert_eq!(
            shown(&usage(&seen(SPANS), &edges(4), By::Device)),
            // Each for 1.5 hours of 2.5: equals are in the order of their names.
            ["A100: 1 - 1 0 mean 0.6", "H200: 1 - 0 1 mean 0.6", "capacity: 2 - 2 1 mean 1.6"]
        );
        assert_eq!(
            shown(&usage(&seen(SPANS), &edges(4), By::Class))[..3],
            [
                "busy open capacity: 1 - 1 0 mean 0.6",
                "busy prioritized: 0 - 0 1 mean 0.4",
                "busy backfill: 1 - 0 0 mean 0.2",
            ]
        );
    }

    #[test]
    fn availability_counts_what_nobody_uses() {
        let all = shown(&availability(&seen(SPANS), &edges(4)));
        assert_eq!(all[0], "idle prioritized: 0 - 1 0 mean 0.4");
        assert_eq!(all[8], "all GPUs: 2 - 2 1 mean 1.6");
        assert_eq!(all[9], "available for backfill: 0 - 1 0 mean 0.4");
    }

    #[test]
    fn the_hours_of_a_week_are_the_sites() {
        // 1970-01-01 was a Thursday. Of two GPUs one is busy in its first hour; nothing is known
        // of the next; a week later both are busy in the first hour: 3 of 4 GPU hours.
        let spans =
            "a1 0 1 claimed ann\n a2 0 1 idle -\n a1 168 169 claimed ann\n a2 168 169 backfill bob";
        let grid = week(&seen(spans), &period(170)).unwrap();
        let Cells::Numbers { values, .. } = &grid.cells else { panic!("a week has numbers") };
        assert_eq!(values[3 * 24], Some(75.0));
        assert_eq!(values.iter().flatten().count(), 1);
        let tokyo = Period { zone: TimeZone::get("Asia/Tokyo").unwrap(), ..period(170) };
        let grid = week(&seen(spans), &tokyo).unwrap();
        let Cells::Numbers { values, .. } = &grid.cells else { panic!("a week has numbers") };
        assert_eq!(values[3 * 24 + 9], Some(75.0));
    }

    #[test]
    fn idle_times_go_on_over_midnight_and_those_that_are_cut_are_counted() {
        let spans = "
            a1 0   1   claimed ann
            a1 1   1.5 idle    -
            a1 1.5 2.5 idle    -
            a1 2.5 3   claimed ann
            b1 0   0.1 idle    -
            b1 0.1 3   claimed ann";
        let (histogram, cut) = idle_times(&seen(spans), &period(3));
        let counts: Vec<(&str, f64)> = histogram
            .bins
            .iter()
            .filter(|bin| bin.count > 0.0)
            .map(|bin| (bin.label.as_str(), bin.count))
            .collect();
        // An hour and a half, made of two spans; six minutes that began before the period.
        assert_eq!(counts, [("< 10 min", 1.0), ("1–2 h", 1.0)]);
        assert_eq!(cut, 1);
    }
}
