//! The jobs that waited for GPUs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Result, bail};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{LakeFile, Trackers, read_foreign_table};
use record::{QueueSpan, Record};
use source::Rejected;
use source::origin::gpureports::{JobPressure, Waited, queue_spans};

use super::{Import, cadence, files};
use crate::command::import::modified;
use crate::complain;

impl Import {
    /// Takes over the waits of all months. They are read twice: how long a look holds is known when
    /// all looks are.
    pub(super) async fn queue(&mut self, months: &BTreeMap<Date, files::Month>) -> Result<()> {
        let paths: Vec<&Path> =
            months.values().filter_map(|files| files.job_pressure.as_deref()).collect();
        let mut looks = BTreeSet::new();
        let mut readable = Vec::new();
        for path in paths {
            let mut times = BTreeSet::new();
            let see = |waited: Waited| times.extend([waited.first, waited.last]);
            match read(path, &self.cluster, &self.zone, see) {
                Ok(_) => {
                    looks.append(&mut times);
                    readable.push(path);
                }
                Err(error) => {
                    complain(&format!("warning: left out: {error:#}"));
                    self.summary.unreadable += 1;
                }
            }
        }
        let in_order: Vec<Timestamp> = looks.iter().copied().collect();
        let hold = cadence(&in_order).unwrap_or(SignedDuration::from_mins(5)) * 2;
        self.queue_files = queue_files(self).await?;
        // By job, what may go on in later rows.
        let mut open: HashMap<String, Waited> = HashMap::new();
        for (place, path) in readable.iter().enumerate() {
            let mut over = Vec::new();
            let take = |waited: Waited| match open.get_mut(waited.job_id()) {
                Some(known) => {
                    if let Some(later) = known.join(waited, hold) {
                        over.push(std::mem::replace(known, later));
                    }
                }
                None => {
                    open.insert(waited.job_id().to_owned(), waited);
                }
            };
            let file = read(path, &self.cluster, &self.zone, take)?;
            self.kept(file.rows, Some(modified(path)?), file.rejects, file.last, None).await?;
            // A wait goes on in the next month's file if it was seen at the end of this one.
            let until = file.last.filter(|_| place + 1 < readable.len());
            let goes_on = |waited: &Waited| until.is_some_and(|until| waited.last + hold >= until);
            over.extend(open.extract_if(|_, waited| !goes_on(waited)).map(|(_, waited)| waited));
            self.write_waits(over, &looks, hold).await?;
        }
        Ok(())
    }

    async fn write_waits(
        &mut self,
        waits: Vec<Waited>,
        looks: &BTreeSet<Timestamp>,
        hold: SignedDuration,
    ) -> Result<()> {
        self.summary.waits += waits.len();
        let mut days: BTreeMap<Date, Vec<QueueSpan>> = BTreeMap::new();
        for span in waits.iter().flat_map(|waited| queue_spans(waited, looks, hold)) {
            days.entry(span.start_time.to_zoned(TimeZone::UTC).date()).or_default().push(span);
        }
        for (date, mut spans) in days {
            if let Some(file) = self.queue_files.get(&date) {
                let stored: Vec<QueueSpan> =
                    self.lake.read(&self.cluster, &file.meta.location).await?;
                spans.retain(|span| !stored.iter().any(|known| is_seen(known, span)));
            }
            self.summary.queue_change += self.writer.upsert(&spans).await?;
        }
        Ok(())
    }
}

/// Whether a wait is known from elsewhere: another span of the job was seen while it lasted.
fn is_seen(known: &QueueSpan, span: &QueueSpan) -> bool {
    known.job_id == span.job_id
        && known.start_time != span.start_time
        && known.start_time < span.last_seen_time.max(span.start_time)
        && known.last_seen_time > span.start_time
}

/// Where the lake keeps the waits of each day, as they were before the import.
async fn queue_files(import: &Import) -> Result<HashMap<Date, LakeFile>> {
    let files = import.lake.files(&QueueSpan::TABLE, &Trackers::new()).await?;
    let of_cluster = files.into_iter().filter(|file| file.cluster == import.cluster);
    Ok(of_cluster.map(|file| (file.date, file)).collect())
}

/// What was read of a file.
struct Read {
    rows: u64,
    rejects: Vec<Rejected>,
    /// The last look.
    last: Option<Timestamp>,
}

fn read(path: &Path, cluster: &str, zone: &TimeZone, mut take: impl FnMut(Waited)) -> Result<Read> {
    let shown = path.display();
    let Some(pages) = read_foreign_table(path, "job_pressure")? else {
        bail!("{shown} has no table job_pressure");
    };
    let mut table = JobPressure::new(cluster, zone.clone());
    let (mut rejects, mut last) = (Vec::new(), None);
    for rows in pages {
        let rows = rows?;
        if let Some(column) = JobPressure::missing_column(rows.names()) {
            bail!("{shown} has no column {column}");
        }
        for waited in table.add(rows.names(), rows.rows(), |row, column| rows.cell(row, column)) {
            last = last.max(Some(waited.last));
            take(waited);
        }
        rejects.extend(table.take_rejects());
    }
    Ok(Read { rows: table.rows(), rejects, last })
}
