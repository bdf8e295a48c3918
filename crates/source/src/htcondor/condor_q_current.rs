//! `condor_q`: the jobs that hold something now, and those that wait to.

use std::time::Duration;

use super::condor_q::{
    HELD, IDLE, LOCAL_UNIVERSE, RUNNING, SCHEDULER_UNIVERSE, SUSPENDED, TRANSFERRING_OUTPUT,
};
use super::{job_id, machine, name_option};
use crate::notation::classad::{Ad, Ads};
use crate::{Command, CurrentJob, Parsed, Parser, Phase};

/// Queries an access point, or the local one, for all jobs of all users that are not over. A person asks
/// this once, so that jobs which wait for CPUs alone are part of it, unlike in
/// [`condor_q`](super::condor_q()). Few attributes keep it small.
pub fn condor_q_current(schedd: Option<&str>) -> Command {
    const ATTRIBUTES: &str = "GlobalJobId,Owner,JobStatus,JobUniverse,RequestCpus,RequestGPUs,\
        CpusProvisioned,GPUsProvisioned,AssignedGPUs,RemoteHost";
    let wanted = format!(
        "JobUniverse != {SCHEDULER_UNIVERSE} && JobUniverse != {LOCAL_UNIVERSE} && \
         (JobStatus == {IDLE} || JobStatus == {HELD} || JobStatus == {RUNNING} || \
         JobStatus == {TRANSFERRING_OUTPUT} || JobStatus == {SUSPENDED})"
    );
    let mut arguments = name_option(schedd);
    arguments.extend(
        ["-allusers", "-json", "-constraint", &wanted, "-attributes", ATTRIBUTES]
            .map(str::to_owned),
    );
    Command { program: "condor_q", arguments, time_limit: Duration::from_secs(60) }
}

/// Reads what [`condor_q_current`] prints.
#[derive(Default)]
pub struct CondorQCurrent {
    jobs: Ads<Option<CurrentJob>>,
}

impl Parser<CurrentJob> for CondorQCurrent {
    fn push(&mut self, piece: &[u8]) {
        self.jobs.push(piece, job);
    }

    fn finish(self) -> Parsed<CurrentJob> {
        let Parsed { records, rejects } = self.jobs.finish();
        Parsed { records: records.into_iter().flatten().collect(), rejects }
    }
}

/// A job that is not over; none if it runs in no slot, or has ended.
fn job(text: &[u8]) -> Result<Option<CurrentJob>, String> {
    let ad = Ad::read(text)?;
    let global_job_id = ad.words("GlobalJobId").ok_or("the job has no GlobalJobId")?;
    let status = ad.integer("JobStatus").ok_or("the job has no JobStatus")?;
    if [SCHEDULER_UNIVERSE, LOCAL_UNIVERSE].map(Some).contains(&ad.integer("JobUniverse")) {
        return Ok(None);
    }
    let (phase, state) = match status {
        IDLE => (Phase::Waits, "IDLE"),
        HELD => (Phase::OnHold, "HELD"),
        RUNNING | TRANSFERRING_OUTPUT => (Phase::Holds, "RUNNING"),
        SUSPENDED => (Phase::Suspended, "SUSPENDED"),
        _ => return Ok(None),
    };
    // A job that does not ask for GPUs has no RequestGPUs. One with an expression may ask for some.
    let asked_gpus = match ad.get("RequestGPUs").filter(|value| !value.is_undefined()) {
        None => Some(0),
        Some(_) => ad.integer("RequestGPUs"),
    };
    let is_placed = phase == Phase::Holds;
    let assigned = || ad.gpu_ids("AssignedGPUs").map(|ids| ids.len() as i64);
    let held_gpus = || ad.integer("GPUsProvisioned").or_else(assigned);
    let held_cpus = ad.integer("CpusProvisioned").filter(|_| is_placed);
    let slot = ad.words("RemoteHost").filter(|_| is_placed);
    Ok(Some(CurrentJob {
        job_id: job_id(&global_job_id).into(),
        user: ad.words("Owner"),
        partition: None,
        phase,
        state: state.into(),
        nodes: Some(1),
        cpus: held_cpus.or_else(|| ad.integer("RequestCpus")),
        gpus: if is_placed { held_gpus().or(asked_gpus) } else { asked_gpus },
        is_exclusive: false,
        node_names: match (is_placed, slot) {
            (true, slot) => slot.map(|slot| vec![machine(&slot).to_owned()]),
            (false, _) => Some(Vec::new()),
        },
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::fixture;
    use super::*;
    use crate::parse;

    fn one(attributes: &str) -> Option<CurrentJob> {
        let ad = format!(r#"[{{{attributes},"GlobalJobId":"ap1#12.3#1000","Owner":"ann"}}]"#);
        let Parsed { mut records, rejects } = parse(CondorQCurrent::default(), ad.as_bytes());
        assert_eq!(rejects, []);
        records.pop()
    }

    /// The users' logs have 11 executions under way at 03:23:37: those that began by then and had not
    /// ended, by `truth/attempts.csv`.
    #[test]
    fn jobs_that_run_are_those_of_the_users_logs() {
        const SECOND: i64 = 1_794_713_017;
        let mut running: BTreeMap<String, CurrentJob> = BTreeMap::new();
        for access_point in ["ap2001", "ap2002"] {
            let text = fixture::read(&format!("2026-11-15T032337Z/q_{access_point}.json"));
            let Parsed { records, rejects } = parse(CondorQCurrent::default(), &text);
            assert_eq!(rejects, []);
            for job in records.into_iter().filter(|job| job.phase == Phase::Holds) {
                running.insert(fixture::name_in_logs(Some(&job.job_id)), job);
            }
        }
        let mut compared = 0;
        for row in fixture::table("truth/attempts.csv") {
            let second = |column: &str| row[column].parse::<i64>().ok();
            let has_begun = second("start_unix").unwrap() <= SECOND;
            if !has_begun || second("end_unix").is_some_and(|end| end <= SECOND) {
                continue;
            }
            let job = running.remove(&format!("{}:{}", row["ap"], row["job"])).unwrap();
            assert_eq!(job.user.as_deref(), Some(row["owner"].as_str()));
            assert_eq!(job.gpus.unwrap().to_string(), row["request_gpus"]);
            assert_eq!(job.node_names, Some(vec![row["machine"].clone()]));
            compared += 1;
        }
        assert_eq!((compared, running.len()), (11, 0));
    }

    #[test]
    fn a_job_that_waits_counts_its_request() {
        let job = one(r#""JobStatus":1,"RequestCpus":4,"RemoteHost":"slot1_1@gone""#).unwrap();
        assert_eq!((job.phase, job.cpus, job.gpus), (Phase::Waits, Some(4), Some(0)));
        assert_eq!(job.node_names, Some(vec![]));
        let job = one(r#""JobStatus":1,"RequestGPUs":"/Expr(2 * Big)/""#).unwrap();
        assert_eq!((job.cpus, job.gpus), (None, None));
        let job = one(r#""JobStatus":5,"RequestGPUs":2"#).unwrap();
        assert_eq!((job.phase, job.gpus), (Phase::OnHold, Some(2)));
    }

    #[test]
    fn a_job_beside_the_access_point_holds_no_slot() {
        for attributes in [
            r#""JobStatus":2,"JobUniverse":7"#,
            r#""JobStatus":2,"JobUniverse":12"#,
            r#""JobStatus":4"#,
        ] {
            assert_eq!(one(attributes), None, "{attributes}");
        }
    }
}
