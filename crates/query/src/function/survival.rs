//! How long things last, where some of them were still going on when they were last seen
//! ([`crate::survival`]), as aggregates:
//!
//! - `survival(seconds, ended, at_seconds)`: how many were `observed` and how many of these
//!   `ended`; after how many seconds a quarter (`quarter`), half (`median`) and three quarters
//!   (`three_quarters`) had ended, by Kaplan and Meier's estimate; and of a time that is the same
//!   in all rows how many were watched for so long (`at_risk`), the `share` that lasts longer, its
//!   `lower` and `upper` bound with a confidence of 95 %, and how long they last on average if
//!   each is stopped then (`mean_until`);
//! - `survival_curve(seconds, ended)`: `observed`, `ended`, `at_risk`, `share`, `lower` and `upper` at each
//!   of [`TIMES`] that any was watched for, as a list, with the time itself (`at_seconds`);
//! - `survival_steps(seconds, ended)`: the same at the start, at each time at which one ended, and at the
//!   longest time that any was watched for;
//! - `log_rank(group, seconds, ended)`: for each `group` how likely it and all others differ so much
//!   or more if they last equally long (`p_value`), as a list.
//!
//! Values are sorted before they are used, so the answer does not depend on the order in which
//! they come.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringViewArray, StructArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Float64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, AggregateUDF, Volatility, create_udaf};

use crate::survival::{Curve, Observation, Step, log_rank};

/// Times after which people ask what still goes on, in seconds.
const TIMES: [f64; 16] = {
    const HOUR: f64 = 3600.0;
    [
        0.25 * HOUR,
        0.5 * HOUR,
        HOUR,
        2.0 * HOUR,
        3.0 * HOUR,
        4.0 * HOUR,
        6.0 * HOUR,
        8.0 * HOUR,
        12.0 * HOUR,
        18.0 * HOUR,
        24.0 * HOUR,
        36.0 * HOUR,
        48.0 * HOUR,
        72.0 * HOUR,
        120.0 * HOUR,
        168.0 * HOUR,
    ]
};

pub(super) fn functions() -> [AggregateUDF; 4] {
    let numbers = DataType::new_list(DataType::Float64, true);
    let truths = DataType::new_list(DataType::Boolean, true);
    let texts = DataType::new_list(DataType::Utf8View, true);
    [
        create_udaf(
            "survival",
            vec![DataType::Float64, DataType::Boolean, DataType::Float64],
            Arc::new(DataType::Struct(life_fields())),
            Volatility::Immutable,
            Arc::new(|_| Ok(Box::new(Survival::default()))),
            Arc::new(vec![numbers.clone(), truths.clone(), DataType::Float64]),
        ),
        create_udaf(
            "survival_curve",
            vec![DataType::Float64, DataType::Boolean],
            Arc::new(DataType::new_list(DataType::Struct(point_fields()), true)),
            Volatility::Immutable,
            Arc::new(|_| Ok(Box::new(SurvivalPoints::at(round_times)))),
            Arc::new(vec![numbers.clone(), truths.clone()]),
        ),
        create_udaf(
            "survival_steps",
            vec![DataType::Float64, DataType::Boolean],
            Arc::new(DataType::new_list(DataType::Struct(point_fields()), true)),
            Volatility::Immutable,
            Arc::new(|_| Ok(Box::new(SurvivalPoints::at(step_times)))),
            Arc::new(vec![numbers.clone(), truths.clone()]),
        ),
        create_udaf(
            "log_rank",
            vec![DataType::Utf8View, DataType::Float64, DataType::Boolean],
            Arc::new(DataType::new_list(DataType::Struct(compared_fields()), true)),
            Volatility::Immutable,
            Arc::new(|_| Ok(Box::new(Compared::default()))),
            Arc::new(vec![texts, numbers, truths]),
        ),
    ]
}

fn life_fields() -> Fields {
    let count = |name| Field::new(name, DataType::Int64, true);
    let number = |name| Field::new(name, DataType::Float64, true);
    Fields::from(vec![
        count("observed"),
        count("ended"),
        number("quarter"),
        number("median"),
        number("three_quarters"),
        number("at_seconds"),
        count("at_risk"),
        number("share"),
        number("lower"),
        number("upper"),
        number("mean_until"),
    ])
}

fn point_fields() -> Fields {
    let count = |name| Field::new(name, DataType::Int64, true);
    let number = |name| Field::new(name, DataType::Float64, true);
    Fields::from(vec![
        count("observed"),
        count("ended"),
        number("at_seconds"),
        count("at_risk"),
        number("share"),
        number("lower"),
        number("upper"),
    ])
}

fn compared_fields() -> Fields {
    Fields::from(vec![
        Field::new("group", DataType::Utf8View, true),
        Field::new("p_value", DataType::Float64, true),
    ])
}

/// Returns the statistics of lives: counts, quartiles, and survival at one time.
fn lives(observations: &[Observation], at_seconds: Option<f64>) -> Result<StructArray> {
    let curve = Curve::of(observations);
    let ended = observations.iter().filter(|seen| seen.ended).count();
    let watched = |at: f64| observations.iter().filter(|seen| seen.seconds >= at).count();
    let share = at_seconds.and_then(|at| curve.survival(at));
    let step = at_seconds.and_then(|at| curve.step_at(at));
    let bound = |bound: fn(&Step) -> f64| share.map(|_| step.map_or(1.0, bound));
    let count = |count: Option<usize>| -> ArrayRef {
        Arc::new(Int64Array::from(vec![count.map(|count| count as i64)]))
    };
    let number = |number: Option<f64>| -> ArrayRef { Arc::new(Float64Array::from(vec![number])) };
    let given = vec![
        count(Some(observations.len())),
        count(Some(ended)),
        number(curve.time_until(0.75)),
        number(curve.time_until(0.5)),
        number(curve.time_until(0.25)),
        number(at_seconds),
        count(at_seconds.map(watched)),
        number(share),
        number(bound(|step| step.lower)),
        number(bound(|step| step.upper)),
        number(at_seconds.and_then(|at| curve.mean_until(at))),
    ];
    Ok(StructArray::try_new(life_fields(), given, None)?)
}

/// Times after which people ask what still goes on, as far as any was watched.
fn round_times(curve: &Curve) -> Vec<f64> {
    TIMES.into_iter().filter(|at| *at <= curve.longest_seconds).collect()
}

/// The start, every time at which the curve falls, and its end.
fn step_times(curve: &Curve) -> Vec<f64> {
    let mut times = vec![0.0];
    times.extend(curve.steps.iter().map(|step| step.seconds));
    times.push(curve.longest_seconds);
    times.dedup();
    times
}

/// The points of a curve at some times.
fn points(observations: &[Observation], times: fn(&Curve) -> Vec<f64>) -> Result<StructArray> {
    let curve = Curve::of(observations);
    let times = if observations.is_empty() { Vec::new() } else { times(&curve) };
    let mut lengths: Vec<f64> = observations.iter().map(|seen| seen.seconds).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    let ended = observations.iter().filter(|seen| seen.ended).count() as i64;
    let at_risk = |at: &f64| (lengths.len() - lengths.partition_point(|length| length < at)) as i64;
    let steps: Vec<Option<&Step>> = times.iter().map(|at| curve.step_at(*at)).collect();
    let counts = |count: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(count)) };
    let bound = |bound: fn(&Step) -> f64| -> ArrayRef {
        let bounds = steps.iter().map(|step| step.map_or(1.0, bound));
        Arc::new(bounds.map(Some).collect::<Float64Array>())
    };
    let given = vec![
        counts(vec![observations.len() as i64; times.len()]),
        counts(vec![ended; times.len()]),
        Arc::new(Float64Array::from(times.clone())) as ArrayRef,
        counts(times.iter().map(at_risk).collect()),
        bound(|step| step.survival),
        bound(|step| step.lower),
        bound(|step| step.upper),
    ];
    Ok(StructArray::try_new(point_fields(), given, None)?)
}

/// What was observed, as it came.
#[derive(Debug, Default)]
struct Seen(Vec<Observation>);

impl Seen {
    fn add(&mut self, seconds: Option<f64>, ended: Option<bool>) {
        if let (Some(seconds), Some(ended)) = (seconds.filter(|number| *number >= 0.0), ended) {
            self.0.push(Observation { seconds, ended });
        }
    }

    fn extend(&mut self, seconds: &ArrayRef, ended: &ArrayRef) {
        for (seconds, ended) in seconds.as_primitive::<Float64Type>().iter().zip(ended.as_boolean())
        {
            self.add(seconds, ended);
        }
    }

    /// Two lists, of the numbers and of the truths.
    fn state(&self) -> [ScalarValue; 2] {
        let seconds: Float64Array = self.0.iter().map(|seen| Some(seen.seconds)).collect();
        let ended: BooleanArray = self.0.iter().map(|seen| Some(seen.ended)).collect();
        let list = |array: ArrayRef| SingleRowListArrayBuilder::new(array).build_list_scalar();
        [list(Arc::new(seconds)), list(Arc::new(ended))]
    }

    fn merge(&mut self, seconds: &ArrayRef, ended: &ArrayRef) {
        let (seconds, ended) = (seconds.as_list::<i32>(), ended.as_list::<i32>());
        for row in 0..seconds.len() {
            self.extend(&seconds.value(row), &ended.value(row));
        }
    }

    fn size(&self) -> usize {
        self.0.capacity() * size_of::<Observation>()
    }
}

#[derive(Debug, Default)]
struct Survival {
    seen: Seen,
    at_seconds: Option<f64>,
}

impl Accumulator for Survival {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.seen.extend(&values[0], &values[1]);
        let at = values[2].as_primitive::<Float64Type>().iter().flatten().next();
        self.at_seconds = self.at_seconds.or(at);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.seen.merge(&states[0], &states[1]);
        let at = states[2].as_primitive::<Float64Type>().iter().flatten().next();
        self.at_seconds = self.at_seconds.or(at);
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state: Vec<ScalarValue> = self.seen.state().into();
        state.push(ScalarValue::Float64(self.at_seconds));
        Ok(state)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Struct(Arc::new(lives(&self.seen.0, self.at_seconds)?)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.seen.size()
    }
}

/// The points of a curve, at times that follow from the curve.
#[derive(Debug)]
struct SurvivalPoints {
    seen: Seen,
    times: fn(&Curve) -> Vec<f64>,
}

impl SurvivalPoints {
    fn at(times: fn(&Curve) -> Vec<f64>) -> SurvivalPoints {
        SurvivalPoints { seen: Seen::default(), times }
    }
}

impl Accumulator for SurvivalPoints {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.seen.extend(&values[0], &values[1]);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.seen.merge(&states[0], &states[1]);
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.seen.state().into())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let points = points(&self.seen.0, self.times)?;
        Ok(SingleRowListArrayBuilder::new(Arc::new(points)).build_list_scalar())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.seen.size()
    }
}

#[derive(Debug, Default)]
struct Compared(BTreeMap<Option<String>, Seen>);

impl Compared {
    fn add(&mut self, groups: &ArrayRef, seconds: &ArrayRef, ended: &ArrayRef) {
        let rows = seconds.as_primitive::<Float64Type>().iter().zip(ended.as_boolean());
        let mut last: Option<(Option<&str>, Seen)> = None;
        for (group, (seconds, ended)) in groups.as_string_view().iter().zip(rows) {
            match &mut last {
                Some((of, seen)) if *of == group => seen.add(seconds, ended),
                _ => {
                    let mut seen = Seen::default();
                    seen.add(seconds, ended);
                    self.keep(last.replace((group, seen)));
                }
            }
        }
        self.keep(last);
    }

    fn keep(&mut self, seen: Option<(Option<&str>, Seen)>) {
        if let Some((group, Seen(new))) = seen {
            self.0.entry(group.map(str::to_owned)).or_default().0.extend(new);
        }
    }
}

impl Accumulator for Compared {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], &values[1], &values[2]);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [groups, seconds, ended] = [0, 1, 2].map(|place| states[place].as_list::<i32>());
        for row in 0..groups.len() {
            self.add(&groups.value(row), &seconds.value(row), &ended.value(row));
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let groups = self
            .0
            .iter()
            .flat_map(|(group, seen)| std::iter::repeat_n(group.as_deref(), seen.0.len()));
        let groups: StringViewArray = groups.collect();
        let all = Seen(self.0.values().flat_map(|seen| seen.0.iter().copied()).collect());
        let groups = SingleRowListArrayBuilder::new(Arc::new(groups)).build_list_scalar();
        Ok(std::iter::once(groups).chain(all.state()).collect())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let groups: Vec<&[Observation]> = self.0.values().map(|seen| &seen.0[..]).collect();
        let p_values: Float64Array = log_rank(&groups)
            .into_iter()
            .map(|compared| compared.map(|compared| compared.p_value))
            .collect();
        let groups: StringViewArray = self.0.keys().map(Option::as_deref).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(groups), Arc::new(p_values)];
        let compared = StructArray::try_new(compared_fields(), columns, None)?;
        Ok(SingleRowListArrayBuilder::new(Arc::new(compared)).build_list_scalar())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.values().map(Seen::size).sum::<usize>()
    }
}
