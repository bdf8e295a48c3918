//! Which models of GPU are in use on which node, by `scontrol --details show node`.

use super::gpu_state::gpus;

/// The GPUs of one node by model, each with how many of it are in use.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuModel {
    /// None where the site does not name models.
    pub model: Option<String>,
    pub gpus: i64,
    /// None if the output has no details, or they cannot be read.
    pub used: Option<i64>,
}

/// The GPUs of each node in what [`scontrol_show_node`](super::scontrol_show_node) printed.
/// A line that is no node is passed over: [`ScontrolNode`](super::ScontrolNode) sets it aside.
pub fn gpu_models(text: &str) -> Vec<(String, Vec<GpuModel>)> {
    text.lines().filter_map(node).collect()
}

fn node(line: &str) -> Option<(String, Vec<GpuModel>)> {
    // A reason may look like anything, and stands last.
    let line = line.split(" Reason=").next()?;
    let value =
        |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let name = value("NodeName")?.to_owned();
    let used = value("GresUsed").and_then(by_model);
    let models = value("Gres").and_then(by_model).unwrap_or_default();
    let models = models.into_iter().map(|(model, gpus)| {
        let of_model = |(other, _): &&(Option<String>, i64)| *other == model;
        let used =
            used.as_ref().map(|used| used.iter().find(of_model).map_or(0, |(_, used)| *used));
        GpuModel { model, gpus, used }
    });
    Some((name, models.collect()))
}

/// The models in `gpu:a100:4(S:0-1),gpu:v100:2,tpu:1`, equal ones together. None if one of them cannot
/// be read.
fn by_model(list: &str) -> Option<Vec<(Option<String>, i64)>> {
    let mut found: Vec<(Option<String>, i64)> = Vec::new();
    for gpus in gpus(list)? {
        let model = gpus.model.map(|model| model.as_str().to_owned());
        let count = i64::try_from(gpus.count).ok()?;
        match found.iter_mut().find(|(known, _)| *known == model) {
            Some((_, sum)) => *sum += count,
            None => found.push((model, count)),
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn check(gres: &str, used: &str, expected: &str) {
        let text = format!("NodeName=a Gres={gres} GresUsed={used} State=IDLE Reason=x Gres=gpu:9");
        let nodes = gpu_models(&text);
        let shown: Vec<String> = nodes[0]
            .1
            .iter()
            .map(|entry| {
                format!("{} {:?}/{}", entry.model.as_deref().unwrap_or("-"), entry.used, entry.gpus)
            })
            .collect();
        assert_eq!(shown.join(", "), expected, "{gres} {used}");
    }

    #[test]
    fn models_are_told_apart() {
        check("(null)", "gpu:0", "");
        check("gpu:8", "gpu:3(IDX:0,2,5)", "- Some(3)/8");
        check("gpu:a100:4(S:0-1)", "gpu:a100:2(IDX:0-1)", "a100 Some(2)/4");
        check("gpu:a100:1,gpu:h100:1", "gpu:h100:1(IDX:1)", "a100 Some(0)/1, h100 Some(1)/1");
        check("gpu:a100_3g.20gb:2,gpu:a100_3g.20gb:1,tpu:4", "gpu:0", "a100_3g.20gb Some(0)/3");
    }

    #[test]
    fn without_details_use_is_not_known() {
        let nodes = gpu_models("NodeName=a Gres=gpu:2 State=IDLE\nno node\n");
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].1[0].used, None);
    }

    #[test]
    fn a_count_that_cannot_be_read_is_not_zero() {
        check("gpu:2", "gpu:-3", "- None/2");
        check("gpu:2", "gpu:many", "- None/2");
        check("gpu:a100:9223372036854775807,gpu:a100:1", "gpu:0", "");
    }

    #[test]
    fn a_recording_is_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
        let text = std::fs::read_to_string(format!("{folder}scontrol-show-node-detail.txt"));
        let nodes = gpu_models(&text.unwrap());
        let gpu01 = &nodes.iter().find(|(node, _)| node == "gpu01").unwrap().1;
        let a100 = GpuModel { model: Some("a100".to_owned()), gpus: 4, used: Some(2) };
        assert_eq!(*gpu01, [a100]);
    }

    /// A list of GRES, with the GPUs of each model in it.
    fn any_list() -> impl Strategy<Value = (String, BTreeMap<Option<String>, i64>)> {
        let model = prop::option::of("[a-c]|1g\\.5gb");
        let item = (model, 0..9_i64, prop::sample::select(vec!["", "(S:0-1)", "(IDX:0,2-3)"]));
        prop::collection::vec(item, 0..5).prop_map(|items| {
            let mut counts = BTreeMap::new();
            let mut words = vec!["tpu:2".to_owned()];
            for (model, count, bracket) in items {
                let name = model.as_ref().map(|model| format!("{model}:")).unwrap_or_default();
                words.push(format!("gpu:{name}{count}{bracket}"));
                *counts.entry(model).or_default() += count;
            }
            (words.join(","), counts)
        })
    }

    proptest! {
        #[test]
        fn every_gpu_that_is_listed_is_counted_once(
            (gres, installed) in any_list(),
            (gres_used, used) in any_list(),
        ) {
            let mut nodes = gpu_models(&format!("NodeName=a Gres={gres} GresUsed={gres_used}"));
            nodes[0].1.sort_by(|one, other| one.model.cmp(&other.model));
            let expected: Vec<GpuModel> = installed
                .into_iter()
                .map(|(model, gpus)| {
                    let used = Some(used.get(&model).copied().unwrap_or(0));
                    GpuModel { model, gpus, used }
                })
                .collect();
            prop_assert_eq!(nodes, [("a".to_owned(), expected)]);
        }

        #[test]
        fn every_line_with_a_name_is_a_node_and_no_count_is_negative(
            lines in prop::collection::vec(
                "NodeName=[a-z]{0,2} Gres=[gpu:,0-9()]{0,20} GresUsed=[gpu:,0-9()IDX-]{0,20}|[^=\n\r]{0,20}",
                0..5,
            ),
        ) {
            let nodes = gpu_models(&lines.join("\n"));
            let named: Vec<&str> = lines
                .iter()
                .filter_map(|line| line.strip_prefix("NodeName=")?.split(' ').next())
                .collect();
            prop_assert_eq!(nodes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), named);
            for model in nodes.iter().flat_map(|(_, models)| models) {
                prop_assert!(model.gpus >= 0 && model.used.is_none_or(|used| used >= 0), "{model:?}");
            }
        }
    }
}
