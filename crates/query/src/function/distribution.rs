//! `distribution(number, weight)`: an aggregate that says how numbers are spread: how many are
//! `known`, their `mean`, standard `deviation` and `weighted_mean`, the `lowest` and the `highest`, and the
//! `p25`, `median`, `p75`, `p90` and `p95`, to the hundredth and by nearest rank: the smallest that so many do not exceed.
//!
//! Values are counted, not kept: what it holds grows with how much they differ, not with how many
//! there are. Sums are of millionths. So the answer does not depend on the order in which values
//! come, and one pass gives all of it.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StructArray};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, Fields, Float64Type, Int64Type,
};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{HashMap, Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, AggregateUDF, Volatility, create_udaf};
use record::millionths;

pub(super) fn function() -> AggregateUDF {
    let list = DataType::new_list(DataType::Int64, true);
    let sum = DataType::Decimal128(PRECISION, 0);
    create_udaf(
        "distribution",
        vec![DataType::Float64, DataType::Float64],
        Arc::new(DataType::Struct(fields())),
        Volatility::Immutable,
        Arc::new(|_| Ok(Box::new(Distribution::default()))),
        Arc::new(vec![
            list.clone(),
            list,
            sum.clone(),
            sum.clone(),
            sum.clone(),
            DataType::Float64,
            DataType::Float64,
            sum,
        ]),
    )
}

const PRECISION: u8 = 38;

fn fields() -> Fields {
    let number = |name| Field::new(name, DataType::Float64, true);
    Fields::from(vec![
        Field::new("known", DataType::Int64, true),
        number("mean"),
        number("deviation"),
        number("weighted_mean"),
        number("lowest"),
        number("p25"),
        number("median"),
        number("p75"),
        number("p90"),
        number("p95"),
        number("highest"),
    ])
}

#[derive(Debug, Default)]
struct Distribution {
    counts: Counts,
    /// In millionths, as are the next two.
    sum: i128,
    weighted_sum: i128,
    weight: i128,
    /// In hundredths by hundredths.
    square_sum: i128,
    lowest: Option<f64>,
    highest: Option<f64>,
}

impl Accumulator for Distribution {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let numbers = values[0].as_primitive::<Float64Type>();
        let weights = values[1].as_primitive::<Float64Type>();
        for (number, weight) in numbers.iter().zip(weights) {
            let Some(number) = number.filter(|number| number.is_finite()) else { continue };
            let hundredths = (number * HUNDREDTHS_IN_ONE + 0.5_f64.copysign(number)) as i64;
            self.counts.add(hundredths, 1);
            self.square_sum += i128::from(hundredths).pow(2);
            self.sum += millionths(number);
            self.reach(Some(number), Some(number));
            if let Some(weight) = weight {
                self.weighted_sum += millionths(number * weight);
                self.weight += millionths(weight);
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
                self.counts.add(*value, *count);
            }
            let sum = |state: usize| states[state].as_primitive::<Decimal128Type>().value(row);
            self.sum += sum(2);
            self.weighted_sum += sum(3);
            self.weight += sum(4);
            let bound = |state: usize| {
                let bounds = states[state].as_primitive::<Float64Type>();
                bounds.is_valid(row).then(|| bounds.value(row))
            };
            self.reach(bound(5), bound(6));
            self.square_sum += sum(7);
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (values, counts): (Vec<i64>, Vec<i64>) = self.counts.sorted().into_iter().unzip();
        let list = |numbers: Vec<i64>| {
            SingleRowListArrayBuilder::new(Arc::new(Int64Array::from(numbers))).build_list_scalar()
        };
        let sum = |millionths| ScalarValue::Decimal128(Some(millionths), PRECISION, 0);
        Ok(vec![
            list(values),
            list(counts),
            sum(self.sum),
            sum(self.weighted_sum),
            sum(self.weight),
            ScalarValue::Float64(self.lowest),
            ScalarValue::Float64(self.highest),
            sum(self.square_sum),
        ])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let counted = self.counts.sorted();
        let known: i64 = counted.iter().map(|(_, count)| count).sum();
        let ratio = |sum: i128, of: f64| (of > 0.0).then(|| sum as f64 / of);
        let percentile =
            |share| Some(nearest_rank(&counted, known, share)? as f64 / HUNDREDTHS_IN_ONE);
        let number = |number: Option<f64>| Arc::new(Float64Array::from(vec![number])) as ArrayRef;
        let given = vec![
            Arc::new(Int64Array::from(vec![known])) as ArrayRef,
            number(ratio(self.sum, known as f64 * MILLIONTHS_IN_ONE)),
            number(self.deviation(&counted, known)),
            number(ratio(self.weighted_sum, self.weight as f64)),
            number(self.lowest),
            number(percentile(25)),
            number(percentile(50)),
            number(percentile(75)),
            number(percentile(90)),
            number(percentile(95)),
            number(self.highest),
        ];
        Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(fields(), given, None)?)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.size()
    }
}

impl Distribution {
    /// That of a sample, to the hundredth; unknown of a single value.
    fn deviation(&self, counted: &[(i64, i64)], known: i64) -> Option<f64> {
        let sum: i128 = counted.iter().map(|(value, count)| i128::from(value * count)).sum();
        let squares = self.square_sum * i128::from(known) - sum.pow(2);
        let variance = squares as f64 / (known as f64 * (known - 1) as f64);
        (known > 1).then(|| variance.sqrt() / HUNDREDTHS_IN_ONE)
    }

    fn reach(&mut self, lowest: Option<f64>, highest: Option<f64>) {
        if let Some(number) = lowest {
            self.lowest = Some(self.lowest.map_or(number, |lowest| lowest.min(number)));
        }
        if let Some(number) = highest {
            self.highest = Some(self.highest.map_or(number, |highest| highest.max(number)));
        }
    }
}

const HUNDREDTHS_IN_ONE: f64 = 100.0;
const MILLIONTHS_IN_ONE: f64 = 1e6;

/// The smallest of the values that `share` hundredths of all `known` do not exceed.
fn nearest_rank(counted: &[(i64, i64)], known: i64, share: i64) -> Option<i64> {
    let mut not_above = 0;
    for (value, count) in counted {
        not_above += count;
        if not_above * 100 >= known * share {
            return Some(*value);
        }
    }
    None
}

/// How often each value came, by the value in hundredths.
#[derive(Debug, Default)]
struct Counts {
    /// Of those up to a hundred, such as percentages: a place each, once there is one.
    small: Vec<i64>,
    other: HashMap<i64, i64>,
}

impl Counts {
    const SMALL: usize = 10_001;

    fn add(&mut self, value: i64, count: i64) {
        match usize::try_from(value) {
            Ok(place) if place < Counts::SMALL => {
                if self.small.is_empty() {
                    self.small.resize(Counts::SMALL, 0);
                }
                self.small[place] += count;
            }
            _ => *self.other.entry(value).or_default() += count,
        }
    }

    /// The values that came, from the smallest on, each with how often it did.
    fn sorted(&self) -> Vec<(i64, i64)> {
        let small = self.small.iter().enumerate().map(|(place, count)| (place as i64, *count));
        let mut counted: Vec<(i64, i64)> = small.filter(|(_, count)| *count > 0).collect();
        counted.extend(self.other.iter().map(|(value, count)| (*value, *count)));
        counted.sort_unstable();
        counted
    }

    fn size(&self) -> usize {
        self.small.capacity() * size_of::<i64>() + self.other.capacity() * size_of::<(i64, i64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of batches that come to different threads, by name.
    fn given(batches: &[&[(Option<f64>, Option<f64>)]]) -> HashMap<String, Option<f64>> {
        let mut whole = Distribution::default();
        for batch in batches {
            let mut part = Distribution::default();
            let (numbers, weights): (Vec<_>, Vec<_>) = batch.iter().copied().unzip();
            let columns: [ArrayRef; 2] =
                [Arc::new(Float64Array::from(numbers)), Arc::new(Float64Array::from(weights))];
            part.update_batch(&columns).unwrap();
            let states: Vec<ArrayRef> =
                part.state().unwrap().iter().map(|state| state.to_array().unwrap()).collect();
            whole.merge_batch(&states).unwrap();
        }
        let ScalarValue::Struct(given) = whole.evaluate().unwrap() else {
            unreachable!("a distribution is a struct")
        };
        let names = fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let number = |column: &ArrayRef| match column.as_primitive_opt::<Int64Type>() {
            Some(column) => Some(column.value(0) as f64),
            None => column.as_primitive::<Float64Type>().iter().next().flatten(),
        };
        names.into_iter().zip(given.columns().iter().map(number)).collect()
    }

    fn check(batches: &[&[(Option<f64>, Option<f64>)]], expected: &[(&str, Option<f64>)]) {
        let given = given(batches);
        for (name, number) in expected {
            assert_eq!(given[*name], *number, "{name} of {given:?}");
        }
    }

    /// Of the twenty numbers 10 to 200, ten do not exceed 100, eighteen 180 and nineteen 190. By
    /// their tens they weigh 1 to 20: 10 × (1² + … + 20²) / (1 + … + 20) = 28,700 / 210.
    #[test]
    fn the_order_and_the_batches_do_not_matter() {
        let mut numbers: Vec<_> =
            (1..=20).map(|tens| (Some(10.0 * f64::from(tens)), Some(f64::from(tens)))).collect();
        let expected = [
            ("known", Some(20.0)),
            ("mean", Some(105.0)),
            // 10² × (20² - 1) / 12, of a sample 20 / 19 of that
            ("deviation", Some(3500.0_f64.sqrt())),
            ("p25", Some(50.0)),
            ("p75", Some(150.0)),
            ("weighted_mean", Some(28_700.0 / 210.0)),
            ("lowest", Some(10.0)),
            ("median", Some(100.0)),
            ("p90", Some(180.0)),
            ("p95", Some(190.0)),
            ("highest", Some(200.0)),
        ];
        check(&[&numbers], &expected);
        numbers.reverse();
        let (one, other) = numbers.split_at(7);
        check(&[other, &[], one], &expected);
    }

    #[test]
    fn unknown_values_do_not_count_and_of_none_nothing_is_known() {
        let numbers = [(None, Some(9.0)), (Some(3.0), None), (Some(f64::NAN), Some(1.0))];
        check(
            &[&numbers],
            &[
                ("known", Some(1.0)),
                ("mean", Some(3.0)),
                ("weighted_mean", None),
                ("p95", Some(3.0)),
            ],
        );
        for nothing in [&[(None, None)][..], &[]] {
            check(&[nothing], &[("known", Some(0.0)), ("mean", None), ("median", None)]);
            check(&[nothing], &[("lowest", None), ("highest", None), ("weighted_mean", None)]);
        }
    }

    #[test]
    fn percentiles_are_to_the_hundredth_and_bounds_exact() {
        let numbers = [-0.004, 12.344, 12.336, 99.999].map(|number| (Some(number), Some(1.0)));
        check(&[&numbers], &[("lowest", Some(-0.004)), ("median", Some(12.34))]);
        check(&[&numbers], &[("p95", Some(100.0)), ("highest", Some(99.999))]);
    }
}
