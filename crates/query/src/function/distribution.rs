//! `distribution(number)`: an aggregate that gives the median and the 90th and 95th percentile,
//! each to the hundredth and by nearest rank: the smallest value that so many do not exceed.
//!
//! Values are counted, not kept: what it holds grows with how much they differ, not with how many
//! there are, and the answer does not depend on the order in which they come.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{HashMap, Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, AggregateUDF, Volatility, create_udaf};

/// What is given, and the share of values that do not exceed it, in hundredths.
const PERCENTILES: [(&str, i64); 3] = [("median", 50), ("p90", 90), ("p95", 95)];

pub(super) fn function() -> AggregateUDF {
    let list = DataType::new_list(DataType::Int64, true);
    create_udaf(
        "distribution",
        vec![DataType::Float64],
        Arc::new(DataType::Struct(fields())),
        Volatility::Immutable,
        Arc::new(|_| Ok(Box::new(Distribution::default()))),
        Arc::new(vec![list.clone(), list]),
    )
}

fn fields() -> Fields {
    PERCENTILES.iter().map(|(name, _)| Field::new(*name, DataType::Float64, true)).collect()
}

/// How often each value came, by the value in hundredths.
#[derive(Debug, Default)]
struct Distribution {
    counts: HashMap<i64, i64>,
}

impl Accumulator for Distribution {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for number in values[0].as_primitive::<Float64Type>().iter().flatten() {
            if number.is_finite() {
                *self.counts.entry((number * 100.0).round() as i64).or_default() += 1;
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (values, counts) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for row in 0..values.len() {
            let (values, counts) = (values.value(row), counts.value(row));
            let values = values.as_primitive::<Int64Type>().values();
            for (value, count) in values.iter().zip(counts.as_primitive::<Int64Type>().values()) {
                *self.counts.entry(*value).or_default() += count;
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (values, counts): (Vec<i64>, Vec<i64>) = self.counts.drain().unzip();
        let list = |numbers: Vec<i64>| {
            SingleRowListArrayBuilder::new(Arc::new(Int64Array::from(numbers))).build_list_scalar()
        };
        Ok(vec![list(values), list(counts)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut counted: Vec<(i64, i64)> = self.counts.drain().collect();
        counted.sort_unstable();
        let percentiles = PERCENTILES.map(|(_, share)| {
            let number = nearest_rank(&counted, share).map(|hundredths| hundredths as f64 / 100.0);
            Arc::new(Float64Array::from(vec![number])) as ArrayRef
        });
        let given = StructArray::try_new(fields(), percentiles.to_vec(), None)?;
        Ok(ScalarValue::Struct(Arc::new(given)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * size_of::<(i64, i64)>()
    }
}

/// The smallest value that `share` hundredths of all do not exceed.
fn nearest_rank(counted: &[(i64, i64)], share: i64) -> Option<i64> {
    let all: i64 = counted.iter().map(|(_, count)| count).sum();
    let mut not_above = 0;
    for (value, count) in counted {
        not_above += count;
        if not_above * 100 >= all * share {
            return Some(*value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(batches: &[&[Option<f64>]]) -> Vec<Option<f64>> {
        let mut whole = Distribution::default();
        for batch in batches {
            let mut part = Distribution::default();
            part.update_batch(&[Arc::new(Float64Array::from(batch.to_vec()))]).unwrap();
            let states: Vec<ArrayRef> =
                part.state().unwrap().iter().map(|state| state.to_array().unwrap()).collect();
            whole.merge_batch(&states).unwrap();
        }
        let ScalarValue::Struct(percentiles) = whole.evaluate().unwrap() else {
            unreachable!("a distribution is a struct")
        };
        let number = |column: &ArrayRef| column.as_primitive::<Float64Type>().iter().next();
        percentiles.columns().iter().map(|column| number(column).flatten()).collect()
    }

    /// Of the twenty numbers 1 to 20, ten do not exceed 10, eighteen 18 and nineteen 19.
    #[test]
    fn a_percentile_is_a_value_that_came_whatever_the_order() {
        let mut numbers: Vec<Option<f64>> =
            (1..=20).map(|number| Some(f64::from(number))).collect();
        let expected = [Some(10.0), Some(18.0), Some(19.0)];
        assert_eq!(given(&[&numbers]), expected);
        numbers.reverse();
        let (one, other) = numbers.split_at(7);
        assert_eq!(given(&[other, &[], one]), expected);
    }

    #[test]
    fn unknown_values_do_not_count_and_of_none_nothing_is_known() {
        assert_eq!(given(&[&[None, Some(3.0), Some(f64::NAN)]]), [Some(3.0); 3]);
        assert_eq!(given(&[&[None]]), [None; 3]);
        assert_eq!(given(&[]), [None; 3]);
    }

    #[test]
    fn values_are_told_apart_to_the_hundredth() {
        assert_eq!(given(&[&[Some(12.344), Some(12.336), Some(99.999)]])[0], Some(12.34));
    }
}
