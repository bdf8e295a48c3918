//! Asks a scheduler.

use std::sync::Arc;
use std::time::{Duration, Instant};

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
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use crate::LARGEST_MESSAGE;
use crate::codec::Codec;

/// Into how many parts a question is split; a cluster may have any number of cores.
const PARTS: usize = 16;
const DEFAULT_PORT: u16 = 50050;
/// How long a scheduler may take to answer, and executors to be there.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_OF_ANSWER: u64 = 4096;

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

    /// Whether the scheduler can plan anything, which it tells whoever asks by HTTP.
    async fn state(&self) -> std::io::Result<State> {
        let host = self.host.trim_matches(['[', ']']);
        let mut scheduler = TcpStream::connect((host, self.port)).await?;
        let question = format!("GET /readyz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        scheduler.write_all(question.as_bytes()).await?;
        let mut answer = String::new();
        scheduler.take(MOST_OF_ANSWER).read_to_string(&mut answer).await?;
        match answer.split(' ').nth(1) {
            Some("200") => Ok(State::Ready),
            Some("503") => Ok(State::WithoutExecutors),
            _ => Err(std::io::Error::other("it is no scheduler of ours")),
        }
    }
}

/// What a scheduler says of itself.
enum State {
    Ready,
    WithoutExecutors,
}

#[async_trait]
impl Engine for Remote {
    async fn check(&self) -> Result<()> {
        let address = format!("{}:{}", self.host, self.port);
        let begun = Instant::now();
        loop {
            let state = tokio::time::timeout(PATIENCE, self.state()).await;
            let state = state.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
            match state.with_context(|| {
                format!(
                    "cannot reach the scheduler at {address}; `plimsoll scheduler` starts one, and \
                     without --engine this process works it out"
                )
            })? {
                State::Ready => return Ok(()),
                // Those of a job that has just begun may be on their way.
                State::WithoutExecutors if begun.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                State::WithoutExecutors => bail!(
                    "nobody works for the scheduler at {address}; `plimsoll executor --scheduler \
                     {address}` does"
                ),
            }
        }
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
