//! Asks a scheduler.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use ballista_core::execution_plans::execute_physical_plan;
use ballista_core::extension::SessionConfigExt;
use ballista_core::ids::new_instance_id;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result as EngineResult;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::TryStreamExt;
use query::Engine;
use tokio::net::TcpStream;
use url::Url;

use crate::LARGEST_MESSAGE;
use crate::codec::Codec;

/// Into how many parts a question is split; a cluster may have any number of cores.
const PARTS: usize = 16;
const DEFAULT_PORT: u16 = 50050;
/// How long a scheduler may take to be there.
const PATIENCE: Duration = Duration::from_secs(10);

/// A scheduler that is asked.
#[derive(Debug)]
pub struct Remote {
    /// In brackets if it is an address of IPv6.
    host: String,
    port: u16,
    /// What the scheduler knows this process by.
    session: String,
}

impl Remote {
    /// The scheduler of an address such as `df://host:50050`; the error says what is wrong with it.
    pub fn new(address: &str) -> Result<Remote> {
        let url = Url::parse(address).ok().filter(|url| url.scheme() == "df");
        let Some((host, port)) = url.as_ref().and_then(|url| Some((url.host_str()?, url.port())))
        else {
            bail!(
                "{address:?} is no scheduler: write df://HOST:PORT, such as df://localhost:50050"
            );
        };
        let (host, port) = (host.to_owned(), port.unwrap_or(DEFAULT_PORT));
        Ok(Remote { host, port, session: new_instance_id() })
    }
}

#[async_trait]
impl Engine for Remote {
    async fn check(&self) -> Result<()> {
        let Remote { host, port, .. } = self;
        let connecting = TcpStream::connect((host.trim_matches(['[', ']']), *port));
        let connected = match tokio::time::timeout(PATIENCE, connecting).await {
            Ok(connected) => connected.map(drop).map_err(anyhow::Error::from),
            Err(_) => Err(anyhow::anyhow!("no answer in {} seconds", PATIENCE.as_secs())),
        };
        connected.with_context(|| {
            format!(
                "cannot reach the scheduler at {host}:{port}; `plimsoll scheduler` starts one, and \
                 without --engine this process works it out"
            )
        })
    }

    fn settings(&self, settings: SessionConfig) -> SessionConfig {
        settings
            .with_target_partitions(PARTS)
            .upgrade_for_ballista()
            .with_ballista_grpc_client_max_message_size(LARGEST_MESSAGE as usize)
            // As in one process, so that a plan has the same types wherever it is worked out.
            .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", true)
    }

    async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        settings: &SessionConfig,
        known: Vec<u8>,
    ) -> EngineResult<Vec<RecordBatch>> {
        let (config, codec) = (settings.ballista_config(), Codec::sending(known));
        let rows = execute_physical_plan::<PhysicalPlanNode>(
            format!("http://{}:{}", self.host, self.port),
            &config,
            plan,
            &codec,
            self.session.clone(),
            settings.clone(),
        );
        rows.await?.try_collect().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_host_and_may_name_a_port() {
        let read = |address| Remote::new(address).map(|remote| (remote.host, remote.port)).ok();
        assert_eq!(read("df://plans.example.org:7000"), Some(("plans.example.org".into(), 7000)));
        assert_eq!(read("df://localhost"), Some(("localhost".into(), 50050)));
        assert_eq!(read("df://[::1]:7000"), Some(("[::1]".into(), 7000)));
        for wrong in ["", "df://", "localhost:50050", "http://localhost:50050", "df://host:port"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn one_that_is_not_there_is_said_so_with_what_to_do() {
        // A port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let remote = Remote::new(&format!("df://{free}")).unwrap();
        let error = remote.check().await.unwrap_err().to_string();
        assert!(error.contains("plimsoll scheduler"), "{error}");
    }
}
