//! How long things last, where some of them were still going on when they were last seen
//! ([`crate::survival`]), as aggregates:
//!
//! - `survival(seconds, ended, at_seconds)`: how many were `observed` and how many of these
//!   `ended`; after how many seconds a quarter (`quarter`), half (`median`) and three quarters
//!   (`three_quarters`) had ended, by Kaplan and Meier's estimate; and of a time that is the same
//!   in all rows how many were watched for so long (`at_risk`), the `share` that lasts longer, its
//!   `lower` and `upper` bound with a confidence of 95 %, and how long they last on average if
//!   each is stopped then (`mean_until`);
//! - `log_rank(is_one, seconds, ended)`: how likely two groups, those that are and those that are
//!   not, differ so much or more if they last equally long.
//!
//! Values are sorted before they are used, so the answer does not depend on the order in which
//! they come.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StructArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Float64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, AggregateUDF, Volatility, create_udaf};

use crate::survival::{Curve, Observation, log_rank};

pub(super) fn functions() -> [AggregateUDF; 2] {
    let numbers = DataType::new_list(DataType::Float64, true);
    let truths = DataType::new_list(DataType::Boolean, true);
    [
        create_udaf(
            "survival",
            vec![DataType::Float64, DataType::Boolean, DataType::Float64],
            Arc::new(DataType::Struct(fields())),
            Volatility::Immutable,
            Arc::new(|_| Ok(Box::new(Survival::default()))),
            Arc::new(vec![numbers.clone(), truths.clone(), DataType::Float64]),
        ),
        create_udaf(
            "log_rank",
            vec![DataType::Boolean, DataType::Float64, DataType::Boolean],
            Arc::new(DataType::Float64),
            Volatility::Immutable,
            Arc::new(|_| Ok(Box::new(Compared::default()))),
            Arc::new(vec![numbers.clone(), truths.clone(), numbers, truths]),
        ),
    ]
}

fn fields() -> Fields {
    let count = |name| Field::new(name, DataType::Int64, true);
    let number = |name| Field::new(name, DataType::Float64, true);
    Fields::from(vec![
        count("observed"),
        count("ended"),
        number("quarter"),
        number("median"),
        number("three_quarters"),
        count("at_risk"),
        number("share"),
        number("lower"),
        number("upper"),
        number("mean_until"),
    ])
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
            let (seconds, ended) = (seconds.value(row), ended.value(row));
            for (seconds, ended) in
                seconds.as_primitive::<Float64Type>().iter().zip(ended.as_boolean())
            {
                self.add(seconds, ended);
            }
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
        let seconds = values[0].as_primitive::<Float64Type>();
        let ended = values[1].as_boolean();
        for (seconds, ended) in seconds.iter().zip(ended) {
            self.seen.add(seconds, ended);
        }
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
        let observations = &self.seen.0;
        let curve = Curve::of(observations);
        let ended = observations.iter().filter(|seen| seen.ended).count();
        let watched =
            |at: f64| observations.iter().filter(|seen| seen.seconds >= at).count() as i64;
        let share = self.at_seconds.and_then(|at| curve.survival(at));
        let step = self.at_seconds.and_then(|at| curve.step_at(at));
        let bound = |bound: Option<f64>| share.map(|_| bound.unwrap_or(1.0));
        let count = |count: Option<i64>| Arc::new(Int64Array::from(vec![count])) as ArrayRef;
        let number = |number: Option<f64>| Arc::new(Float64Array::from(vec![number])) as ArrayRef;
        let given = vec![
            count(Some(observations.len() as i64)),
            count(Some(ended as i64)),
            number(curve.time_until(0.75)),
            number(curve.time_until(0.5)),
            number(curve.time_until(0.25)),
            count(self.at_seconds.map(watched)),
            number(share),
            number(bound(step.map(|step| step.lower))),
            number(bound(step.map(|step| step.upper))),
            number(self.at_seconds.and_then(|at| curve.mean_until(at))),
        ];
        Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(fields(), given, None)?)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.seen.size()
    }
}

#[derive(Debug, Default)]
struct Compared {
    those: Seen,
    others: Seen,
}

impl Accumulator for Compared {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let is_one = values[0].as_boolean();
        let seconds = values[1].as_primitive::<Float64Type>();
        let ended = values[2].as_boolean();
        for ((is_one, seconds), ended) in is_one.iter().zip(seconds).zip(ended) {
            match is_one {
                Some(true) => self.those.add(seconds, ended),
                Some(false) => self.others.add(seconds, ended),
                None => {}
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.those.merge(&states[0], &states[1]);
        self.others.merge(&states[2], &states[3]);
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.those.state().into_iter().chain(self.others.state()).collect())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let compared = log_rank(&[self.those.0.clone(), self.others.0.clone()]);
        Ok(ScalarValue::Float64(compared.map(|compared| compared.p_value)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.those.size() + self.others.size()
    }
}
