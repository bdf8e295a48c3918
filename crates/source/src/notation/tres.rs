//! Trackable resources, as SLURM lists them: `billing=4,cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=4000M`.
//!
//! `sacct` sorts the list by name and `scontrol` does not; it is read as a set.

use record::Text;

use super::size::{self, Bare};
use super::whole::number as count;

/// What of a list is of interest here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Resources {
    pub(crate) memory_mb: Option<f64>,
    /// Unknown where the list is empty, 0 where it names other things only.
    pub(crate) gpus: Option<i64>,
    /// The GPUs by model, sorted: `a100=2,h100=1`.
    pub(crate) gpu_types: Option<Text>,
}

/// Reads a list of what was asked for, allocated or configured.
pub(crate) fn resources(list: &[u8]) -> Option<Resources> {
    let mut resources = Resources::default();
    if list.is_empty() {
        return Some(resources);
    }
    let mut total = None;
    let mut types = Vec::new();
    for item in items(list) {
        let (name, value) = item?;
        if name == b"mem" {
            resources.memory_mb = Some(size::mebibytes(value, Bare::Mebibytes)?);
        } else if name == b"gres/gpu" {
            total = Some(count(value)?);
        } else if let Some(model) = name.strip_prefix(b"gres/gpu:") {
            types.push((std::str::from_utf8(model).ok()?, count(value)?));
        }
    }
    resources.gpu_types = by_model(&mut types);
    // `gres/gpu` includes the models; many sites have it alone, and some have models alone.
    let sum = || types.iter().try_fold(0, |sum: i64, (_, count)| sum.checked_add(*count));
    resources.gpus = Some(match total {
        Some(total) => total,
        None => sum()?,
    });
    Some(resources)
}

/// The values of some resources in a list, found in one pass.
pub(crate) fn values<'a, const N: usize>(
    list: &'a [u8],
    wanted: [&[u8]; N],
) -> [Option<&'a [u8]>; N] {
    let mut values = [None; N];
    for (name, value) in items(list).flatten() {
        if let Some(place) = wanted.iter().position(|wanted| *wanted == name) {
            values[place].get_or_insert(value);
        }
    }
    values
}

/// Counts by model in their one spelling, `a100=2,h100=1`; none is unknown.
pub(crate) fn by_model(types: &mut [(&str, i64)]) -> Option<Text> {
    types.sort_unstable();
    let mut text = String::new();
    for (model, count) in types {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&format!("{model}={count}"));
    }
    (!text.is_empty()).then(|| text.into())
}

fn items(list: &[u8]) -> impl Iterator<Item = Option<(&[u8], &[u8])>> {
    list.split(|&byte| byte == b',').map(|item| {
        let equals = item.iter().position(|&byte| byte == b'=')?;
        Some((&item[..equals], &item[equals + 1..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &str, memory_mb: Option<f64>, gpus: Option<i64>, gpu_types: Option<&str>) {
        let expected = Resources { memory_mb, gpus, gpu_types: gpu_types.map(Text::from) };
        assert_eq!(resources(list.as_bytes()), Some(expected), "{list}");
    }

    #[test]
    fn the_total_of_gpus_includes_the_models() {
        check(
            "billing=4,cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=4000M,node=1",
            Some(4000.0),
            Some(2),
            Some("a100=2"),
        );
        check(
            "cpu=16,mem=62.50G,gres/gpu=2,gres/gpu:h100=1,gres/gpu:a100=1",
            Some(64_000.0),
            Some(2),
            Some("a100=1,h100=1"),
        );
    }

    #[test]
    fn models_alone_are_added() {
        check(
            "gres/gpu:v100=2,gres/gpu:a100_3g.20gb=3",
            None,
            Some(5),
            Some("a100_3g.20gb=3,v100=2"),
        );
    }

    #[test]
    fn a_total_alone_has_no_models() {
        check("cpu=1,gres/gpu=2,gres/gpumem=8G,gres/shard=4", None, Some(2), None);
    }

    #[test]
    fn a_list_without_gpus_is_none_of_them_and_an_empty_one_unknown() {
        check("billing=1,cpu=1,mem=500M,node=1", Some(500.0), Some(0), None);
        check("", None, None, None);
    }

    #[test]
    fn what_is_no_list_is_none() {
        for list in ["cpu", "cpu=1,", "mem=x", "gres/gpu=two", "gres/gpu:a100=-1"] {
            assert_eq!(resources(list.as_bytes()), None, "{list}");
        }
    }

    #[test]
    fn values_are_found_by_their_names() {
        let usage = b"cpu=00:00:03,energy=0,gres/gpumem=1024,gres/gpuutil=57,mem=59940864";
        let found = values(usage, [b"mem", b"gpuutil", b"gres/gpuutil"]);
        assert_eq!(found, [Some(&b"59940864"[..]), None, Some(&b"57"[..])]);
    }
}
