//! The site policies that a question's rows are judged by: those that the lake stores, each from the
//! time on from which it applies, and what the reader's own configuration puts in their place.
//!
//! Owners, masks, and the partitions and QOS of backfill are those of the time of a row. A GPU span and
//! an attempt of a job are judged by the policy at their start. Class names, models, families, tiers,
//! weights and hidden families are those of the newest policy, so that one report has one name for one
//! thing.

mod row;

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::Timestamp;
use lake::{Lake, Trackers};
use record::SitePolicy;
use report::SkippedFile;
use serde::{Deserialize, Serialize};

use crate::judgement::{Judgement, Preemptible};
use crate::{TERMS, Term, backfill, mentions};

pub use row::{is_same_policy, policies as stored_policies, policy_rows};

/// The policies of the clusters that a question is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Policies {
    /// What does not depend on the time.
    newest: Judgement,
    /// What does, each once. The first is that of clusters without a stored policy.
    versions: Vec<Judgement>,
    /// By cluster, in order of time: from when on which version applies. The first also applies before.
    starts: BTreeMap<String, Vec<(Timestamp, usize)>>,
    /// What the reader's configuration replaces of the stored policies.
    overridden: Vec<String>,
}

/// A policy that is stored for a cluster, with the time from which it applies.
type Stored = (Timestamp, Judgement);

impl Policies {
    /// Those that a lake stores for some clusters, or for all if none is named, under the reader's own.
    /// Files that cannot be read are named.
    pub(crate) async fn read(
        lake: &Lake,
        trackers: &Trackers,
        clusters: &[String],
        own: &Judgement,
    ) -> Result<(Policies, Vec<SkippedFile>)> {
        let is_chosen = |cluster: &String| clusters.is_empty() || clusters.contains(cluster);
        let chosen = trackers.keys().filter(|cluster| is_chosen(cluster));
        let mut rows: BTreeMap<String, Vec<SitePolicy>> =
            chosen.map(|cluster| (cluster.clone(), Vec::new())).collect();
        let mut skipped = Vec::new();
        for file in lake.policy_files(trackers).await? {
            if !is_chosen(&file.cluster) {
                continue;
            }
            match lake.read::<SitePolicy>(&file.cluster, &file.meta.location).await {
                Ok(read) => rows.entry(file.cluster).or_default().extend(read),
                Err(error) => skipped.push(SkippedFile {
                    path: lake.shown(&file.meta.location),
                    reason: format!("{error:#}"),
                }),
            }
        }
        let stored = rows.into_iter().map(|(cluster, rows)| {
            let policies = row::policies(&cluster, rows);
            (cluster, policies)
        });
        Ok((Policies::new(own, stored.collect()), skipped))
    }

    /// The reader's own policy alone.
    pub(crate) fn own(own: &Judgement) -> Policies {
        Policies::new(own, BTreeMap::new())
    }

    /// Of what is stored for each cluster, in order of time.
    fn new(own: &Judgement, stored: BTreeMap<String, Vec<Stored>>) -> Policies {
        let mut policies = Policies {
            newest: own.clone(),
            versions: vec![of_time(own)],
            starts: BTreeMap::new(),
            overridden: Vec::new(),
        };
        let mut newest = Vec::new();
        for (cluster, stored) in stored {
            let Some((_, last)) = stored.last() else {
                policies.starts.insert(cluster, vec![(Timestamp::MIN, 0)]);
                continue;
            };
            let is_overridden = |part: &Part| part.is_overridden(own, last, &cluster);
            let overridden: Vec<Part> = Part::ALL.into_iter().filter(is_overridden).collect();
            let named = overridden.iter().map(|part| format!("{} of {cluster}", part.name()));
            policies.overridden.extend(named);
            let mut starts = Vec::new();
            for (start, policy) in &stored {
                let mut policy = policy.clone();
                overridden.iter().for_each(|part| part.put(own, &mut policy, &cluster));
                starts.push((*start, policies.place(&policy)));
                if starts.len() == stored.len() {
                    newest.push(policy);
                }
            }
            policies.starts.insert(cluster, starts);
        }
        if !newest.is_empty() {
            // What the reader says of clusters without a stored policy.
            newest.push(own.clone());
            policies.newest = together(newest);
        }
        policies
    }

    fn place(&mut self, policy: &Judgement) -> usize {
        let version = of_time(policy);
        self.versions.iter().position(|known| *known == version).unwrap_or_else(|| {
            self.versions.push(version);
            self.versions.len() - 1
        })
    }

    /// Class names and models, and the policy of now.
    pub(crate) fn newest(&self) -> &Judgement {
        &self.newest
    }

    /// The number of the policy that applies to a cluster at a time in microseconds.
    pub(crate) fn number_at(&self, cluster: &str, time: i64) -> usize {
        self.starts.get(cluster).and_then(|starts| in_force(starts, time)).copied().unwrap_or(0)
    }

    /// A policy by its number, for masks, owners and backfill.
    pub(crate) fn numbered(&self, number: usize) -> &Judgement {
        self.versions.get(number).unwrap_or(&self.versions[0])
    }

    /// The policy that applies to a cluster at a time in microseconds.
    pub(crate) fn at(&self, cluster: &str, time: i64) -> &Judgement {
        self.numbered(self.number_at(cluster, time))
    }

    /// The SQL expression for the number of the policy of a GPU span. It is constant where all policies
    /// judge machines in the same way, so that nothing is computed for each of millions of spans. A cluster
    /// of which nothing is known here, not even its manifest, is judged by the reader's own policy.
    pub(crate) fn number_sql(&self) -> String {
        let mut numbers = self.starts.values().flatten().map(|(_, number)| *number);
        let first = numbers.next().unwrap_or(0);
        let is_same = |number: usize| {
            let (one, other) = (self.numbered(first), self.numbered(number));
            one.masks == other.masks
                && one.institution_owned == other.institution_owned
                && one.researcher_owned == other.researcher_owned
        };
        match numbers.all(is_same) {
            true if is_same(0) => first.to_string(),
            true => {
                let quoted = |name: &String| format!("'{}'", name.replace('\'', "''"));
                let known = self.starts.keys().map(quoted).collect::<Vec<_>>().join(", ");
                format!("CASE WHEN cluster IN ({known}) THEN {first} ELSE 0 END")
            }
            false => "policy_of(cluster, start_time)".to_owned(),
        }
    }

    /// Whether reports may leave anything out at all.
    pub(crate) fn leaves_out(&self) -> bool {
        self.newest.leaves_out() || self.versions.iter().any(|version| !version.masks.is_empty())
    }

    /// What a reader must know of an override.
    pub(crate) fn note(&self) -> Option<String> {
        (!self.overridden.is_empty()).then(|| {
            format!(
                "This reader's configuration overrides the stored site policy: {}.",
                self.overridden.join(", ")
            )
        })
    }
}

/// What applies at a time in microseconds, of what applies from some times on, in their order. The first
/// also applies before.
fn in_force<T>(starts: &[(Timestamp, T)], time: i64) -> Option<&T> {
    let after = starts.partition_point(|(start, _)| start.as_microsecond() <= time);
    starts.get(after.saturating_sub(1)).map(|(_, value)| value)
}

/// The policy that was in force at a time, of those that [`stored_policies`] returns.
pub fn policy_at(stored: &[(Timestamp, Judgement)], time: Timestamp) -> Option<&Judgement> {
    in_force(stored, time.as_microsecond())
}

/// The policy that a collection stores: that of the configuration. A part that the configuration does not
/// give, such as imported masks, stays as the newest stored policy has it.
pub fn collected_policy(own: &Judgement, cluster: &str, newest: Vec<SitePolicy>) -> Judgement {
    let Some((_, mut policy)) = row::policies(cluster, newest).pop() else { return own.clone() };
    let given = Part::ALL.into_iter().filter(|part| part.is_overridden(own, &policy, cluster));
    given.collect::<Vec<Part>>().iter().for_each(|part| part.put(own, &mut policy, cluster));
    policy
}

/// The policies of now.
#[derive(Clone, Debug)]
pub struct CurrentPolicy {
    /// Class names and models, and the rules of all clusters together.
    pub all: Judgement,
    of_cluster: BTreeMap<String, Judgement>,
    /// That of clusters without a stored policy.
    own: Judgement,
}

impl CurrentPolicy {
    fn new(policies: Policies) -> CurrentPolicy {
        let of = |version: &Judgement| Judgement {
            class_names: policies.newest.class_names.clone(),
            devices: policies.newest.devices.clone(),
            hidden_families: policies.newest.hidden_families.clone(),
            ..version.clone()
        };
        let of_cluster = |(cluster, starts): (&String, &Vec<(Timestamp, usize)>)| {
            let (_, newest) = starts.last()?;
            Some((cluster.clone(), of(policies.numbered(*newest))))
        };
        CurrentPolicy {
            of_cluster: policies.starts.iter().filter_map(of_cluster).collect(),
            own: of(&policies.versions[0]),
            all: policies.newest,
        }
    }

    /// The reader's own policy alone.
    pub fn own(own: &Judgement) -> CurrentPolicy {
        CurrentPolicy::new(Policies::own(own))
    }

    /// The policy of a cluster.
    pub fn of(&self, cluster: &str) -> &Judgement {
        self.of_cluster.get(cluster).unwrap_or(&self.own)
    }
}

/// The policies of now, by what a lake stores and by the reader's own.
pub async fn current_policy(lake: &Lake, own: &Judgement) -> Result<CurrentPolicy> {
    let trackers = lake.trackers().await?;
    Ok(CurrentPolicy::new(Policies::read(lake, &trackers, &[], own).await?.0))
}

/// Whether the answer of a statement depends on the site policy.
pub(crate) fn concerns(sql: &str) -> bool {
    let judged = crate::function::judged_names();
    let is_judged = |sql: &str| judged.iter().any(|function| mentions(sql, function));
    let is_term_judged = |term: &Term| {
        is_judged(term.sql) || TERMS.iter().any(|other| term.uses(other) && is_judged(other.sql))
    };
    is_judged(sql)
        || backfill::TABLES.iter().any(|(name, _)| mentions(sql, name))
        || TERMS.iter().any(|term| mentions(sql, term.name) && is_term_judged(term))
}

/// A part of a policy that a configuration may give.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Backfill,
    InstitutionOwned,
    ResearcherOwned,
    Masks,
    Classes,
    Devices,
    HiddenFamilies,
}

impl Part {
    const ALL: [Part; 7] = [
        Part::Backfill,
        Part::InstitutionOwned,
        Part::ResearcherOwned,
        Part::Masks,
        Part::Classes,
        Part::Devices,
        Part::HiddenFamilies,
    ];

    /// As the configuration calls it.
    fn name(self) -> &'static str {
        match self {
            Part::Backfill => "backfill partitions and QOS",
            Part::InstitutionOwned => "gpu.institution_owned",
            Part::ResearcherOwned => "gpu.researcher_owned",
            Part::Masks => "gpu.masks",
            Part::Classes => "gpu.classes",
            Part::Devices => "gpu.device",
            Part::HiddenFamilies => "gpu.hidden_families",
        }
    }

    /// Whether a configuration has this part, and another one than is stored. One that is as the newest
    /// stored policy is the collector's own: what applied before it stays.
    fn is_overridden(self, own: &Judgement, stored: &Judgement, cluster: &str) -> bool {
        fn differs<T: PartialEq>(own: &[T], stored: &[T]) -> bool {
            !own.is_empty() && own != stored
        }
        match self {
            Part::Backfill => {
                let given = own.preemptible_of(cluster);
                given.is_some() && given != stored.preemptible_of(cluster)
            }
            Part::InstitutionOwned => differs(&own.institution_owned, &stored.institution_owned),
            Part::ResearcherOwned => differs(&own.researcher_owned, &stored.researcher_owned),
            Part::Masks => differs(&own.masks, &stored.masks),
            Part::Classes => differs(&own.class_names, &stored.class_names),
            Part::Devices => {
                let devices = |policy: &Judgement| row::by_pattern(policy.own_devices());
                differs(&devices(own), &devices(stored))
            }
            Part::HiddenFamilies => differs(&own.hidden_families, &stored.hidden_families),
        }
    }

    /// Takes this part from a configuration.
    fn put(self, own: &Judgement, policy: &mut Judgement, cluster: &str) {
        match self {
            Part::Backfill => {
                let of_cluster = |place: &&Preemptible| place.cluster == cluster;
                policy.preemptible = own.preemptible.iter().filter(of_cluster).cloned().collect();
            }
            Part::InstitutionOwned => policy.institution_owned = own.institution_owned.clone(),
            Part::ResearcherOwned => policy.researcher_owned = own.researcher_owned.clone(),
            Part::Masks => policy.masks = own.masks.clone(),
            Part::Classes => policy.class_names = own.class_names.clone(),
            Part::Devices => policy.set_own_devices(own.own_devices().to_vec()),
            Part::HiddenFamilies => policy.hidden_families = own.hidden_families.clone(),
        }
    }
}

/// What of a policy depends on the time.
fn of_time(policy: &Judgement) -> Judgement {
    Judgement {
        institution_owned: policy.institution_owned.clone(),
        researcher_owned: policy.researcher_owned.clone(),
        masks: policy.masks.clone(),
        preemptible: policy.preemptible.clone(),
        class_names: Vec::new(),
        devices: Vec::new(),
        hidden_families: Vec::new(),
    }
}

/// The policies of several clusters as one. Where they contradict each other, the first applies.
fn together(policies: Vec<Judgement>) -> Judgement {
    fn add<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
        for one in more {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    let (mut all, mut devices) = (Judgement::default(), Vec::new());
    for policy in policies {
        add(&mut devices, policy.own_devices().to_vec());
        add(&mut all.institution_owned, policy.institution_owned);
        add(&mut all.researcher_owned, policy.researcher_owned);
        add(&mut all.masks, policy.masks);
        add(&mut all.class_names, policy.class_names);
        add(&mut all.hidden_families, policy.hidden_families);
        add(&mut all.preemptible, policy.preemptible);
    }
    all.set_own_devices(devices);
    all
}

#[cfg(test)]
mod tests;
