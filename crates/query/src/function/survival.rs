//! How long things last, where some of them were still going on when they were last seen
//! ([`crate::survival`]), as aggregates:
//!
//! - `survival(seconds, ended, at_seconds)`: how many were `observed` and how many of these
//!   `ended`; after how many seconds a quarter (`quarter`), half (`median`) and three quarters
//!   (`three_quarters`) had ended, by Kaplan and Meier's estimate; and of a time that is the same
//!   in all rows how many were watched for so long (`at_risk`), the `share` that lasts longer, its
//!   `lower` and `upper` bound with a confidence of 95 %, and how long they last on average if
//!   each is stopped then (`mean_until`);
//! - `survival_curve(seconds, ended)`: the same of each of [`TIMES`] that any was watched for, as a
//!   list, with the time itself (`at_seconds`);
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

pub(super) fn functions() -> [AggregateUDF; 3] {
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
            Arc::new(DataType::new_list(DataType::Struct(life_fields()), true)),
            Volatility::Immutable,
            Arc::new(|_| Ok(Box::new(SurvivalCurve::default()))),
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

fn compared_fields() -> Fields {
    Fields::from(vec![
        Field::new("group", DataType::Utf8View, true),
        Field::new("p_value", DataType::Float64, true),
    ])
}

/// What is known of lives, and of each of some times: a row each.
fn lives(observations: &[Observation], times: &[Option<f64>]) -> Result<StructArray> {
    let curve = Curve::of(observations);
    let ended = observations.iter().filter(|seen| seen.ended).count();
    let watched = |at: f64| observations.iter().filter(|seen| seen.seconds >= at).count() as i64;
    let share = |at: &Option<f64>| at.and_then(|at| curve.survival(at));
    let bound = |at: &Option<f64>, bound: fn(&Step) -> f64| {
        share(at).map(|_| at.and_then(|at| curve.step_at(at)).map_or(1.0, bound))
    };
    let counts = |count: &dyn Fn(&Option<f64>) -> Option<i64>| -> ArrayRef {
        Arc::new(times.iter().map(count).collect::<Int64Array>())
    };
    let numbers = |number: &dyn Fn(&Option<f64>) -> Option<f64>| -> ArrayRef {
        Arc::new(times.iter().map(number).collect::<Float64Array>())
    };
    let given = vec![
        counts(&|_| Some(observations.len() as i64)),
        counts(&|_| Some(ended as i64)),
        numbers(&|_| curve.time_until(0.75)),
        numbers(&|_| curve.time_until(0.5)),
        numbers(&|_| curve.time_until(0.25)),
        numbers(&|at| *at),
        counts(&|at| at.map(watched)),
        numbers(&share),
        numbers(&|at| bound(at, |step| step.lower)),
        numbers(&|at| bound(at, |step| step.upper)),
        numbers(&|at| at.and_then(|at| curve.mean_until(at))),
    ];
    Ok(StructArray::try_new(life_fields(), given, None)?)
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
        Ok(ScalarValue::Struct(Arc::new(lives(&self.seen.0, &[self.at_seconds])?)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.seen.size()
    }
}

#[derive(Debug, Default)]
struct SurvivalCurve(Seen);

impl Accumulator for SurvivalCurve {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.extend(&values[0], &values[1]);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge(&states[0], &states[1]);
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.0.state().into())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let longest = self.0.0.iter().map(|seen| seen.seconds).fold(-1.0, f64::max);
        let times: Vec<_> = TIMES.into_iter().filter(|at| *at <= longest).map(Some).collect();
        let lives = lives(&self.0.0, &times)?;
        Ok(SingleRowListArrayBuilder::new(Arc::new(lives)).build_list_scalar())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
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
