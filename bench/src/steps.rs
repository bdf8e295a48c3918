//! The steps of a collection, each alone, for `bench/instructions` to count.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use jiff::SignedDuration;
use jiff::civil::Date;
use lake::Lake;
use source::htcondor::CondorStatus;
use source::simulated::Site;
use source::slurm::Sacct;
use source::{Parsed, Parser};

use crate::midnight;

/// What `sacct` printed, read.
pub(crate) fn parse(text: &Path, asked: Date) -> Result<usize> {
    let read = read(Sacct::new(Site::slurm_cluster(), midnight(asked)?), text)?;
    Ok(read.records.len())
}

/// Looks at GPUs, and spans made of them when their day is over.
pub(crate) async fn spans(folder: &Path, data_dir: &Path, day: Date) -> Result<usize> {
    let lake = Lake::create(data_dir)?;
    let mut writer = lake.writer(Site::condor_pool()).await?;
    let mut samples = Vec::new();
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for (look, file) in files.iter().enumerate() {
        let time = midnight(day)? + SignedDuration::from_mins(12 * 60 + 5 * look as i64);
        samples.extend(read(CondorStatus::new(Site::condor_pool(), time), &file.path())?.records);
    }
    let added = writer.upsert(&samples).await?.added;
    writer.compact_gpu_days(midnight(day.tomorrow()?)?, SignedDuration::from_mins(10)).await?;
    writer.finish().await?;
    Ok(added)
}

fn read<T>(mut parser: impl Parser<T>, text: &Path) -> Result<Parsed<T>> {
    for piece in fs::read(text)?.chunks(256 * 1024) {
        parser.push(piece);
    }
    let parsed = parser.finish();
    match parsed.rejects.first() {
        None => Ok(parsed),
        Some(first) => bail!("{} rejects, such as {first:?}", parsed.rejects.len()),
    }
}
