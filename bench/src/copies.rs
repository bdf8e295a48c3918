//! A large pool of GPUs, of copies of a small one.

use std::path::Path;

use anyhow::Result;
use lake::Lake;
use record::{GpuSpan, Record, Text};

/// Writes each day of a pool's spans anew, with further copies of its machines until there are `copies` of each.
/// Gives how many spans there are then.
pub(crate) async fn copies(data_dir: &Path, cluster: &str, copies: u32) -> Result<usize> {
    let lake = Lake::open(data_dir)?;
    let files = lake.files(&GpuSpan::TABLE, &lake.trackers().await?).await?;
    let mut writer = lake.writer(cluster).await?;
    let mut count = 0;
    for file in files.iter().filter(|file| file.cluster == cluster) {
        let spans: Vec<GpuSpan> = lake.read(cluster, &file.meta.location).await?;
        let copied = (1..copies).flat_map(|copy| spans.iter().map(move |span| copied(span, copy)));
        let copied: Vec<GpuSpan> = copied.collect();
        count += spans.len() + writer.upsert(&copied).await?.added;
    }
    writer.finish().await?;
    Ok(count)
}

/// The span of a machine's copy: it is called otherwise, and so are its GPUs and what ran on them.
fn copied(span: &GpuSpan, copy: u32) -> GpuSpan {
    let (host, domain) = span.machine.split_once('.').unwrap_or((&span.machine, ""));
    let after = |name: &Text| Text::from(format!("{name}-{copy}").as_str());
    GpuSpan {
        machine: Text::from(format!("{host}-{copy}.{domain}").as_str()),
        gpu_id: after(&span.gpu_id),
        primary_job_id: span.primary_job_id.as_ref().map(after),
        backfill_job_id: span.backfill_job_id.as_ref().map(after),
        ..span.clone()
    }
}
