//! What was last seen of all clusters, as it lies in the lake, and whether that is still so.

use std::sync::Arc;

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::{Lake, Version};
use record::Live;
use report::Family;

use crate::{CurrentPolicy, Judgement, Memory};

use super::recent_use::recent_use;
use super::{COMPATIBLE_PAGES, CompatiblePage, MetricOptions, own};

/// What was last seen of all clusters.
pub struct LastSeen {
    version: Version,
    lives: Vec<Live>,
}

impl LastSeen {
    /// Reads it. What cannot be read is left out, and told.
    pub async fn load(lake: &Lake) -> Result<LastSeen> {
        // The version first: what changes in between is read again the next time.
        let version = Version::of(&lake.live_files().await?);
        Ok(LastSeen { version, lives: lake.lives().await? })
    }

    /// Whether nobody looked since.
    pub async fn is_current(&self, lake: &Lake) -> Result<bool> {
        Ok(Version::of(&lake.live_files().await?) == self.version)
    }

    /// Adds what jobs made of what they held in the hours before a cluster was last asked, in the days
    /// of a zone. Of what was added before to what was seen then, that which is not old stays. What
    /// fails is left out, and told.
    pub async fn sum_up_lately(
        &mut self,
        lake: &Lake,
        judgement: &Arc<Judgement>,
        zone: &TimeZone,
        before: Option<&LastSeen>,
        memory: &Memory,
    ) {
        for live in &mut self.lives {
            let asked = live.sources.iter().filter_map(|source| source.last_time).max();
            let Some(asked) = asked.map(|time| time.to_zoned(zone.clone())) else { continue };
            let mut before = before.iter().flat_map(|before| &before.lives);
            let known = before.find(|known| known.cluster == live.cluster);
            let known = known.map_or(&[][..], |known| &known.recent_use);
            match recent_use(lake, &live.cluster, judgement, &asked, known, memory).await {
                Ok(rows) => live.recent_use = rows,
                Err(error) => tracing::warn!("cannot tell what was used lately: {error:#}"),
            }
        }
    }

    /// Takes over what was added up of the same clusters.
    pub fn take_lately(&mut self, summed: &LastSeen) {
        for live in &mut self.lives {
            let known = summed.lives.iter().find(|known| known.cluster == live.cluster);
            live.recent_use = known.map(|known| known.recent_use.clone()).unwrap_or_default();
        }
    }

    pub(crate) fn lives(&self) -> &[Live] {
        &self.lives
    }

    /// How the sources fare.
    pub fn health(&self, now: Timestamp) -> Vec<Family> {
        own::health(&self.lives, now)
    }

    /// What was seen, in our names.
    pub fn state(&self, options: &MetricOptions, policy: &CurrentPolicy) -> Vec<Family> {
        own::state(&self.lives, options, policy)
    }

    /// The clusters of SLURM, which the pages of other exporters can be about.
    pub fn slurm_clusters(&self) -> impl Iterator<Item = &str> {
        let slurm = self.lives.iter().filter(|live| live.scheduler == "slurm");
        slurm.map(|live| live.cluster.as_str())
    }

    /// A page in the names of another exporter; none if nothing was seen of the cluster.
    pub fn compatible(&self, page: &CompatiblePage, cluster: &str) -> Option<Vec<Family>> {
        let live = self.lives.iter().find(|live| live.cluster == cluster)?;
        Some((page.families)(live))
    }
}

/// A page by its name.
pub fn compatible_page(name: &str) -> Option<&'static CompatiblePage> {
    COMPATIBLE_PAGES.iter().find(|page| page.name == name)
}
