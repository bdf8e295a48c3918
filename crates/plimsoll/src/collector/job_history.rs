//! A pool's job ads in Elasticsearch or OpenSearch, asked beside its access points: under the same
//! keys, so that what both tell counts once.

use std::sync::Arc;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use jiff::tz::TimeZone;
use lake::Heard;
use source::Machine;
use source::elasticsearch::JobDocuments;

use super::htcondor::set_gpu_types;
use super::{Answer, Collector, Wanted, fetch, plan};
use crate::config::SearchServer;

impl Collector {
    /// Asks for the executions whose ads came since the server was last asked, day by day. What it
    /// does not answer is asked again the next time.
    pub(super) async fn document_jobs(
        &mut self,
        machine: &Arc<dyn Machine>,
        wanted: Wanted,
        progress: &ProgressBar,
    ) -> Result<()> {
        let Some(history) = self.cluster.job_history.clone() else { return Ok(()) };
        let SearchServer { url, index, .. } = &history;
        let name = format!("{url} {index}");
        let heard = self.writer.tracker().servers.get(&name);
        let windows = plan::documents(heard, self.run, wanted)?;
        progress.inc_length(windows.len() as u64);
        for window in windows {
            let (start, end) = (window.start, window.end);
            progress.set_message(format!("job ads of {}", start.strftime("%Y-%m-%d")));
            let answer =
                fetch::fetch_documents(machine, &history, self.run, (start, end), wanted.parallel)
                    .await?;
            let day = start.to_zoned(TimeZone::UTC).date();
            let time = answer.asked.time;
            self.writer.archive_window(answer.program(), day, time, &answer.frame).await?;
            if !self.take_documents(&answer).await? {
                // What it could not say of one day it cannot say of the next.
                break;
            }
            let until = end.min(time).max(start);
            self.writer.heard_of_server(&name, Heard { since: start, until });
            progress.inc(1);
        }
        Ok(())
    }

    /// Takes what a server said about a window; says whether it said anything.
    pub(super) async fn take_documents(&mut self, answer: &Answer) -> Result<bool> {
        answer.asked.window.context("an answer about no window")?;
        let parser = JobDocuments::new(&self.cluster.name, answer.asked.time);
        let mut read = self.read(answer, parser)?;
        let is_answered = read.collection.error.is_none();
        for execution in &mut read.records {
            set_gpu_types(execution, &self.writer.tracker().gpu_models);
        }
        let change = self.writer.upsert(&read.records).await?;
        self.keep(vec![(read.collection, read.rejects)], change).await?;
        Ok(is_answered)
    }
}

#[cfg(test)]
mod tests;
