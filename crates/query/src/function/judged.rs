//! A site's judgements as functions, each applied once for each value that differs:
//!
//! - `policy_of(cluster, time)`: the number of the site policy that applies there at that time;
//! - `mask_reason(policy, machine)`: why a machine is left out; null if it is not;
//! - `is_institution_owned(policy, machine)`, `is_researcher_owned(policy, machine)`: by the site's
//!   lists;
//! - `slot_class(class)`: what the site calls one of our classes;
//! - `class_rank(class)`: its place among them, by the site's name;
//! - `device_of(device_name)`: a model's `name`, `family`, `tier`, `weight`, and whether it `hidden`;
//! - `gpu_weight(gpu_types)`: the weights of the models of a list such as `a100=2,h100=1` together;
//!   null if one of them has none;
//! - `memory_class(device_name, device_memory_mb)`: by what it has, or by what such a model has;
//! - `is_device(pattern, device_name)`: whether a model is one that is asked for, by any of its
//!   names or by its family.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringViewArray, StructArray,
};
use datafusion::arrow::datatypes::{
    DataType, Field, Fields, Int64Type, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::exec_datafusion_err;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

use super::gpus_of;
use crate::judgement::{self, Judgement, Pattern, SLOT_CLASSES};
use crate::policy::Policies;

pub(super) fn functions(policies: &Arc<Policies>) -> Vec<ScalarUDF> {
    let judgement = Arc::new(policies.newest().clone());
    let site = policies.clone();
    let mask_reason = of_machine("mask_reason", DataType::Utf8View, move |machines| {
        let reason = |(policy, machine)| site.numbered(policy).mask(machine);
        Arc::new(each(machines, reason).collect::<StringViewArray>())
    });
    let site = policies.clone();
    let is_institution_owned =
        of_machine("is_institution_owned", DataType::Boolean, move |machines| {
            let is_owned =
                |(policy, machine)| Some(site.numbered(policy).is_institution_owned(machine));
            Arc::new(each(machines, is_owned).collect::<BooleanArray>())
        });
    let site = policies.clone();
    let is_researcher_owned =
        of_machine("is_researcher_owned", DataType::Boolean, move |machines| {
            let is_owned =
                |(policy, machine)| Some(site.numbered(policy).is_researcher_owned(machine));
            Arc::new(each(machines, is_owned).collect::<BooleanArray>())
        });
    let site = judgement.clone();
    let slot_class = of_text("slot_class", DataType::Utf8View, move |classes| {
        let names = each(classes.iter(), |class| Some(site.class_name(class)));
        Arc::new(names.collect::<StringViewArray>())
    });
    let site = judgement.clone();
    let class_rank = of_text("class_rank", DataType::Int64, move |names| {
        let rank = |name: &str| {
            let place = SLOT_CLASSES.iter().position(|class| site.class_name(class) == name);
            place.map(|place| place as i64)
        };
        Arc::new(each(names.iter(), rank).collect::<Int64Array>())
    });
    let site = judgement.clone();
    let device_of = of_text("device_of", DataType::Struct(device_fields()), move |names| {
        device_of(&site, names)
    });
    let site = judgement.clone();
    let gpu_weight = of_text("gpu_weight", DataType::Float64, move |lists| {
        let weight = |(model, count): (&str, i64)| Some(site.device(model)?.weight? * count as f64);
        let together = |list: &str| gpus_of::models(list).map(weight).sum::<Option<f64>>();
        Arc::new(each(lists.iter(), together).collect::<Float64Array>())
    });
    let site = judgement.clone();
    let memory_class = create_udf(
        "memory_class",
        vec![DataType::Utf8View, DataType::Int64],
        DataType::Utf8View,
        Volatility::Immutable,
        Arc::new(move |arguments| {
            let arrays = ColumnarValue::values_to_arrays(arguments)?;
            let [names, memory] = &arrays[..] else {
                unreachable!("the signature has two arguments")
            };
            let pairs = names.as_string_view().iter().zip(memory.as_primitive::<Int64Type>());
            let pairs = pairs.map(|(name, memory)| Some((name.unwrap_or_default(), memory)));
            let classes = each(pairs, |(name, memory_mb)| {
                let listed = || Some((site.device(name)?.memory_gb? * 1024.0) as i64);
                memory_mb.or_else(listed).and_then(judgement::memory_class)
            });
            Ok(ColumnarValue::Array(Arc::new(classes.collect::<StringViewArray>())))
        }),
    );
    let site = judgement;
    let is_device = create_udf(
        "is_device",
        vec![DataType::Utf8View, DataType::Utf8View],
        DataType::Boolean,
        Volatility::Immutable,
        Arc::new(move |arguments| {
            let arrays = ColumnarValue::values_to_arrays(arguments)?;
            let [patterns, names] = &arrays[..] else {
                unreachable!("the signature has two arguments")
            };
            let mut read: HashMap<&str, Pattern> = HashMap::new();
            for written in patterns.as_string_view().iter().flatten() {
                if !read.contains_key(written) {
                    let pattern = Pattern::new(written)
                        .map_err(|error| exec_datafusion_err!("the pattern {written:?} {error}"))?;
                    read.insert(written, pattern);
                }
            }
            let pairs = patterns.as_string_view().iter().zip(names.as_string_view());
            let fits =
                each(pairs.map(|(pattern, name)| Some((pattern?, name?))), |(pattern, name)| {
                    let pattern = &read[pattern];
                    let device = site.device(name);
                    let short = device.and_then(|device| device.name.as_deref());
                    let family = device.map(|device| device.family.as_str());
                    Some(
                        [Some(name), short, family]
                            .into_iter()
                            .flatten()
                            .any(|one| pattern.matches(one)),
                    )
                });
            Ok(ColumnarValue::Array(Arc::new(fits.collect::<BooleanArray>())))
        }),
    );
    vec![
        policy_of(policies.clone()),
        mask_reason,
        is_institution_owned,
        is_researcher_owned,
        slot_class,
        class_rank,
        device_of,
        gpu_weight,
        memory_class,
        is_device,
    ]
}

fn policy_of(policies: Arc<Policies>) -> ScalarUDF {
    let moment = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    create_udf(
        "policy_of",
        vec![DataType::Utf8View, moment],
        DataType::Int64,
        Volatility::Immutable,
        Arc::new(move |arguments| {
            let arrays = ColumnarValue::values_to_arrays(arguments)?;
            let [clusters, times] = &arrays[..] else {
                unreachable!("the signature has two arguments")
            };
            let times = times.as_primitive::<TimestampMicrosecondType>();
            let numbers = clusters
                .as_string_view()
                .iter()
                .zip(times)
                .map(|(cluster, time)| Some(policies.number_at(cluster?, time?) as i64));
            Ok(ColumnarValue::Array(Arc::new(numbers.collect::<Int64Array>())))
        }),
    )
}

/// A function of the number of a policy and a machine; null where either is unknown.
fn of_machine(
    name: &'static str,
    gives: DataType,
    function: impl Fn(&mut dyn Iterator<Item = Option<(usize, &str)>>) -> ArrayRef
    + Send
    + Sync
    + 'static,
) -> ScalarUDF {
    create_udf(
        name,
        vec![DataType::Int64, DataType::Utf8View],
        gives,
        Volatility::Immutable,
        Arc::new(move |arguments| {
            let arrays = ColumnarValue::values_to_arrays(arguments)?;
            let [policies, machines] = &arrays[..] else {
                unreachable!("the signature has two arguments")
            };
            let policies = policies.as_primitive::<Int64Type>().iter();
            let mut pairs = policies
                .zip(machines.as_string_view())
                .map(|(policy, machine)| Some((usize::try_from(policy?).ok()?, machine?)));
            Ok(ColumnarValue::Array(function(&mut pairs)))
        }),
    )
}

/// A function of one text.
fn of_text(
    name: &'static str,
    gives: DataType,
    function: impl Fn(&StringViewArray) -> ArrayRef + Send + Sync + 'static,
) -> ScalarUDF {
    create_udf(
        name,
        vec![DataType::Utf8View],
        gives,
        Volatility::Immutable,
        Arc::new(move |arguments| {
            let arrays = ColumnarValue::values_to_arrays(arguments)?;
            let [texts] = &arrays[..] else { unreachable!("the signature has one argument") };
            Ok(ColumnarValue::Array(function(texts.as_string_view())))
        }),
    )
}

/// What a function gives for each value, asked once for those that are the same.
fn each<T: Copy + Eq + Hash, G: Copy>(
    values: impl Iterator<Item = Option<T>>,
    function: impl Fn(T) -> Option<G>,
) -> impl Iterator<Item = Option<G>> {
    let mut known: HashMap<T, Option<G>> = HashMap::new();
    let mut last = (None, None); // most rows say what the one before says
    values.map(move |value| {
        if last.0 != value {
            let given =
                value.and_then(|value| *known.entry(value).or_insert_with(|| function(value)));
            last = (value, given);
        }
        last.1
    })
}

fn device_fields() -> Fields {
    Fields::from(vec![
        Field::new("name", DataType::Utf8View, true),
        Field::new("family", DataType::Utf8View, true),
        Field::new("tier", DataType::Utf8View, true),
        Field::new("weight", DataType::Float64, true),
        Field::new("hidden", DataType::Boolean, true),
    ])
}

fn device_of(site: &Judgement, names: &StringViewArray) -> ArrayRef {
    #[derive(Clone, Copy)]
    struct Known<'a> {
        name: &'a str,
        family: &'a str,
        tier: Option<&'static str>,
        weight: Option<f64>,
        hidden: bool,
    }
    let known: Vec<Option<Known<'_>>> = each(names.iter(), |device_name| {
        let device = site.device(device_name);
        Some(Known {
            name: device.and_then(|device| device.name.as_deref()).unwrap_or(device_name),
            family: device.map_or(device_name, |device| &device.family),
            tier: device.and_then(|device| device.tier).map(|tier| tier.name()),
            weight: device.and_then(|device| device.weight),
            hidden: site.is_hidden(device_name),
        })
    })
    .collect();
    let texts = |text: for<'a> fn(&Known<'a>) -> Option<&'a str>| -> ArrayRef {
        Arc::new(known.iter().map(|known| text(known.as_ref()?)).collect::<StringViewArray>())
    };
    let columns = vec![
        texts(|known| Some(known.name)),
        texts(|known| Some(known.family)),
        texts(|known| known.tier),
        Arc::new(known.iter().map(|known| known.as_ref()?.weight).collect::<Float64Array>()),
        // What is not known to be hidden is shown.
        Arc::new(BooleanArray::from_iter(
            known.iter().map(|known| Some(known.as_ref().is_some_and(|known| known.hidden))),
        )),
    ];
    Arc::new(StructArray::new(device_fields(), columns, None))
}
