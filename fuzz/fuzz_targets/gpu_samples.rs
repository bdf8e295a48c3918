//! Who holds which GPU: any nodes with any jobs. Whatever the jobs are, a node's GPUs are there,
//! each once; whatever the other nodes are, its holder has his.
#![no_main]

use libfuzzer_sys::fuzz_target;
use source::slurm::{Backfill, gpu_samples};

const NODE: &str = "NodeName=a State=MIXED CPUTot=4 Gres=gpu:2 GresUsed=gpu:1 Partitions=main\n";
const JOB: &str = "JobId=1 JobName=x UserId=ann(1) JobState=RUNNING Partition=main \
                   AllocNode:Sid=l:1 Nodes=a CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:1) MinCPUsNode=1\n";

fuzz_target!(|data: &[u8]| {
    // The first byte says where the nodes end and the jobs begin.
    let (cut, text) = fuzz::piece_and_text(data);
    let (nodes, jobs) = text.split_at(cut.min(text.len()));
    let backfill = Backfill { partitions: vec!["spare".to_owned()], qos: Vec::new() };
    let samples = |nodes: &[u8], jobs: &[u8]| {
        let parsed = gpu_samples("maple", fuzz::time(), nodes, jobs, &backfill);
        assert!(parsed.rejects.iter().all(|reject| !reject.reason.is_empty()));
        parsed.records
    };
    samples(nodes, jobs);

    let with_any_jobs = samples(NODE.as_bytes(), text);
    assert!(with_any_jobs.len() >= 2);
    for (index, gpu) in with_any_jobs.iter().enumerate() {
        assert_eq!((gpu.machine.as_str(), gpu.gpu_id.to_string()), ("a", format!("gpu:{index}")));
        assert!(gpu.primary_user.is_none() || gpu.primary_job_id.is_some());
        assert!(gpu.primary_job_id.is_none() || gpu.primary_state.as_deref() == Some("Claimed"));
        assert!(gpu.backfill_job_id.is_none() || gpu.backfill_state.as_deref() == Some("Claimed"));
    }

    let among_any_nodes = samples(&[NODE.as_bytes(), text].concat(), JOB.as_bytes());
    let held: Vec<Option<&str>> =
        among_any_nodes[..2].iter().map(|gpu| gpu.primary_user.as_deref()).collect();
    assert_eq!(held, [None, Some("ann")]);
});
