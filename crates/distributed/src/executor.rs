//! Works on the parts of questions: reads the lake, and nothing else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use lake::Lake;
use tokio::net::TcpStream;

use crate::codec::Codec;
use crate::only_lake::OnlyLake;
use crate::{LARGEST_MESSAGE, show_logs};

/// How long a scheduler may take to be there.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

/// Works for a scheduler until the process is told to stop, and holds no more than so many bytes, or
/// most of the memory. What passes between executors lies in a temporary folder meanwhile.
pub async fn execute(
    lake: &Lake,
    scheduler: (String, u16),
    listen: SocketAddr,
    memory_limit: Option<u64>,
) -> Result<()> {
    show_logs();
    wait_for(&scheduler).await?;
    let work = tempfile::Builder::new().prefix("plimsoll-executor-").tempdir();
    let work = work.context("cannot make a temporary folder; TMPDIR names another place")?;
    let work_folder = work.path().to_path_buf();
    let registry = Arc::new(OnlyLake(lake.store()));
    let config = ExecutorProcessConfig {
        bind_host: listen.ip().to_string(),
        // Of one that listens everywhere the scheduler knows where its messages come from.
        external_host: Some(listen.ip()).filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string()),
        port: listen.port(),
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        scheduler_host: scheduler.0,
        scheduler_port: scheduler.1,
        work_dir: Some(work_folder.display().to_string()),
        memory_pool_size: memory_limit,
        grpc_max_decoding_message_size: LARGEST_MESSAGE,
        grpc_max_encoding_message_size: LARGEST_MESSAGE,
        // All that a question can be planned with, lists among them.
        override_function_registry: Some(Arc::new(BallistaFunctionRegistry::from(
            &SessionStateBuilder::new().with_default_features().build(),
        ))),
        override_physical_codec: Some(Arc::new(Codec::default())),
        override_runtime_producer: Some(Arc::new(move |_| {
            RuntimeEnvBuilder::new()
                .with_object_store_registry(registry.clone())
                .with_temp_file_path(&work_folder)
                .build_arc()
        })),
        ..ExecutorProcessConfig::default()
    };
    let executed = start_executor_process(Arc::new(config)).await;
    executed.with_context(|| format!("cannot work at {listen}"))
}

/// Waits until the scheduler is there: both may have been started at once.
async fn wait_for((host, port): &(String, u16)) -> Result<()> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect((host.as_str(), *port)).await {
            Ok(_) => return Ok(()),
            Err(_) if begun.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
            Err(error) => {
                return Err(error).with_context(|| {
                    format!("cannot reach the scheduler at {host}:{port}; `plimsoll scheduler` starts one")
                });
            }
        }
    }
}
