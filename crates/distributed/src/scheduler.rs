//! Plans who does what of a question.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::utils::{default_config_producer, default_session_builder};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use object_store::memory::InMemory;
use tokio::net::TcpListener;

use crate::codec::Codec;
use crate::only_lake::OnlyLake;
use crate::{LARGEST_MESSAGE, show_logs};

/// How long an executor that is not heard of counts as there. It says something every five seconds.
const PATIENCE_S: u64 = 20;

/// A scheduler that listens.
pub struct Scheduler {
    listener: TcpListener,
    address: SocketAddr,
}

impl Scheduler {
    pub async fn bind(address: SocketAddr) -> Result<Scheduler> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen at {address}"))?;
        let address = listener.local_addr()?;
        Ok(Scheduler { listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process ends.
    pub async fn serve(self) -> Result<()> {
        show_logs();
        let config = SchedulerConfig {
            bind_host: self.address.ip().to_string(),
            external_host: self.address.ip().to_string(),
            bind_port: self.address.port(),
            // Executors ask for work, so that only they and who asks need to reach others.
            scheduling_policy: TaskSchedulingPolicy::PullStaged,
            // Who asks may not reach the executors.
            enable_embedded_flight_proxy: true,
            executor_timeout_seconds: PATIENCE_S,
            no_executors_grace_period_seconds: PATIENCE_S,
            expire_dead_executor_interval_seconds: 5,
            grpc_server_max_decoding_message_size: LARGEST_MESSAGE,
            grpc_server_max_encoding_message_size: LARGEST_MESSAGE,
            grpc_client_max_message_size: LARGEST_MESSAGE,
            override_physical_codec: Some(Arc::new(Codec::default())),
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_memory(
            config.scheduler_id.clone(),
            Arc::new(|config| {
                let runtime = RuntimeEnvBuilder::new()
                    // It reads nothing itself.
                    .with_object_store_registry(Arc::new(OnlyLake(Arc::new(InMemory::new()))))
                    .build_arc()?;
                Ok(SessionStateBuilder::new_from_existing(default_session_builder(config)?)
                    .with_runtime_env(runtime)
                    .build())
            }),
            Arc::new(default_config_producer),
        );
        let scheduler =
            create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config));
        let scheduler = scheduler.await.context("cannot start the scheduler")?;
        let served = start_grpc_service_with_listener(self.listener, scheduler).await;
        served.context("the scheduler stopped")
    }
}
