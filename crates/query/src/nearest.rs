//! The name that was probably meant.

use strsim::damerau_levenshtein;

/// The valid name that is nearest to a wrong one, if any is near: a few letters apart, or one a
/// part of the other, whatever the case.
pub fn nearest<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    valid
        .into_iter()
        .filter_map(|name| Some((distance(&wrong, &name.to_lowercase())?, name.len(), name)))
        .min()
        .map(|(_, _, name)| name)
}

/// How far apart two names are; nothing if too far to mean one another.
fn distance(wrong: &str, name: &str) -> Option<usize> {
    let longer = wrong.chars().count().max(name.chars().count());
    let shorter = wrong.chars().count().min(name.chars().count());
    let letters = damerau_levenshtein(wrong, name);
    // One letter in four: `EST` is no slip for `CST`, `knid` is one for `kind`.
    if letters <= longer / 4 {
        Some(letters)
    } else if shorter >= 4 && (wrong.contains(name) || name.contains(wrong)) {
        Some(longer)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wrong: &str, valid: &[&str], expected: Option<&str>) {
        assert_eq!(nearest(wrong, valid.iter().copied()), expected);
    }

    #[test]
    fn a_slip_of_the_fingers_is_understood() {
        check("knid", &["name", "kind", "cadence"], Some("kind"));
        check("cluser", &["cluster", "groups"], Some("cluster"));
        check("SLURM", &["slurm", "htcondor"], Some("slurm"));
    }

    #[test]
    fn a_part_is_understood() {
        check("condor", &["slurm", "htcondor"], Some("htcondor"));
        check("timezone", &["data_dir", "zone"], Some("zone"));
        check("chicago", &["Africa/Cairo", "America/Chicago"], Some("America/Chicago"));
    }

    #[test]
    fn what_is_far_is_not_guessed_at() {
        check("pbs", &["slurm", "htcondor"], None);
        check("CST", &["EST", "MST", "CET", "CST6CDT"], None);
        check("", &["slurm"], None);
    }
}
