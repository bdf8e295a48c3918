//! Which models of GPU are in use on which node, by `scontrol --details show node`.

/// The GPUs of one node by model, each with how many of it are in use.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuModel {
    /// None where the site does not name models.
    pub model: Option<String>,
    pub gpus: i64,
    /// Unknown where the command was not asked for details.
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
    let mut models: Vec<GpuModel> = value("Gres")
        .map(gpus)
        .unwrap_or_default()
        .into_iter()
        .map(|(model, gpus)| GpuModel { model, gpus, used: None })
        .collect();
    if let Some(used) = value("GresUsed") {
        let used = gpus(used);
        for entry in &mut models {
            let of_model = |(model, _): &&(Option<String>, i64)| *model == entry.model;
            entry.used = Some(used.iter().find(of_model).map_or(0, |(_, count)| *count));
        }
    }
    Some((name, models))
}

/// The models in `gpu:a100:4(S:0-1),gpu:v100:2,tpu:1`, equal ones together.
fn gpus(list: &str) -> Vec<(Option<String>, i64)> {
    let mut found: Vec<(Option<String>, i64)> = Vec::new();
    let mut depth = 0;
    // A comma inside brackets lists sockets or indexes.
    let items = list.split(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    });
    for item in items {
        let Some(item) = item.strip_prefix("gpu:") else { continue };
        let item = item.split('(').next().unwrap_or(item);
        let (model, digits) = match item.rsplit_once(':') {
            Some((model, digits)) => (Some(model.to_owned()), digits),
            None => (None, item),
        };
        let Ok(count) = digits.parse::<i64>() else { continue };
        match found.iter_mut().find(|(known, _)| *known == model) {
            Some((_, sum)) => *sum += count,
            None => found.push((model, count)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
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
    fn a_recording_is_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
        let text = std::fs::read_to_string(format!("{folder}scontrol-show-node-detail.txt"));
        let nodes = gpu_models(&text.unwrap());
        let gpu01 = &nodes.iter().find(|(node, _)| node == "gpu01").unwrap().1;
        let a100 = GpuModel { model: Some("a100".to_owned()), gpus: 4, used: Some(2) };
        assert_eq!(*gpu01, [a100]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(NodeName=[a-z]{0,2} Gres=[gpu:,0-9()]{0,20} GresUsed=[gpu:,0-9()IDX-]{0,20}\n|.{0,20}\n){0,4}") {
            gpu_models(&text);
        }
    }
}
