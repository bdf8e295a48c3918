//! A day of GPU samples becomes spans, once it is over.
//!
//! Samples of a day lie in files by the hour; its spans are one file. **Where a day has a file of
//! spans, that file is all that counts**, whatever samples still lie beside it. It is put in place
//! whole, and then the samples are removed; a process that dies in between leaves samples that
//! nobody reads, and the next writer removes them. No tracker decides: it is written later.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use record::{GpuSample, GpuSpan, Looks, Record, Text};

use crate::catch_up::Removed;
use crate::write::Writer;
use crate::{Lake, LakeFile, Tracker, Trackers, parquet_file, path};

/// What is known of a cluster's GPUs on one day, and from which files.
#[derive(Clone, Debug)]
pub struct GpuDay {
    pub cluster: String,
    pub date: Date,
    pub files: GpuFiles,
}

/// The files that tell of a day's GPUs: one kind of them, so that the day is seen once.
#[derive(Clone, Debug)]
pub enum GpuFiles {
    /// The day is compacted.
    Spans(Box<LakeFile>),
    /// The day is not: its spans are still to be made, by [`Lake::open_gpu_spans`].
    Samples(Vec<LakeFile>),
}

/// The spans of days that are not compacted.
#[derive(Debug, Default)]
pub struct OpenGpuSpans {
    /// By date, machine, GPU and time.
    pub spans: Vec<GpuSpan>,
    /// The files that were read.
    pub read: Vec<LakeFile>,
    /// Files that could not be read and are left out, with the reason.
    pub skipped: Vec<(LakeFile, String)>,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    pub days: usize,
    pub samples: usize,
    pub spans: usize,
}

/// A sample that came when its day was compacted and that says something else.
#[derive(Debug, thiserror::Error)]
#[error(
    "{date} is compacted and says something else of GPU {gpu_id} of {machine} at {time}; \
     `plimsoll reprocess --from {date}` derives the day again from all that is archived of it"
)]
pub struct LateSample {
    pub date: Date,
    pub machine: Text,
    pub gpu_id: Text,
    pub time: Timestamp,
}

impl std::ops::AddAssign for Compacted {
    fn add_assign(&mut self, other: Compacted) {
        self.days += other.days;
        self.samples += other.samples;
        self.spans += other.spans;
    }
}

/// The files of a cluster's samples, and those of its spans, by date.
type GpuFilesByDate = (BTreeMap<Date, Vec<LakeFile>>, BTreeMap<Date, LakeFile>);

impl Lake {
    /// From which files each day's GPUs are known, by cluster and date; of compacted days those since
    /// one.
    pub async fn gpu_days(&self, trackers: &Trackers, since: Option<Date>) -> Result<Vec<GpuDay>> {
        // Samples first: those that are gone by now have left spans behind, which are listed next.
        let samples = self.files(&GpuSample::TABLE, trackers).await?;
        let spans = match since {
            Some(since) => self.files_since(&GpuSpan::TABLE, trackers, since).await?,
            None => self.files(&GpuSpan::TABLE, trackers).await?,
        };
        let mut days: BTreeMap<(String, Date), GpuFiles> = BTreeMap::new();
        for file in samples {
            let place = (file.cluster.clone(), file.date);
            let files = days.entry(place).or_insert_with(|| GpuFiles::Samples(Vec::new()));
            if let GpuFiles::Samples(files) = files {
                files.push(file);
            }
        }
        for file in spans {
            let place = (file.cluster.clone(), file.date);
            days.insert(place, GpuFiles::Spans(Box::new(file)));
        }
        Ok(days
            .into_iter()
            .map(|((cluster, date), files)| GpuDay { cluster, date, files })
            .collect())
    }

    /// Makes the spans of those of a cluster's days that are not compacted: the same as compacting
    /// them now would. What a day carries into the next is found if it is among the days.
    ///
    /// What was last observed is taken to hold for as long as it may, so spans may reach beyond
    /// the present; a question cuts them to its period.
    pub async fn open_gpu_spans(
        &self,
        cluster: &str,
        days: &[GpuDay],
        hold: SignedDuration,
    ) -> Result<OpenGpuSpans> {
        let mut open = OpenGpuSpans::default();
        let of_cluster: BTreeMap<Date, &GpuFiles> = days
            .iter()
            .filter(|day| day.cluster == cluster)
            .map(|day| (day.date, &day.files))
            .collect();
        let mut due: BTreeSet<Date> = BTreeSet::new();
        for (date, files) in &of_cluster {
            match files {
                GpuFiles::Spans(file) if may_carry(file) => due.extend(date.tomorrow().ok()),
                GpuFiles::Spans(_) => {}
                GpuFiles::Samples(_) => due.extend([*date]),
            }
        }
        let mut made: BTreeMap<Date, Vec<GpuSpan>> = BTreeMap::new();
        while let Some(date) = due.pop_first() {
            let mut files = match of_cluster.get(&date) {
                Some(GpuFiles::Spans(_)) => continue,
                Some(GpuFiles::Samples(files)) => files.clone(),
                None => Vec::new(),
            };
            let yesterday = date.yesterday().unwrap_or(date);
            let carried = match (made.remove(&yesterday), of_cluster.get(&yesterday)) {
                (Some(spans), _) => spans,
                (None, Some(GpuFiles::Spans(file))) => match self.carried(file).await {
                    Ok(carried) => carried,
                    Err(error) => {
                        open.skipped.push((file.as_ref().clone(), format!("{error:#}")));
                        Vec::new()
                    }
                },
                (None, _) => Vec::new(),
            };
            let spans = loop {
                match self.day_spans(date, &files, &carried, hold).await {
                    Ok((spans, _)) => break spans,
                    // The rest of the day is still worth telling of.
                    Err(Unreadable { place, error }) => {
                        open.skipped.push((files.remove(place), format!("{error:#}")));
                    }
                }
            };
            let carrying = carrying(&spans);
            if !carrying.is_empty() {
                due.extend(date.tomorrow().ok());
                made.insert(date, carrying);
            }
            open.read.extend(files);
            open.spans.extend(spans);
        }
        Ok(open)
    }

    /// All files of a cluster's samples and spans.
    pub(crate) async fn gpu_files(
        &self,
        cluster: &str,
        tracker: &Tracker,
    ) -> Result<GpuFilesByDate> {
        let mut samples: BTreeMap<Date, Vec<LakeFile>> = BTreeMap::new();
        for file in self.files_of(&GpuSample::TABLE, cluster).await? {
            samples.entry(file.date).or_default().push(file);
        }
        let mut spans = BTreeMap::new();
        for mut file in self.files_of(&GpuSpan::TABLE, cluster).await? {
            file.facts = tracker.facts(&file.meta).cloned();
            spans.insert(file.date, file);
        }
        Ok((samples, spans))
    }

    /// The spans of a day that go on in the next.
    async fn carried(&self, file: &LakeFile) -> Result<Vec<GpuSpan>> {
        if !may_carry(file) {
            return Ok(Vec::new());
        }
        Ok(carrying(&self.read(&file.cluster, &file.meta.location).await?))
    }

    /// Makes a day's spans of its files of samples, and counts the samples. A machine's GPUs are
    /// read side by side from all the files, each a little at a time, so that the memory this
    /// takes follows from the number of spans.
    async fn day_spans(
        &self,
        day: Date,
        files: &[LakeFile],
        before: &[GpuSpan],
        hold: SignedDuration,
    ) -> Result<(Vec<GpuSpan>, usize), Unreadable> {
        let mut times = BTreeSet::new();
        let mut hours = Vec::with_capacity(files.len());
        for (place, file) in files.iter().enumerate() {
            let open = async {
                let bytes = self.bytes(&file.meta.location).await?.context("it is gone")?;
                times.extend(parquet_file::moments(&bytes, GpuSample::TABLE.moment)?);
                Hour::open(&file.cluster, bytes)
            };
            let hour = open.await.map_err(|error| {
                let error =
                    error.context(format!("cannot read {}", self.shown(&file.meta.location)));
                Unreadable { place, error }
            })?;
            hours.push(hour);
        }
        let looks = Looks::new(day, times, hold);
        let mut carried: BTreeMap<(Text, Text), &GpuSpan> =
            before.iter().map(|span| ((span.machine.clone(), span.gpu_id.clone()), span)).collect();
        let (mut spans, mut count) = (Vec::new(), 0);
        while let Some((machine, gpu_id)) =
            hours.iter().filter_map(|hour| hour.next.as_ref()).map(gpu).min()
        {
            let gpu = (Text::from(machine), Text::from(gpu_id));
            let mut samples = Vec::new();
            for (place, hour) in hours.iter_mut().enumerate() {
                hour.take((&gpu.0, &gpu.1), &mut samples).map_err(|error| {
                    let shown = self.shown(&files[place].meta.location);
                    Unreadable { place, error: error.context(format!("cannot read {shown}")) }
                })?;
            }
            count += samples.len();
            spans.extend(looks.spans(carried.remove(&gpu), &samples));
        }
        for span in carried.into_values() {
            spans.extend(looks.spans(Some(span), &[]));
        }
        spans.sort_unstable_by(Record::compare_place);
        Ok((spans, count))
    }
}

impl Writer {
    /// Turns the samples of each day that is over into spans. That all samples of these days are
    /// in is the caller's word. A look holds for twice the cadence at the most: `hold`.
    ///
    /// Days follow one another in order, for the last look of a day holds on in the next; so a
    /// day that cannot be read stops it, and nothing is lost.
    pub async fn compact_gpu_days(
        &mut self,
        now: Timestamp,
        hold: SignedDuration,
    ) -> Result<Compacted> {
        let mut compacted = Compacted::default();
        self.compact_each_gpu_day(now, hold, &mut |day| compacted += day).await?;
        Ok(compacted)
    }

    /// The same, told of each day as it is done.
    pub(crate) async fn compact_each_gpu_day(
        &mut self,
        now: Timestamp,
        hold: SignedDuration,
        done: &mut (dyn FnMut(Compacted) + Send),
    ) -> Result<()> {
        self.remove_compacted_samples().await?;
        let (mut samples, mut spans) = self.lake.gpu_files(&self.cluster, &self.tracker).await?;
        let mut days: BTreeSet<Date> = samples.keys().copied().collect();
        days.extend(spans.values().filter(|file| may_carry(file)).filter_map(day_after));
        while let Some(day) = days.pop_first() {
            let Some(next_day) = day.tomorrow().ok().filter(|_| is_over(day, now)) else { break };
            if spans.contains_key(&day) {
                continue;
            }
            let mut files = samples.remove(&day).unwrap_or_default();
            files.sort_by(|one, other| one.meta.location.cmp(&other.meta.location));
            let doing = || format!("cannot make spans of the samples of {day}");
            for file in &files {
                self.check_to_compact(file).await.with_context(doing)?;
            }
            let before = match day.yesterday().ok().and_then(|yesterday| spans.get(&yesterday)) {
                Some(file) => self.lake.carried(file).await.with_context(doing)?,
                None => Vec::new(),
            };
            let (made, count) = self
                .lake
                .day_spans(day, &files, &before, hold)
                .await
                .map_err(|unreadable| unreadable.error)
                .with_context(doing)?;
            if made.is_empty() {
                continue;
            }
            let file = self.file::<GpuSpan>(path::midnight(day));
            self.replace(&file, &made.iter().collect::<Vec<_>>()).await?;
            self.remove_samples(&files).await?;
            let meta = self.lake.head(&file).await?;
            let facts = self.tracker.facts(&meta).cloned();
            let (table, cluster) = (GpuSpan::TABLE.name, self.cluster.clone());
            let file = LakeFile { meta, table, cluster, date: day, facts };
            if may_carry(&file) {
                days.insert(next_day);
            }
            spans.insert(day, file);
            done(Compacted { days: 1, samples: count, spans: made.len() });
        }
        Ok(())
    }

    /// Takes the samples of a day that is over, all of them, and makes its spans: what
    /// [`upsert`](Writer::upsert) and [`compact_gpu_days`](Writer::compact_gpu_days) do, without
    /// files of samples between if there are none yet. For history, a day after the other.
    ///
    /// A compacted day that says something else is left as it is: [`LateSample`].
    pub async fn add_gpu_day(
        &mut self,
        day: Date,
        mut samples: Vec<GpuSample>,
        hold: SignedDuration,
    ) -> Result<Compacted> {
        if self.is_compacted(day).await? {
            self.check_late(&samples.iter().collect::<Vec<_>>()).await?;
            return Ok(Compacted::default());
        }
        let waiting = self.lake.files_of(&GpuSample::TABLE, &self.cluster).await?;
        if waiting.iter().any(|file| file.date <= day) {
            self.upsert(&samples).await?;
            return self.compact_gpu_days(path::midnight(day.tomorrow()?), hold).await;
        }
        let yesterday = day.yesterday()?;
        if !self.is_compacted(yesterday).await? {
            // What an earlier day says of this one may have to pass through days without samples.
            self.compact_gpu_days(path::midnight(day), hold).await?;
        }
        let yesterday = self.file::<GpuSpan>(path::midnight(yesterday));
        let before = match self.lake.bytes(&yesterday).await? {
            Some(bytes) => carrying(
                &parquet_file::decode(&self.cluster, bytes)
                    .with_context(|| format!("cannot read {}", self.lake.shown(&yesterday)))?,
            ),
            None => Vec::new(),
        };
        let looks = Looks::new(day, samples.iter().map(|sample| sample.time), hold);
        let mut carried: BTreeMap<(&str, &str), &GpuSpan> =
            before.iter().map(|span| ((&*span.machine, &*span.gpu_id), span)).collect();
        samples.sort_by(Record::compare_key);
        let mut spans = Vec::new();
        for samples in samples.chunk_by(|one, other| gpu(one) == gpu(other)) {
            spans.extend(looks.spans(carried.remove(&gpu(&samples[0])), samples));
        }
        for span in carried.into_values() {
            spans.extend(looks.spans(Some(span), &[]));
        }
        spans.sort_unstable_by(Record::compare_place);
        if spans.is_empty() {
            return Ok(Compacted::default());
        }
        let file = self.file::<GpuSpan>(path::midnight(day));
        self.replace(&file, &spans.iter().collect::<Vec<_>>()).await?;
        Ok(Compacted { days: 1, samples: samples.len(), spans: spans.len() })
    }

    /// Whether a day's samples were made spans.
    pub async fn is_compacted(&self, day: Date) -> Result<bool> {
        self.lake.has(&self.file::<GpuSpan>(path::midnight(day))).await
    }

    /// Lets pass what a compacted day already says, and refuses what it does not: one more look
    /// would end spans of GPUs that it did not see, and the looks of the day are no longer known.
    pub(crate) async fn check_late(&self, samples: &[&GpuSample]) -> Result<()> {
        let Some(first) = samples.first() else { return Ok(()) };
        let spans: Vec<GpuSpan> = self.stored(&self.file::<GpuSpan>(first.time)).await?;
        for sample in samples {
            // The last span of the GPU that begins no later; the file is sorted by these.
            let place = spans.partition_point(|span| {
                (&*span.machine, &*span.gpu_id, span.start_time)
                    <= (&*sample.machine, &*sample.gpu_id, sample.time)
            });
            let is_known = place.checked_sub(1).map(|place| &spans[place]).is_some_and(|span| {
                span.machine == sample.machine
                    && span.gpu_id == sample.gpu_id
                    && sample.time < span.end_time
                    && span.has_state_of(sample)
            });
            if !is_known {
                return Err(anyhow!(LateSample {
                    date: path::date(sample.time),
                    machine: sample.machine.clone(),
                    gpu_id: sample.gpu_id.clone(),
                    time: sample.time,
                }));
            }
        }
        Ok(())
    }

    /// Removes samples of days whose spans are in place and can be read: what a compaction leaves
    /// that was stopped half-way.
    pub(crate) async fn remove_compacted_samples(&mut self) -> Result<Removed> {
        let mut files = self.lake.files_of(&GpuSample::TABLE, &self.cluster).await?;
        files.retain(|file| {
            let spans = self.file::<GpuSpan>(path::midnight(file.date));
            self.tracker.files.contains_key(spans.as_ref())
        });
        for day in files.chunk_by(|one, other| one.date == other.date) {
            self.remove_samples(day).await?;
        }
        Ok(Removed::of(&files))
    }

    /// Removes files of one day.
    async fn remove_samples(&mut self, files: &[LakeFile]) -> Result<()> {
        self.files.remove(files.iter().map(|file| &file.meta.location)).await?;
        for file in files {
            self.tracker.files.remove(file.meta.location.as_ref());
        }
        Ok(())
    }

    /// Refuses a file with columns that spans would lose.
    async fn check_to_compact(&self, file: &LakeFile) -> Result<()> {
        let shown = || format!("cannot read {}", self.lake.shown(&file.meta.location));
        let bytes = self.lake.bytes(&file.meta.location).await?.with_context(shown)?;
        parquet_file::check_columns(&GpuSample::TABLE, &bytes).with_context(shown)
    }
}

/// A file that stopped the making of a day's spans.
struct Unreadable {
    /// Among the files.
    place: usize,
    error: anyhow::Error,
}

/// The samples of one file, which come one after the other.
struct Hour {
    rows: parquet_file::Rows<GpuSample>,
    next: Option<GpuSample>,
}

impl Hour {
    fn open(cluster: &str, bytes: Bytes) -> Result<Hour> {
        let mut rows = parquet_file::Rows::open(cluster, bytes, ROWS_AT_ONCE)?;
        let next = rows.next().transpose()?;
        Ok(Hour { rows, next })
    }

    /// Takes the samples of a GPU, if they are next.
    fn take(&mut self, wanted: (&str, &str), samples: &mut Vec<GpuSample>) -> Result<()> {
        while let Some(sample) = self.next.take_if(|next| gpu(next) == wanted) {
            self.next = self.rows.next().transpose()?;
            if self.next.as_ref().is_some_and(|next| next.compare_key(&sample).is_le()) {
                bail!("its rows are not in the order of machine, GPU and time");
            }
            samples.push(sample);
        }
        Ok(())
    }
}

/// Of 24 files side by side, some ten megabytes.
const ROWS_AT_ONCE: usize = 1024;

fn gpu(sample: &GpuSample) -> (&str, &str) {
    (&sample.machine, &sample.gpu_id)
}

fn carrying(spans: &[GpuSpan]) -> Vec<GpuSpan> {
    spans.iter().filter(|span| span.carry_until.is_some()).cloned().collect()
}

/// Whether spans of a file may go on in the next day; so it is if nothing is known of the file.
fn may_carry(file: &LakeFile) -> bool {
    let range = file.facts.as_ref().and_then(|facts| facts.times.get("carry_until"));
    range.is_none_or(|range| range.max.is_some())
}

/// Whether a day is over.
pub(crate) fn is_over(day: Date, now: Timestamp) -> bool {
    day.tomorrow().is_ok_and(|next_day| path::midnight(next_day) <= now)
}

fn day_after(file: &LakeFile) -> Option<Date> {
    file.date.tomorrow().ok()
}

#[cfg(test)]
pub(crate) mod tests;
