use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use record::{GpuSample, GpuSpan, Looks, Text, spans_of};

use crate::test_lake::{files, lake, put, rows, runtime, whole};
use crate::tests::{cut_off, gpu_sample, time};
use crate::*;

const HOLD: SignedDuration = SignedDuration::from_mins(10);

/// When all days of these tests are over.
const LATER: &str = "2026-02-01T00:00:00Z";

/// What a look sees: `01T10:00 a=Idle b=Claimed:0.5` is the first of January, two GPUs, and of one
/// its measured use.
fn look(text: &str) -> Vec<GpuSample> {
    let mut words = text.split(' ');
    let at = time(&format!("2026-01-{}:00Z", words.next().unwrap()));
    words
        .map(|word| {
            let (gpu, said) = word.split_once('=').unwrap();
            let (state, use_ratio) = match said.split_once(':') {
                Some((state, use_ratio)) => (state, Some(use_ratio.parse().unwrap())),
                None => (said, None),
            };
            GpuSample { use_ratio, ..gpu_sample(gpu, at, state) }
        })
        .collect()
}

/// A span as `a 01T10:00..01T10:10 Idle 0.50`, with its mean use if that is known.
fn show(span: &GpuSpan) -> String {
    let use_ratio = span.mean_use_ratio.map(|mean| format!(" {mean:.2}")).unwrap_or_default();
    format!(
        "{} {}..{} {}{use_ratio}",
        span.gpu_id,
        span.start_time.strftime("%dT%H:%M"),
        span.end_time.strftime("%dT%H:%M"),
        span.primary_state.as_deref().unwrap_or("-"),
    )
}

/// Every span that a question sees, from compacted days and from others.
pub(crate) async fn asked(lake: &Lake, hold: SignedDuration) -> Vec<GpuSpan> {
    let days = lake.gpu_days(&lake.trackers().await.unwrap(), None).await.unwrap();
    let mut spans = Vec::new();
    for day in &days {
        if let GpuFiles::Spans(file) = &day.files {
            spans.extend(lake.read::<GpuSpan>("maple", &file.meta.location).await.unwrap());
        }
    }
    let open = lake.open_gpu_spans("maple", &days, hold).await.unwrap();
    assert!(open.skipped.is_empty());
    spans.extend(open.spans);
    spans.sort_by_key(|span| path::date(span.start_time));
    spans
}

/// Compacts looks at the end, and again as a collector does that works through the nights; both
/// give the spans that a question had seen without, and say nothing new when they come again.
async fn check_compacted(looks: &[Vec<GpuSample>], hold: SignedDuration) -> Vec<GpuSpan> {
    let samples: Vec<GpuSample> = looks.concat();
    let (_folder, at_once) = lake();
    let mut writer = at_once.writer("maple").await.unwrap();
    writer.upsert(&samples).await.unwrap();
    let seen_before = asked(&at_once, hold).await;
    let compacted = writer.compact_gpu_days(time(LATER), hold).await.unwrap();
    assert_eq!((compacted.samples, compacted.spans), (samples.len(), seen_before.len()));
    let again = writer.compact_gpu_days(time(LATER), hold).await.unwrap();
    assert_eq!(again, Compacted::default());
    writer.finish().await.unwrap();

    let (_folder, by_night) = lake();
    let mut writer = by_night.writer("maple").await.unwrap();
    for (place, look) in looks.iter().enumerate() {
        writer.upsert(look).await.unwrap();
        writer.compact_gpu_days(look[0].time, hold).await.unwrap();
        if place % 8 == 0 {
            // What was seen so far, whatever its state, is what is seen when nothing is compacted.
            let (_folder, never) = lake();
            never.writer("maple").await.unwrap().upsert(&looks[..=place].concat()).await.unwrap();
            assert_eq!(asked(&by_night, hold).await, asked(&never, hold).await);
        }
    }
    writer.compact_gpu_days(time(LATER), hold).await.unwrap();
    assert_eq!(writer.upsert(&samples).await.unwrap(), Change::default());

    // As history comes, a day after the other.
    let (_folder, by_day) = lake();
    let mut writer = by_day.writer("maple").await.unwrap();
    let mut days: BTreeMap<Date, Vec<GpuSample>> = BTreeMap::new();
    for sample in &samples {
        days.entry(path::date(sample.time)).or_default().push(sample.clone());
    }
    for again in [false, true] {
        for (day, samples) in &days {
            let made = writer.add_gpu_day(*day, samples.clone(), hold).await.unwrap();
            assert_eq!(made.samples, if again { 0 } else { samples.len() });
        }
    }
    writer.compact_gpu_days(time(LATER), hold).await.unwrap();
    writer.finish().await.unwrap();

    assert_eq!(files(&at_once).await, files(&by_night).await);
    assert_eq!(files(&at_once).await, files(&by_day).await);
    assert_eq!(rows::<GpuSample>(&at_once).await, []);
    let spans = rows::<GpuSpan>(&at_once).await;
    assert_eq!(spans, seen_before);
    spans
}

async fn check_held(looks: &[&str], hold: SignedDuration, expected: &[&str]) {
    let looks: Vec<_> = looks.iter().map(|text| look(text)).collect();
    let spans = check_compacted(&looks, hold).await;
    assert_eq!(spans.iter().map(show).collect::<Vec<_>>(), expected);
}

async fn check(looks: &[&str], expected: &[&str]) {
    check_held(looks, HOLD, expected).await;
}

/// 0.2 for five minutes and 0.5 for ten: 0.4. What was not measured weighs nothing.
#[tokio::test]
async fn looks_that_agree_are_one_span_and_a_change_ends_it() {
    check(
        &[
            "01T10:00 a=Claimed:0.2 b=Idle",
            "01T10:05 a=Claimed:0.5 b=Claimed:0.1",
            "01T10:15 a=Claimed b=Claimed",
            "01T10:20 a=Idle b=Idle",
        ],
        &[
            "a 01T10:00..01T10:20 Claimed 0.40",
            "a 01T10:20..01T10:30 Idle",
            "b 01T10:00..01T10:05 Idle",
            "b 01T10:05..01T10:20 Claimed 0.10",
            "b 01T10:20..01T10:30 Idle",
        ],
    )
    .await;
}

#[tokio::test]
async fn one_sample_holds_for_twice_the_cadence() {
    check(&["01T10:00 a=Idle"], &["a 01T10:00..01T10:10 Idle"]).await;
}

#[tokio::test]
async fn in_a_gap_of_three_hours_nothing_is_known() {
    check(
        &["01T10:00 a=Idle", "01T13:00 a=Idle", "01T13:10 a=Idle"],
        &["a 01T10:00..01T10:10 Idle", "a 01T13:00..01T13:20 Idle"],
    )
    .await;
}

#[tokio::test]
async fn a_look_that_misses_a_gpu_ends_its_span_and_one_that_sees_it_again_begins_another() {
    check(
        &["01T10:00 a=Idle b=Idle", "01T10:05 b=Idle", "01T10:10 a=Idle b=Idle"],
        &["a 01T10:00..01T10:05 Idle", "a 01T10:10..01T10:20 Idle", "b 01T10:00..01T10:20 Idle"],
    )
    .await;
}

/// The second day's mean: 0.2 for the five minutes that are held over, 0.8 for ten, makes 0.6.
#[tokio::test]
async fn a_span_is_cut_at_midnight_and_goes_on() {
    check(
        &["01T23:55 a=Claimed:0.2", "02T00:05 a=Claimed:0.8"],
        &["a 01T23:55..02T00:00 Claimed 0.20", "a 02T00:00..02T00:15 Claimed 0.60"],
    )
    .await;
}

#[tokio::test]
async fn what_changed_after_midnight_held_until_it_was_seen_to_change() {
    check(
        &["01T23:55 a=Claimed:0.2 b=Idle", "02T00:02 a=Idle"],
        &[
            "a 01T23:55..02T00:00 Claimed 0.20",
            "b 01T23:55..02T00:00 Idle",
            "a 02T00:00..02T00:02 Claimed 0.20",
            "a 02T00:02..02T00:12 Idle",
            "b 02T00:00..02T00:02 Idle",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_look_at_midnight_leaves_nothing_to_hold_over() {
    check(
        &["01T23:55 a=Idle", "02T00:00 a=Idle"],
        &["a 01T23:55..02T00:00 Idle", "a 02T00:00..02T00:10 Idle"],
    )
    .await;
}

#[tokio::test]
async fn what_the_last_look_before_a_standstill_holds_over_is_not_lost() {
    check(
        &["01T23:58 a=Idle", "05T12:00 a=Idle"],
        &["a 01T23:58..02T00:00 Idle", "a 02T00:00..02T00:08 Idle", "a 05T12:00..05T12:10 Idle"],
    )
    .await;
}

#[tokio::test]
async fn a_look_a_day_holds_over_two_midnights() {
    check_held(
        &["01T12:00 a=Claimed:0.5"],
        SignedDuration::from_hours(48),
        &[
            "a 01T12:00..02T00:00 Claimed 0.50",
            "a 02T00:00..03T00:00 Claimed 0.50",
            "a 03T00:00..03T12:00 Claimed 0.50",
        ],
    )
    .await;
}

/// The first day was looked at every five minutes, the second every twenty: each day's looks hold
/// for what was agreed when it was compacted.
#[tokio::test]
async fn a_change_of_cadence_leaves_the_days_before_it_alone() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&look("01T23:40 a=Idle")).await.unwrap();
    writer.upsert(&look("01T23:58 a=Idle")).await.unwrap();
    writer.compact_gpu_days(time("2026-01-02T00:00:00Z"), HOLD).await.unwrap();
    for minute in ["02T00:20", "02T00:40", "02T02:00"] {
        writer.upsert(&look(&format!("{minute} a=Idle"))).await.unwrap();
    }
    let hold = SignedDuration::from_mins(40);
    let seen_before = asked(&lake, hold).await;
    writer.compact_gpu_days(time(LATER), hold).await.unwrap();
    let spans = rows::<GpuSpan>(&lake).await;
    assert_eq!(spans, seen_before);
    assert_eq!(
        spans.iter().map(show).collect::<Vec<_>>(),
        [
            "a 01T23:40..01T23:50 Idle",
            "a 01T23:58..02T00:00 Idle",
            "a 02T00:00..02T00:08 Idle",
            "a 02T00:20..02T01:20 Idle",
            "a 02T02:00..02T02:40 Idle",
        ]
    );
}

#[tokio::test]
async fn a_day_that_is_not_over_is_left_as_it_is() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&look("01T23:55 a=Idle")).await.unwrap();
    let before = files(&lake).await;
    let now = time("2026-01-01T23:59:59Z");
    assert_eq!(writer.compact_gpu_days(now, HOLD).await.unwrap(), Compacted::default());
    assert_eq!(files(&lake).await, before);
}

#[tokio::test]
async fn a_late_sample_that_says_something_else_is_refused_with_what_to_do() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&look("01T10:00 a=Idle")).await.unwrap();
    writer.compact_gpu_days(time(LATER), HOLD).await.unwrap();
    let before = files(&lake).await;
    // Another state, another GPU, and a time of which nothing was known.
    for late in ["01T10:00 a=Claimed", "01T10:00 b=Idle", "01T11:00 a=Idle"] {
        let error = writer.upsert(&look(late)).await.unwrap_err();
        assert!(error.downcast_ref::<LateSample>().is_some(), "{late}: {error:#}");
        let day = "2026-01-01".parse().unwrap();
        assert!(writer.restore(day, &look(late), false).await.is_err(), "{late}");
    }
    let error = writer.upsert(&look("01T11:00 a=Idle")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "2026-01-01 is compacted and says something else of GPU a of gpu01 at 2026-01-01T11:00:00Z; \
         `plimsoll reprocess --from 2026-01-01` derives the day again from all that is archived of it"
    );
    assert_eq!(files(&lake).await, before);
}

/// As `plimsoll reprocess` does: another lake is filled anew, with what the day before its first
/// carries over, and its spans are put in the place of what is there.
#[tokio::test]
async fn spans_that_were_derived_anew_take_the_place_of_spans_and_of_samples() {
    let looks = ["01T23:55 a=Idle", "02T00:05 a=Idle", "02T00:10 a=Owner", "03T12:00 a=Idle"];
    let samples: Vec<GpuSample> = looks.iter().flat_map(|text| look(text)).collect();
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&samples).await.unwrap();
    writer.compact_gpu_days(time("2026-01-03T00:00:00Z"), HOLD).await.unwrap();
    let read = async |day: &str| {
        let path = format!("processed/gpu_span/cluster=maple/date={day}/gpu_span.parquet");
        lake.read::<GpuSpan>("maple", &path.into()).await.unwrap()
    };

    let (_folder, derived) = test_lake::lake();
    let mut aside = derived.writer("maple").await.unwrap();
    aside.upsert(&read("2026-01-01").await).await.unwrap();
    aside.upsert(&samples[1..]).await.unwrap();
    aside.compact_gpu_days(time(LATER), HOLD).await.unwrap();
    let spans = rows::<GpuSpan>(&derived).await;
    let before = files(&lake).await;
    let day = "2026-01-02".parse().unwrap();
    assert_eq!(writer.restore(day, &spans, false).await.unwrap(), Change::default());
    assert_eq!(files(&lake).await, before);
    // The third was not compacted, and now is.
    let day = "2026-01-03".parse().unwrap();
    let change = writer.restore(day, &spans, false).await.unwrap();
    assert_eq!(change, Change { added: 1, changed: 0 });
    assert_eq!(rows::<GpuSample>(&lake).await, []);
    assert_eq!(rows::<GpuSpan>(&lake).await, rows::<GpuSpan>(&derived).await);
}

#[tokio::test]
async fn samples_that_a_stopped_compaction_left_are_not_seen_twice_and_go() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&look("01T10:00 a=Idle")).await.unwrap();
    writer.upsert(&look("01T11:00 a=Idle")).await.unwrap();
    let hour = "processed/gpu_sample/cluster=maple/date=2026-01-01/gpu_sample-11.parquet";
    let left = whole(&lake, hour).await;
    writer.compact_gpu_days(time(LATER), HOLD).await.unwrap();
    assert_eq!(rows::<GpuSample>(&lake).await, []);
    let seen = asked(&lake, HOLD).await;
    put(&lake, hour, left).await;
    assert_eq!(asked(&lake, HOLD).await, seen);
    drop(writer);
    lake.writer("maple").await.unwrap().finish().await.unwrap();
    assert_eq!(rows::<GpuSample>(&lake).await, []);
    assert_eq!(asked(&lake, HOLD).await, seen);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_stops_a_compaction_and_not_a_question() {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&look("01T10:00 a=Idle")).await.unwrap();
    writer.upsert(&look("01T11:00 a=Idle")).await.unwrap();
    let path = "processed/gpu_sample/cluster=maple/date=2026-01-01/gpu_sample-11.parquet";
    cut_off(&lake, path).await;
    let before = files(&lake).await;

    let error = format!("{:#}", writer.compact_gpu_days(time(LATER), HOLD).await.unwrap_err());
    let path = lake.shown(&path.into());
    let start = format!("cannot make spans of the samples of 2026-01-01: cannot read {path}");
    assert!(error.starts_with(&start), "{error}");
    assert_eq!(files(&lake).await, before);
    let days = lake.gpu_days(&Trackers::new(), None).await.unwrap();
    let open = lake.open_gpu_spans("maple", &days, HOLD).await.unwrap();
    assert_eq!(open.spans.iter().map(show).collect::<Vec<_>>(), ["a 01T10:00..01T10:10 Idle"]);
    assert_eq!((open.read.len(), open.skipped.len()), (1, 1));
}

/// What a look sees of each of three GPUs: its state and its use in hundredths.
type Seen = [Option<(usize, Option<u8>)>; 3];

/// Looks over some days, most of them near one another, each with the minutes since the one
/// before; of half of them use is always measured.
fn any_looks() -> impl Strategy<Value = Vec<(i64, Seen)>> {
    any::<bool>().prop_flat_map(|is_measured| {
        let apart = prop_oneof![6 => Just(5i64), 2 => 1..30i64, 1 => 30..1440i64];
        let use_ratio = move || {
            (any::<bool>(), 0..=100u8).prop_map(move |(is_known, hundredths)| {
                (is_measured || is_known).then_some(hundredths)
            })
        };
        let gpu = move || prop::option::weighted(0.9, (0..3usize, use_ratio()));
        prop::collection::vec((apart, [gpu(), gpu(), gpu()]), 1..60)
            .prop_filter("a look that sees nothing is not known", |looks| {
                looks.iter().all(|(_, seen)| seen.iter().any(Option::is_some))
            })
    })
}

fn minutes(minutes: i64) -> Timestamp {
    time("2026-01-01T22:00:00Z") + SignedDuration::from_mins(minutes)
}

fn samples_of(looks: &[(i64, Seen)]) -> Vec<Vec<GpuSample>> {
    let mut at = 0;
    let mut made = Vec::new();
    for (apart, seen) in looks {
        at += apart;
        let samples = seen.iter().enumerate().filter_map(|(gpu, seen)| {
            let (state, use_ratio) = (*seen)?;
            Some(GpuSample {
                use_ratio: use_ratio.map(|hundredths| f64::from(hundredths) / 100.0),
                ..gpu_sample(&gpu.to_string(), minutes(at), ["Idle", "Claimed", "Owner"][state])
            })
        });
        made.push(samples.collect());
    }
    made
}

/// The spans of all days, each made with what the day before carries.
fn spans_by_day(samples: &[GpuSample]) -> Vec<GpuSpan> {
    let mut all: Vec<GpuSpan> = Vec::new();
    let mut before: Vec<GpuSpan> = Vec::new();
    let mut day: Date = path::date(samples[0].time);
    let last = path::date(samples.last().unwrap().time).tomorrow().unwrap();
    while day <= last {
        let of_day: Vec<GpuSample> =
            samples.iter().filter(|sample| path::date(sample.time) == day).cloned().collect();
        let looks = Looks::new(day, of_day.iter().map(|sample| sample.time), HOLD);
        before = spans_of(&looks, &before, &of_day);
        all.extend(before.iter().cloned());
        day = day.tomorrow().unwrap();
    }
    all
}

/// Looks that hold for ten minutes, of which one was left out: the next comes seconds later than
/// that, and is in time by a fiftieth of it.
#[test]
fn a_look_that_comes_a_little_late_is_in_time() {
    for (late, expected) in [
        (12, vec!["a 01T10:00..01T10:20 Idle"]),
        (13, vec!["a 01T10:00..01T10:10 Idle", "a 01T10:10..01T10:20 Idle"]),
    ] {
        let first = time("2026-01-01T10:00:00Z");
        let second = first + HOLD + SignedDuration::from_secs(late);
        let samples = [first, second].map(|time| gpu_sample("a", time, "Idle"));
        let looks = Looks::new(path::date(first), [first, second], HOLD);
        let spans = spans_of(&looks, &[], &samples);
        assert_eq!(spans.iter().map(show).collect::<Vec<_>>(), expected, "{late}");
        let held: SignedDuration = spans.iter().fold(SignedDuration::ZERO, |sum, span| {
            sum + span.end_time.duration_since(span.start_time)
        });
        let unknown = if late > 12 { late } else { 0 };
        assert_eq!(held, HOLD * 2 + SignedDuration::from_secs(late - unknown));
    }
}

proptest! {
    /// Minute by minute, by the rule itself: what the last look at the cluster saw of a GPU, if
    /// that look still holds.
    #[test]
    fn spans_hold_what_samples_hold(looks in any_looks()) {
        let looks = samples_of(&looks);
        let mut expected: BTreeMap<(Text, Text), (i64, f64)> = BTreeMap::new();
        for (place, look) in looks.iter().enumerate() {
            let start = look[0].time;
            let next = looks.get(place + 1).map_or(start + HOLD, |next| next[0].time);
            let mut minute = start;
            while minute < next.min(start + HOLD) {
                for sample in look {
                    let state = sample.primary_state.clone().unwrap();
                    let sums = expected.entry((sample.gpu_id.clone(), state)).or_default();
                    sums.0 += 1;
                    sums.1 += sample.use_ratio.unwrap_or(0.0);
                }
                minute += SignedDuration::from_mins(1);
            }
        }
        let spans = spans_by_day(&looks.concat());
        let mut found: BTreeMap<(Text, Text), (i64, f64)> = BTreeMap::new();
        for span in &spans {
            prop_assert!(span.start_time < span.end_time);
            prop_assert_eq!(
                path::date(span.start_time),
                path::date(span.end_time - SignedDuration::from_nanos(1000))
            );
            let state = span.primary_state.clone().unwrap();
            let sums = found.entry((span.gpu_id.clone(), state)).or_default();
            sums.0 += span.end_time.duration_since(span.start_time).as_mins();
        }
        let whole = |sums: &BTreeMap<(Text, Text), (i64, f64)>| {
            sums.iter().map(|(of, sums)| (of.clone(), sums.0)).collect::<Vec<_>>()
        };
        prop_assert_eq!(whole(&found), whole(&expected));
        for one in &spans {
            for other in spans.iter().filter(|other| other.gpu_id == one.gpu_id) {
                let apart = one.end_time <= other.start_time || other.end_time <= one.start_time;
                prop_assert!(apart || one == other, "{} {}", show(one), show(other));
            }
        }
        // Where every look measured, means times their time are what was measured, but for the
        // rounding of each.
        if looks.iter().flatten().all(|sample| sample.use_ratio.is_some()) {
            for ((gpu_id, state), sums) in expected {
                let of = spans.iter().filter(|span| {
                    span.gpu_id == gpu_id && span.primary_state.as_deref() == Some(&state)
                });
                let used: f64 = of.map(|span| {
                    let held = span.end_time.duration_since(span.start_time).as_mins() as f64;
                    span.mean_use_ratio.unwrap() * held
                }).sum();
                let rounding = sums.0 as f64 / 500.0;
                prop_assert!((used - sums.1).abs() <= rounding, "{used} {}", sums.1);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn compacting_a_day_gives_what_its_samples_give(looks in any_looks()) {
        let looks = samples_of(&looks);
        let runtime = runtime();
        let spans = runtime.block_on(check_compacted(&looks, HOLD));
        prop_assert_eq!(spans, spans_by_day(&looks.concat()));
    }
}

/// A small generator of numbers: the same ones in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// From a seventh of a length to seven times it, evenly on the scale of its logarithm, so that
    /// half are longer.
    fn looks_around(&mut self, length: u64) -> u64 {
        let factor = (self.below(1000) as f64 / 1000.0 * 3.8 - 1.9).exp();
        ((length as f64 * factor) as u64).max(1)
    }
}

/// A day of 300 GPUs in machines of eight, looked at so many times, to the microsecond that it
/// happened to be: half of the jobs are longer than some hours, on the primary side and on the
/// backfill side of idle GPUs, where they are evicted when the primary side is claimed; each is one
/// of 40 users'; use is measured with all its digits.
fn synthetic_day(look_count: u64, median_hours: u64) -> Vec<GpuSample> {
    let job_looks = look_count / 24 * median_hours;
    let idle_looks = look_count / 24;
    let mut dice = Dice(7);
    let looks: Vec<Timestamp> = (0..look_count)
        .map(|look| {
            let jitter = SignedDuration::from_micros(dice.below(2_000_000) as i64);
            time("2026-01-01T00:00:00Z")
                + SignedDuration::from_secs((86_400 / look_count * look) as i64)
                + jitter
        })
        .collect();
    let models = [
        ("NVIDIA A100-SXM4-80GB", 81920, 8.0),
        ("NVIDIA L40S", 46068, 8.9),
        ("NVIDIA H200", 143_771, 9.0),
    ];
    let mut job_number = 4_200_000;
    let mut samples = Vec::new();
    for number in 0..300u64 {
        let machine = format!("gpu{:04}.chtc.wisc.edu", 2000 + number / 8);
        let (model, memory, capability) = models[(number / 8 % 3) as usize];
        let gpu_id = format!("GPU-{:08x}", 0x1234_5678_u64.wrapping_mul(number + 1) & 0xffff_ffff);
        let mut job = |dice: &mut Dice, length| {
            job_number += 1 + dice.below(5);
            let user = format!("user{}@chtc.wisc.edu", dice.below(40));
            (user, format!("{job_number}.0"), dice.looks_around(length), 1 + dice.below(8))
        };
        let (mut primary, mut backfill) = (None, None);
        let mut idle = dice.below(idle_looks);
        for &time in &looks {
            if let Some((_, _, left, _)) = &mut primary {
                *left -= 1;
                if *left == 0 {
                    primary = None;
                    idle = dice.looks_around(idle_looks);
                }
            } else if idle == 0 {
                (primary, backfill) = (Some(job(&mut dice, job_looks)), None);
            } else {
                idle -= 1;
                match &mut backfill {
                    Some((_, _, left, _)) if *left > 1 => *left -= 1,
                    Some(_) => backfill = None,
                    None if dice.below(idle_looks / 4) == 0 => {
                        backfill = Some(job(&mut dice, job_looks));
                    }
                    None => {}
                }
            }
            type Job = Option<(String, String, u64, u64)>;
            let text = |text: &str| Some(Text::from(text));
            let state = |job: &Job| text(if job.is_some() { "Claimed" } else { "Unclaimed" });
            let user = |job: &Job| job.as_ref().and_then(|job| text(&job.0));
            let job_id = |job: &Job| job.as_ref().and_then(|job| text(&job.1));
            let slot = |job: &Job, slot: &str| {
                let dynamic = job.as_ref().map(|job| format!("_{}", job.3)).unwrap_or_default();
                text(&format!("{slot}{dynamic}"))
            };
            let is_busy = primary.is_some() || backfill.is_some();
            samples.push(GpuSample {
                machine: machine.clone().into(),
                device_name: Some(model.into()),
                device_memory_mb: Some(memory),
                capability: Some(capability),
                primary_slot: slot(&primary, "slot1"),
                primary_state: state(&primary),
                primary_user: user(&primary),
                primary_job_id: job_id(&primary),
                prioritized_projects: (number / 8 % 2 == 0).then(|| "Physics_Lab".into()),
                interactive: Some(false),
                backfill_slot: slot(&backfill, "backfill2"),
                backfill_state: state(&backfill),
                backfill_user: user(&backfill),
                backfill_job_id: job_id(&backfill),
                use_ratio: is_busy.then(|| dice.below(1_000_000) as f64 / 999_983.0),
                ..gpu_sample(&gpu_id, time, "")
            });
        }
    }
    samples
}

/// Compacts a synthetic day and gives the bytes of its spans by sample and by span.
async fn check_bytes(look_count: u64, median_hours: u64) -> (f64, f64) {
    let (_folder, lake) = lake();
    let mut writer = lake.writer("maple").await.unwrap();
    writer.upsert(&synthetic_day(look_count, median_hours)).await.unwrap();
    let size = async || files(&lake).await.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let before = size().await;
    let compacted = writer.compact_gpu_days(time("2026-01-02T00:00:00Z"), HOLD).await.unwrap();
    assert_eq!(compacted.samples as u64, 300 * look_count);
    let after = size().await;
    let by_sample = |bytes: usize| bytes as f64 / compacted.samples as f64;
    let by_span = after as f64 / compacted.spans as f64;
    println!(
        "jobs of {median_hours} h: {} samples of {:.1} bytes are {} spans ({:.1} a GPU) in {after} bytes: \
         {:.3} a sample, {by_span:.1} a span",
        compacted.samples,
        by_sample(before),
        compacted.spans,
        compacted.spans as f64 / 300.0,
        by_sample(after),
    );
    (by_sample(after), by_span)
}

/// What a day takes follows from its changes: looked at twice as often it is hardly larger. The
/// busy day has twelve changes a GPU; with eight, as in the year of the benchmark, a sample takes
/// less than 0.3 byte.
#[tokio::test]
async fn a_compacted_day_takes_little() {
    let (busy_sample, busy_span) = check_bytes(288, 4).await;
    let (calm_sample, _) = check_bytes(288, 12).await;
    let (often_sample, _) = check_bytes(576, 4).await;
    assert!(busy_span < 13.0 && busy_sample / 2.0 < 0.3 && calm_sample < 0.33);
    assert!(often_sample < 0.6 * busy_sample);
}
