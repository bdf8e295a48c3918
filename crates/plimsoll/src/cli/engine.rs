//! Who works out an answer, on the command line.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use query::Engine;

/// Who works out an answer.
#[derive(Args)]
pub(crate) struct Workers {
    /// Have it worked out by the executors of this scheduler, such as df://host:50050 [default: by this process]
    #[arg(long, value_name = "URL", value_parser = crate::command::distributed::engine)]
    pub(crate) engine: Option<Arc<dyn Engine>>,
}

#[derive(Args)]
#[command(after_help = "Example:\n  \
    plimsoll scheduler --listen 10.0.0.1:50050\n  \
    plimsoll executor --scheduler 10.0.0.1:50050 --listen 10.0.0.2:50051      on each machine\n  \
    plimsoll report usage-by-user --days 365 --engine df://10.0.0.1:50050\n\n\
    It knows nothing of the lake, and runs until it is stopped. Nobody is asked who he is: whoever reaches\n\
    the address can read the history.")]
pub(crate) struct Scheduler {
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:50050", value_name = "ADDRESS")]
    pub(crate) listen: SocketAddr,
}

#[derive(Args)]
#[command(after_help = "Example:\n  \
    plimsoll executor --scheduler 10.0.0.1:50050 --listen 10.0.0.2:50051\n\n\
    It reads the lake of data_dir, which has to be the one that questions are asked about: on a shared\n\
    file system, or an object store. What executors hand each other lies in $TMPDIR. It uses all cores that\n\
    it is allowed, and runs until it is stopped.")]
pub(crate) struct Executor {
    /// The scheduler that it works for
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    pub(crate) scheduler: (String, u16),
    /// Address and port at which other executors fetch what this one made
    #[arg(long, default_value = "127.0.0.1:50051", value_name = "ADDRESS")]
    pub(crate) listen: SocketAddr,
}

fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let read = parts.and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    read.ok_or_else(|| "write HOST:PORT, such as localhost:50050".to_owned())
}
