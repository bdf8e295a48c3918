//! Which files of gpureports there are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::civil::Date;

/// The files of a month.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Month {
    pub(super) parquet: Option<PathBuf>,
    /// What was written before there was Parquet: in one month, half of each.
    pub(super) sqlite: Option<PathBuf>,
    pub(super) job_pressure: Option<PathBuf>,
}

/// The months of a folder, or that of one file, by their first day.
pub(super) fn months(path: &Path) -> Result<BTreeMap<Date, Month>> {
    const WANTED: &str =
        "gpu_state_2026-04.parquet, gpu_state_2026-04.db or job_pressure_2026-04.db";
    let shown = path.display();
    let mut months = BTreeMap::new();
    let metadata = fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
    if !metadata.is_dir() {
        if !take(&mut months, path) {
            bail!("{shown} is not called as files of gpureports are: {WANTED}");
        }
        return Ok(months);
    }
    for entry in fs::read_dir(path).with_context(|| format!("cannot read {shown}"))? {
        take(&mut months, &entry.with_context(|| format!("cannot read {shown}"))?.path());
    }
    if months.is_empty() {
        bail!("{shown} holds no {WANTED}; name the folder that gpureports calls data-dir");
    }
    Ok(months)
}

/// Takes a file to its month, if it is called as one of gpureports is. `gpu_state_2026-04_dev.db`
/// was somebody's trial.
fn take(months: &mut BTreeMap<Date, Month>, path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let Some((kind, month)) = stem.rsplit_once('_') else { return false };
    let is_month = month.len() == "2026-04".len();
    let Some(date) = format!("{month}-01").parse().ok().filter(|_| is_month) else { return false };
    let path = Some(path.to_owned());
    match (kind, ending) {
        ("gpu_state", "parquet") => months.entry(date).or_default().parquet = path,
        ("gpu_state", "db") => months.entry(date).or_default().sqlite = path,
        ("job_pressure", "db") => months.entry(date).or_default().job_pressure = path,
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        let mut months = BTreeMap::new();
        for name in [
            "gpu_state_2026-05.parquet",
            "gpu_state_2026-05.db",
            "job_pressure_2026-04.db",
            ".gpu_state_2026-05.parquet.tmp",
            "gpu_state_2026-05.tmp.parquet",
            "gpu_state_2026-04_dev.db",
            "gpu_state_2026-13.db",
            "gpu_state_2026-05-02.db",
            "job_info_2026-04.db",
            "job_pressure_2026-04.db-journal",
        ] {
            take(&mut months, Path::new(name));
        }
        let path = |name: &str| Some(PathBuf::from(name));
        let (april, may) = (Date::constant(2026, 4, 1), Date::constant(2026, 5, 1));
        let expected = BTreeMap::from([
            (april, Month { job_pressure: path("job_pressure_2026-04.db"), ..Month::default() }),
            (
                may,
                Month {
                    parquet: path("gpu_state_2026-05.parquet"),
                    sqlite: path("gpu_state_2026-05.db"),
                    job_pressure: None,
                },
            ),
        ]);
        assert_eq!(months, expected);
    }
}
