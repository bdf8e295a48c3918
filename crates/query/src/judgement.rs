//! What a site says of its GPUs that no scheduler says: whose hardware it is, what to leave out
//! and why, what the models are called and worth. Terms apply it, through functions. The lake stores
//! it with the time from which it applies ([`crate::policy`]).

use std::fmt;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

/// A site's judgements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Machines that the institution itself owns.
    pub institution_owned: Vec<Pattern>,
    /// Machines that researchers own, where the scheduler does not say so itself.
    pub researcher_owned: Vec<Pattern>,
    /// What the site calls some classes of slots: ours, and its own.
    pub class_names: Vec<(String, String)>,
    /// Machines to leave out, each with the reason. The first that fits counts.
    pub masks: Vec<(Pattern, String)>,
    /// Models. The first that fits counts; the site's come before ours.
    pub devices: Vec<Device>,
    /// Families of models to leave out, whatever the case of their letters.
    pub hidden_families: Vec<String>,
    /// Where jobs run that may be preempted, in clusters that have no slots for it.
    pub preemptible: Vec<Preemptible>,
}

/// What of a SLURM cluster is backfill: jobs in these partitions or with this quality of service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preemptible {
    pub cluster: String,
    pub partitions: Vec<String>,
    pub qos: Vec<String>,
}

/// The classes of slots by our names, in the order in which reports list them. An interactive
/// slot on a machine that nobody comes first on is in none of the site's classes, and is listed
/// so that the classes add up to all GPUs.
pub const SLOT_CLASSES: [&str; 7] = [
    "Priority-ResearcherOwned",
    "Priority-CHTCOwned",
    "Shared",
    "Interactive",
    "Backfill-ResearcherOwned",
    "Backfill-CHTCOwned",
    "Backfill-OpenCapacity",
];

/// A model, or several that are spoken of as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Any of which fits the whole name; `_` in a name is as good as a blank, for SLURM's types.
    pub patterns: Vec<Pattern>,
    /// What reports call it; without one, as it calls itself.
    pub name: Option<String>,
    /// Models of one kind.
    pub family: String,
    pub tier: Option<Tier>,
    /// How much one is worth, such as in reference GPU units (RGU).
    pub weight: Option<f64>,
    /// Where the scheduler does not say how much memory it has.
    pub memory_gb: Option<f64>,
    /// Whether reports leave it out.
    pub hidden: bool,
}

/// How sought after a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tier {
    Flagship,
    Standard,
}

impl Tier {
    pub const ALL: [Tier; 2] = [Tier::Flagship, Tier::Standard];

    pub fn name(self) -> &'static str {
        match self {
            Tier::Flagship => "flagship",
            Tier::Standard => "standard",
        }
    }
}

/// A pattern of names, whatever the case of their letters: of whole names, in which `*` stands for
/// any letters and `?` for one, or between slashes a regular expression that is looked for.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    written: String,
    /// None for a name that stands for itself alone: nothing needs to be made to compare it.
    regex: Option<Regex>,
}

impl Pattern {
    /// Reads a pattern; the error says what is wrong with it.
    pub fn new(written: &str) -> Result<Pattern, String> {
        if written.is_empty() {
            return Err("is empty".to_owned());
        }
        let expression = match written.strip_prefix('/').map(|rest| rest.strip_suffix('/')) {
            Some(Some(expression)) => expression.to_owned(),
            Some(None) => {
                return Err("begins as a regular expression and lacks the slash at its end".into());
            }
            None if written.is_ascii() && !written.contains(['*', '?']) => {
                return Ok(Pattern { written: written.to_owned(), regex: None });
            }
            None => {
                let letters = written.chars().map(|letter| match letter {
                    '*' => ".*".to_owned(),
                    '?' => ".".to_owned(),
                    letter => regex::escape(&letter.to_string()),
                });
                format!("^(?:{})$", letters.collect::<String>())
            }
        };
        let regex =
            RegexBuilder::new(&expression).case_insensitive(true).build().map_err(|error| {
                match error {
                    regex::Error::CompiledTooBig(_) => "is too big".to_owned(),
                    error => {
                        let words = error.to_string();
                        let last = words.lines().last().unwrap_or_default();
                        format!("is no regular expression: {}", last.trim_start_matches("error: "))
                    }
                }
            })?;
        Ok(Pattern { written: written.to_owned(), regex: Some(regex) })
    }

    /// The pattern, as it was written.
    pub fn written(&self) -> &str {
        &self.written
    }

    pub fn matches(&self, name: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(name),
            None => self.written.eq_ignore_ascii_case(name),
        }
    }

    /// Whether it fits a machine: its whole name, or what stands before the first dot.
    pub fn matches_machine(&self, machine: &str) -> bool {
        let host = machine.split('.').next().unwrap_or_default();
        self.matches(machine) || self.matches(host)
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(written: String) -> Result<Pattern, String> {
        Pattern::new(&written)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.written
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.written == other.written
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Pattern({:?})", self.written)
    }
}

impl Default for Judgement {
    /// Of a site that has said nothing: no machine is owned, masked or hidden, and the models are
    /// those that we know.
    fn default() -> Judgement {
        Judgement {
            institution_owned: Vec::new(),
            researcher_owned: Vec::new(),
            class_names: Vec::new(),
            masks: Vec::new(),
            devices: KNOWN_DEVICES.clone(),
            hidden_families: Vec::new(),
            preemptible: Vec::new(),
        }
    }
}

impl Judgement {
    /// Why a machine is left out; nothing if it is not.
    pub fn mask(&self, machine: &str) -> Option<&str> {
        let mask = self.masks.iter().find(|(pattern, _)| pattern.matches_machine(machine));
        mask.map(|(_, reason)| reason.as_str())
    }

    /// What the site says of the SLURM jobs of a cluster that are backfill.
    pub(crate) fn preemptible_of(&self, cluster: &str) -> Option<&Preemptible> {
        self.preemptible.iter().find(|place| place.cluster == cluster)
    }

    /// Whether a job ran on backfill, by its slot (HTCondor names those that are for backfill so),
    /// or by its partition or quality of service.
    pub(crate) fn is_backfill(
        &self,
        cluster: &str,
        slot: Option<&str>,
        partition: Option<&str>,
        qos: Option<&str>,
    ) -> bool {
        let is_slot =
            |slot: &str| slot.get(..8).is_some_and(|name| name.eq_ignore_ascii_case("backfill"));
        let has = |names: &[String], name: Option<&str>| {
            name.is_some_and(|name| names.iter().any(|one| one == name))
        };
        slot.is_some_and(is_slot)
            || self.preemptible.iter().any(|place| {
                place.cluster == cluster
                    && (has(&place.partitions, partition) || has(&place.qos, qos))
            })
    }

    pub fn is_institution_owned(&self, machine: &str) -> bool {
        self.institution_owned.iter().any(|pattern| pattern.matches_machine(machine))
    }

    pub fn is_researcher_owned(&self, machine: &str) -> bool {
        self.researcher_owned.iter().any(|pattern| pattern.matches_machine(machine))
    }

    /// What the site calls one of our classes.
    pub fn class_name<'a>(&'a self, class: &'a str) -> &'a str {
        let named = self.class_names.iter().find(|(ours, _)| ours == class);
        named.map_or(class, |(_, name)| name)
    }

    /// What is known of a model; nothing of one that is not listed.
    pub fn device(&self, device_name: &str) -> Option<&Device> {
        let spaced = device_name.replace('_', " ");
        self.devices.iter().find(|device| {
            let fits = |pattern: &Pattern| pattern.matches(device_name) || pattern.matches(&spaced);
            device.patterns.iter().any(fits)
        })
    }

    /// Whether a model is one that is named: by a pattern of any of its names or of its family, or by a part
    /// of one.
    pub fn is_model(&self, named: &str, device_name: &str) -> bool {
        let device = self.device(device_name);
        let short = device.and_then(|device| device.name.as_deref());
        let family = device.map(|device| device.family.as_str());
        let pattern = crate::picture::model_pattern(named);
        let fits = |name: &str| pattern.as_ref().is_ok_and(|pattern| pattern.matches(name));
        [Some(device_name), short, family].into_iter().flatten().any(fits)
    }

    /// Whether reports leave a model out.
    pub fn is_hidden(&self, device_name: &str) -> bool {
        let device = self.device(device_name);
        let family = device.map_or(device_name, |device| &device.family);
        device.is_some_and(|device| device.hidden)
            || self.hidden_families.iter().any(|hidden| hidden.eq_ignore_ascii_case(family))
    }

    /// The models that the site lists itself: those before the ones that we know.
    pub(crate) fn own_devices(&self) -> &[Device] {
        self.devices.strip_suffix(KNOWN_DEVICES.as_slice()).unwrap_or(&self.devices)
    }

    /// Replaces the models that the site lists itself.
    pub(crate) fn set_own_devices(&mut self, own: Vec<Device>) {
        self.devices = own;
        self.devices.extend(KNOWN_DEVICES.iter().cloned());
    }

    /// Whether anything may be left out at all.
    pub(crate) fn leaves_out(&self) -> bool {
        !self.masks.is_empty()
            || !self.hidden_families.is_empty()
            || self.devices.iter().any(|device| device.hidden)
    }
}

/// The class of a GPU by its memory, and unknown where that is. Between 50 and 75 GiB the origin
/// of these classes says `<48GB`, which is not so.
pub(crate) fn memory_class(memory_mb: i64) -> Option<&'static str> {
    match memory_mb as f64 / 1024.0 {
        gib if gib <= 0.0 => None,
        gib if gib < 44.0 => Some("<48GB"),
        gib if gib <= 50.0 => Some("48GB"),
        gib if gib < 75.0 => Some(">48GB"),
        gib if gib <= 85.0 => Some("80GB"),
        _ => Some(">80GB"),
    }
}

/// They are made once: regular expressions take as long as a short question.
static KNOWN_DEVICES: LazyLock<Vec<Device>> = LazyLock::new(known_devices);

/// Models by the names that their makers and SLURM's gres.conf give them. Weights are reference
/// GPU units (RGU) as the Digital Research Alliance of Canada counts them, where it does.
fn known_devices() -> Vec<Device> {
    use Tier::{Flagship, Standard};
    /// The names that it has, our name, its family, tier, memory and weight.
    type Listed<'a> = (&'a [&'a str], &'a str, &'a str, Tier, f64, Option<f64>);
    let listed: &[Listed<'_>] = &[
        (
            &["A100-SXM4-40GB", "A100-PCIE-40GB", "A100 40GB"],
            "A100 40GB",
            "A100",
            Standard,
            40.0,
            Some(4.0),
        ),
        (
            &["A100-SXM4-80GB", "A100 80GB PCIe", "A100 80GB"],
            "A100 80GB",
            "A100",
            Flagship,
            80.0,
            Some(4.8),
        ),
        (&["A30"], "A30", "A30", Standard, 24.0, None),
        (&["A40"], "A40", "A40", Standard, 48.0, Some(4.799)),
        (&["RTX A5000", "A5000"], "A5000", "A5000", Standard, 24.0, Some(3.329)),
        (&["RTX A6000", "A6000"], "A6000", "A6000", Standard, 48.0, Some(4.932)),
        (&["GeForce GTX 1080 Ti", "GTX 1080 Ti"], "GTX 1080 Ti", "GTX 1080", Standard, 11.0, None),
        (
            &["GeForce RTX 2080 Ti", "RTX 2080 Ti", "RTX2080Ti"],
            "RTX 2080 Ti",
            "RTX 2080",
            Standard,
            11.0,
            Some(1.6),
        ),
        (&["H100 80GB HBM3", "H100 80GB"], "H100 80GB", "H100", Flagship, 80.0, Some(12.168)),
        (&["H100 PCIe"], "H100 PCIe", "H100", Flagship, 80.0, Some(9.685)),
        (&["H100 NVL"], "H100 NVL", "H100", Flagship, 94.0, Some(11.092)),
        (&["H200"], "H200", "H200", Flagship, 141.0, Some(13.388)),
        (&["H200 NVL"], "H200 NVL", "H200", Flagship, 141.0, Some(12.032)),
        (&["L40"], "L40", "L40", Standard, 48.0, None),
        (&["L40S"], "L40S", "L40S", Standard, 48.0, Some(10.360)),
        (&["Quadro RTX 6000", "RTX6000"], "Quadro RTX 6000", "Quadro", Standard, 24.0, Some(2.489)),
        (&["Quadro RTX 8000", "RTX8000"], "Quadro RTX 8000", "Quadro", Standard, 48.0, Some(2.969)),
        (&["Tesla P100-PCIE-16GB"], "Tesla P100 16GB", "P100", Standard, 16.0, Some(1.135)),
        (&["Tesla P100-PCIE-12GB"], "Tesla P100 12GB", "P100", Standard, 12.0, Some(1.055)),
        (&["Tesla P100-SXM2-16GB"], "Tesla P100 16GB", "P100", Standard, 16.0, Some(1.245)),
        (&["Tesla T4", "T4"], "T4", "T4", Standard, 16.0, Some(1.322)),
        (&["Tesla V100-PCIE-16GB"], "V100 16GB", "V100", Standard, 16.0, Some(2.047)),
        (&["Tesla V100-SXM2-16GB"], "V100 16GB", "V100", Standard, 16.0, Some(2.249)),
        (&["Tesla V100-PCIE-32GB"], "V100 32GB", "V100", Standard, 32.0, Some(2.367)),
        (&["Tesla V100-SXM2-32GB"], "V100 32GB", "V100", Standard, 32.0, Some(2.569)),
    ];
    let pattern = |text: &str| Pattern::new(text).expect("the patterns here can be read");
    let mut devices: Vec<Device> = listed
        .iter()
        .map(|(names, name, family, tier, memory_gb, weight)| Device {
            patterns: names
                .iter()
                .flat_map(|name| [pattern(name), pattern(&format!("NVIDIA {name}"))])
                .collect(),
            name: Some((*name).to_owned()),
            family: (*family).to_owned(),
            tier: Some(*tier),
            weight: *weight,
            memory_gb: Some(*memory_gb),
            hidden: false,
        })
        .collect();
    // A slice of a GPU is of its family and no flagship; without more than a family's name, such
    // as SLURM's types have, that is all that is known.
    for family in ["A100", "H100", "H200"] {
        let other = |text: &str, name: Option<&str>, tier| Device {
            patterns: vec![pattern(text)],
            name: name.map(str::to_owned),
            family: family.to_owned(),
            tier,
            weight: None,
            memory_gb: None,
            hidden: false,
        };
        devices.push(other(&format!("*{family}* MIG *"), None, Some(Standard)));
        let flagship = (family != "A100").then_some(Flagship);
        devices.push(other(family, Some(family), flagship));
        devices.push(other(&format!("NVIDIA {family}"), Some(family), flagship));
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, fits: &[&str], fits_not: &[&str]) {
        let pattern = Pattern::new(pattern).unwrap();
        for name in fits {
            assert!(pattern.matches_machine(name), "{pattern:?} {name}");
        }
        for name in fits_not {
            assert!(!pattern.matches_machine(name), "{pattern:?} {name}");
        }
    }

    #[test]
    fn a_glob_fits_whole_names_whatever_their_case() {
        check("gpu1", &["gpu1", "GPU1", "gpu1.example.edu"], &["gpu10", "my-gpu1", "gpu1-example"]);
        check("gpu1*", &["gpu1", "gpu10", "Gpu100.example.edu"], &["agpu1"]);
        check(
            "gpu?.example.edu",
            &["gpu1.example.edu"],
            &["gpu10.example.edu", "gpu1xexample.edu"],
        );
        check("a.b", &["a.b"], &["acb"]);
    }

    #[test]
    fn a_regular_expression_is_looked_for() {
        check("/^gpu[12]$/", &["gpu1", "gpu2.example.edu"], &["gpu12"]);
        check("/lab/", &["gpulab2000.example.edu", "LAB"], &["gpu2000"]);
    }

    #[test]
    fn what_is_wrong_with_a_pattern_is_said() {
        assert_eq!(Pattern::new("").unwrap_err(), "is empty");
        assert_eq!(
            Pattern::new("/gpu").unwrap_err(),
            "begins as a regular expression and lacks the slash at its end"
        );
        assert_eq!(Pattern::new("/gpu(/").unwrap_err(), "is no regular expression: unclosed group");
    }

    #[test]
    fn models_are_told_apart_by_their_whole_names() {
        let judgement = Judgement::default();
        for (device_name, name, family, tier) in [
            ("NVIDIA A40", Some("A40"), "A40", Some("standard")),
            ("NVIDIA A100-SXM4-40GB", Some("A100 40GB"), "A100", Some("standard")),
            ("NVIDIA A100-SXM4-80GB", Some("A100 80GB"), "A100", Some("flagship")),
            ("nvidia_a100-sxm4-80gb", Some("A100 80GB"), "A100", Some("flagship")),
            ("a100", Some("A100"), "A100", None),
            ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", None, "A100", Some("standard")),
            ("NVIDIA GeForce GTX 1080 Ti", Some("GTX 1080 Ti"), "GTX 1080", Some("standard")),
            ("NVIDIA H100 80GB HBM3", Some("H100 80GB"), "H100", Some("flagship")),
            ("NVIDIA H200", Some("H200"), "H200", Some("flagship")),
            ("h200", Some("H200"), "H200", Some("flagship")),
            ("NVIDIA L40", Some("L40"), "L40", Some("standard")),
            ("NVIDIA L40S", Some("L40S"), "L40S", Some("standard")),
            ("Quadro RTX 6000", Some("Quadro RTX 6000"), "Quadro", Some("standard")),
            ("Tesla P100-PCIE-16GB", Some("Tesla P100 16GB"), "P100", Some("standard")),
        ] {
            let device = judgement.device(device_name).expect(device_name);
            let found =
                (device.name.as_deref(), device.family.as_str(), device.tier.map(Tier::name));
            assert_eq!(found, (name, family, tier), "{device_name}");
        }
        for unknown in ["NVIDIA A4000", "NVIDIA RTX A4500", "A3000", "MI300X", ""] {
            assert_eq!(judgement.device(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_hidden_family_is_hidden_whole_and_no_other() {
        let judgement = Judgement {
            hidden_families: vec!["a40".into(), "MI300X".into()],
            ..Judgement::default()
        };
        assert!(judgement.is_hidden("NVIDIA A40"));
        assert!(!judgement.is_hidden("NVIDIA A4000"));
        assert!(judgement.is_hidden("MI300X"), "one that is not listed is its own family");
    }

    #[test]
    fn memory_has_classes() {
        for (gib, class) in [
            (0.0, None),
            (11.0, Some("<48GB")),
            (43.9, Some("<48GB")),
            (44.0, Some("48GB")),
            (50.0, Some("48GB")),
            (64.0, Some(">48GB")),
            (75.0, Some("80GB")),
            (85.0, Some("80GB")),
            (94.0, Some(">80GB")),
        ] {
            assert_eq!(memory_class((gib * 1024.0) as i64), class, "{gib}");
        }
    }
}
