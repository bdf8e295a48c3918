//! Which GPUs a picture shows.

use anyhow::{Result, bail};

use super::seen::{Gpu, Seen};
use crate::gpu_id::GpuFilter;
use crate::judgement::Pattern;
use crate::{Question, nearest};

/// Which GPUs to show; whatever is not said is no limit. All that is said must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Ids, what they begin with, or patterns, with or without `GPU-`; any of them.
    pub gpus: Vec<String>,
    /// Machines, with or without their domain; any of them.
    pub hosts: Vec<String>,
    /// A regular expression that is looked for in the machine's name.
    pub host_pattern: Option<Pattern>,
    /// A pattern of the model's name, or a part of it.
    pub model: Option<String>,
    /// A class of slots or of machines.
    pub class: Option<String>,
}

impl Selection {
    pub(super) fn apply(&self, seen: &mut Seen, question: &Question) -> Result<()> {
        if seen.gpus.is_empty() {
            let zone = &question.period.zone;
            let moment = |time: jiff::Timestamp| {
                time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
            };
            bail!(
                "nothing is known of any GPU from {} to {}",
                moment(question.period.start),
                moment(question.period.end)
            );
        }
        let mut ids = Vec::new();
        for wanted in &self.gpus {
            let filter = GpuFilter::new(wanted)
                .map_err(|wrong| anyhow::anyhow!("--gpu {wanted:?} {wrong}"))?;
            let known = || seen.gpus.iter().map(|gpu| gpu.id.as_str());
            check("GPU", wanted, known(), |gpu| filter.matches(&gpu.id), &seen.gpus)?;
            ids.push(filter);
        }
        for host in &self.hosts {
            let machines = || seen.gpus.iter().map(|gpu| gpu.machine.as_str());
            check("machine", host, machines(), |gpu| is_host(&gpu.machine, host), &seen.gpus)?;
        }
        if let Some(class) = &self.class {
            let classes =
                || seen.gpus.iter().flat_map(|gpu| gpu.classes.iter().map(String::as_str));
            check("class", class, classes(), |gpu| is_in_class(gpu, class), &seen.gpus)?;
        }
        if let Some(model) = &self.model {
            let pattern = model_pattern(model)?;
            let devices = || seen.gpus.iter().map(|gpu| gpu.device.as_str());
            check("model", model, devices(), |gpu| pattern.matches(&gpu.device), &seen.gpus)?;
        }
        let model = self.model.as_deref().map(model_pattern).transpose()?;
        let is_selected = |gpu: &Gpu| {
            (ids.is_empty() || ids.iter().any(|filter| filter.matches(&gpu.id)))
                && (self.hosts.is_empty()
                    || self.hosts.iter().any(|host| is_host(&gpu.machine, host)))
                && self.host_pattern.as_ref().is_none_or(|pattern| pattern.matches(&gpu.machine))
                && model.as_ref().is_none_or(|model| model.matches(&gpu.device))
                && self.class.as_ref().is_none_or(|class| is_in_class(gpu, class))
        };
        if !seen.gpus.iter().any(is_selected) {
            if let (Some(pattern), true) = (&self.host_pattern, self.is_only_pattern()) {
                bail!(
                    "no machine fits {}; there are {}",
                    pattern.written(),
                    some(seen.gpus.iter().map(|gpu| gpu.machine.as_str()))
                );
            }
            bail!("no GPU is all that is asked for; --list shows those that are part of it");
        }
        seen.retain(is_selected);
        Ok(())
    }

    /// Returns a title with the filters that a picture is limited by, such as `GPUs in use: host a`.
    pub(super) fn titled(&self, title: &str, clusters: &[String]) -> String {
        let listed = |what: &str, names: &[String]| {
            (!names.is_empty()).then(|| format!("{what} {}", names.join(" or ")))
        };
        let filters = [
            listed("cluster", clusters),
            listed("host", &self.hosts),
            self.host_pattern.as_ref().map(|pattern| format!("host {}", pattern.written())),
            listed("GPU", &self.gpus),
            self.model.as_ref().map(|model| format!("model {model}")),
            self.class.as_ref().map(|class| format!("class {class}")),
        ];
        let filters: Vec<String> = filters.into_iter().flatten().collect();
        if filters.is_empty() {
            title.to_owned()
        } else {
            format!("{}: {}", title.trim_end_matches('?'), filters.join(", "))
        }
    }

    fn is_only_pattern(&self) -> bool {
        self.gpus.is_empty()
            && self.hosts.is_empty()
            && self.model.is_none()
            && self.class.is_none()
    }
}

/// Returns whether an id is asked for by `--gpu`: by itself, by its beginning, or by a pattern.
pub fn is_gpu(wanted: &str, id: &str) -> bool {
    GpuFilter::new(wanted).is_ok_and(|filter| filter.matches(id))
}

/// Refuses a name that nothing has, and says which was probably meant, or what there is.
fn check<'a>(
    what: &str,
    wanted: &str,
    names: impl Iterator<Item = &'a str> + Clone,
    fits: impl Fn(&Gpu) -> bool,
    gpus: &[Gpu],
) -> Result<()> {
    if gpus.iter().any(fits) {
        return Ok(());
    }
    match nearest(wanted, names.clone()) {
        Some(near) => bail!("there is no {what} {wanted:?} in this period; did you mean {near:?}?"),
        None => bail!("there is no {what} {wanted:?} in this period; there are {}", some(names)),
    }
}

/// The first few of some names.
fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 10;
    let mut names: Vec<&str> = names.collect();
    names.sort_by(|one, other| super::heatmap::natural(one, other));
    names.dedup();
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let list = names.join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

/// Whether a machine is the one that is selected, with or without its domain.
pub(crate) fn is_host(machine: &str, wanted: &str) -> bool {
    let host = machine.split('.').next().unwrap_or_default();
    machine.eq_ignore_ascii_case(wanted) || host.eq_ignore_ascii_case(wanted)
}

fn is_in_class(gpu: &Gpu, wanted: &str) -> bool {
    gpu.classes.iter().any(|class| class.eq_ignore_ascii_case(wanted))
}

/// The pattern of machines in whose name a regular expression is found.
pub(crate) fn host_pattern(expression: &str) -> Result<Pattern> {
    Pattern::new(&format!("/{expression}/"))
        .map_err(|wrong| anyhow::anyhow!("host-pattern {expression:?} {wrong}"))
}

/// A model is found by a pattern with `*`, by a regular expression between slashes, or by a part
/// of its name.
pub(crate) fn model_pattern(model: &str) -> Result<Pattern> {
    let is_pattern = model.contains(['*', '?']) || model.starts_with('/');
    let written = if is_pattern { model.to_owned() } else { format!("*{model}*") };
    Pattern::new(&written).map_err(|wrong| anyhow::anyhow!("--model {model:?} {wrong}"))
}

#[cfg(test)]
mod tests {
    use report::Period;

    use super::super::seen::tests::seen;
    use super::*;

    fn check_selection(selection: &Selection, expected: &str) {
        let mut seen = seen("a1 0 1 idle -\n a2 0 1 idle -\n a10 0 1 idle -\n b1 0 1 claimed ann");
        seen.gpus[2].id = "GPU-0aFb12".into();
        seen.gpus[3].machine = "b.example.org".into();
        seen.gpus[3].classes = vec!["prioritized".into()];
        let period = Period {
            start: jiff::Timestamp::UNIX_EPOCH,
            end: jiff::Timestamp::from_second(3600).unwrap(),
            zone: jiff::tz::TimeZone::UTC,
        };
        let shown = match selection.apply(&mut seen, &Question::about(period)) {
            Ok(()) => seen.gpus.iter().map(|gpu| gpu.id.as_str()).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected);
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn nothing_said_is_everything() {
        check_selection(&Selection::default(), "a1 a2 GPU-0aFb12 b1");
    }

    #[test]
    fn a_gpu_is_found_by_any_spelling_and_by_its_beginning() {
        for wanted in ["GPU-0aFb12", "0afb", "gpu-0AF", "GPU_0afb12"] {
            check_selection(
                &Selection { gpus: texts(&[wanted]), ..Selection::default() },
                "GPU-0aFb12",
            );
        }
        let two = Selection { gpus: texts(&["a1", "0a"]), ..Selection::default() };
        check_selection(&two, "a1 GPU-0aFb12");
    }

    #[test]
    fn gpus_are_found_by_patterns_of_ids() {
        for (wanted, expected) in [
            ("a?", "a1 a2"),
            ("GPU-0a*", "GPU-0aFb12"),
            ("0A*", "GPU-0aFb12"),
            ("/^[ab]1$/", "a1 b1"),
        ] {
            check_selection(
                &Selection { gpus: texts(&[wanted]), ..Selection::default() },
                expected,
            );
        }
        check_selection(
            &Selection { gpus: texts(&["nothing*"]), ..Selection::default() },
            "there is no GPU \"nothing*\" in this period; there are GPU-0aFb12, a1, a2, b1",
        );
    }

    #[test]
    fn a_title_names_what_the_picture_is_limited_to() {
        let selection = Selection {
            gpus: texts(&["0a*"]),
            hosts: texts(&["a", "b"]),
            host_pattern: Some(Pattern::new("/^a/").unwrap()),
            model: Some("h200".into()),
            class: Some("Shared".into()),
        };
        assert_eq!(
            selection.titled("What GPUs did", &texts(&["birch"])),
            "What GPUs did: cluster birch, host a or b, host /^a/, GPU 0a*, model h200, class Shared"
        );
        assert_eq!(Selection::default().titled("What GPUs did", &[]), "What GPUs did");
        assert_eq!(
            Selection::default().titled("How many?", &texts(&["birch"])),
            "How many: cluster birch"
        );
    }

    #[test]
    fn a_machine_is_found_with_and_without_its_domain() {
        for host in ["b", "B.example.org"] {
            check_selection(&Selection { hosts: texts(&[host]), ..Selection::default() }, "b1");
        }
        let host_pattern = Some(Pattern::new("/^a|nothing/").unwrap());
        check_selection(&Selection { host_pattern, ..Selection::default() }, "a1 a2 GPU-0aFb12");
    }

    #[test]
    fn a_model_is_found_by_a_part_or_a_pattern() {
        for model in ["h2", "H200", "*200", "/^h2.0$/"] {
            check_selection(&Selection { model: Some(model.into()), ..Selection::default() }, "b1");
        }
    }

    #[test]
    fn all_that_is_said_must_hold() {
        let both =
            Selection { hosts: texts(&["a"]), gpus: texts(&["a2", "b1"]), ..Selection::default() };
        check_selection(&both, "a2");
        let none =
            Selection { hosts: texts(&["a"]), model: Some("H200".into()), ..Selection::default() };
        check_selection(
            &none,
            "no GPU is all that is asked for; --list shows those that are part of it",
        );
    }

    #[test]
    fn what_is_not_there_is_answered_with_what_is() {
        check_selection(
            &Selection { hosts: texts(&["c"]), ..Selection::default() },
            "there is no machine \"c\" in this period; there are a, b.example.org",
        );
        check_selection(
            &Selection { class: Some("Share".into()), ..Selection::default() },
            "there is no class \"Share\" in this period; did you mean \"Shared\"?",
        );
        let host_pattern = Some(Pattern::new("/^z/").unwrap());
        check_selection(
            &Selection { host_pattern, ..Selection::default() },
            "no machine fits /^z/; there are a, b.example.org",
        );
    }
}
