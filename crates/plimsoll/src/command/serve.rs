//! `plimsoll serve`: the reports as web pages.

use anyhow::{Context, Result};
use lake::Lake;
use source::{Live, Machine};
use tokio::net::TcpListener;

use crate::cli::Serve;
use crate::config::Config;
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Serve) -> Result<Outcome> {
    let lake = Lake::open(&config.data_dir)?;
    let listener = TcpListener::bind(arguments.listen).await.with_context(|| {
        format!("cannot listen on {}; --listen names another", arguments.listen)
    })?;
    complain(&format!("http://{}/ until Ctrl-C", listener.local_addr()?));
    let site = serve::Site {
        lake,
        zone: config.zone.clone(),
        groups: config.groups.clone(),
        judgement: config.judgement.clone(),
        now: || Live::default().now(),
    };
    serve::run(listener, site, async {
        // Without a signal handler there is only the hard way to stop, which is as safe.
        let _ = tokio::signal::ctrl_c().await;
    })
    .await
    .context("the web server stopped")?;
    Ok(Outcome::Done)
}
