//! `plimsoll serve`: the reports as web pages, and metrics for Prometheus.

use anyhow::{Context, Result, bail};
use lake::Lake;
use serve::Access;
use source::{Live, Machine};
use tokio::net::TcpListener;

use crate::cli::Serve;
use crate::collector::Wanted;
use crate::command::collect::{Collecting, Order, chosen, stop_signal};
use crate::config::Config;
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Serve) -> Result<Outcome> {
    let lake = match arguments.collect {
        Some(_) => Lake::create(&config.data_dir)?,
        None => Lake::open(&config.data_dir)?,
    };
    let access = access(config, arguments)?;
    let listener = TcpListener::bind(arguments.listen).await.with_context(|| {
        format!("cannot listen on {}; --listen names another", arguments.listen)
    })?;
    let collecting = match arguments.collect {
        Some(cadence) => {
            let wanted = Wanted { days: 1, refresh: false, parallel: 4 };
            let lake = lake.clone().with_zone(&config.zone);
            let order = Order::new(config, lake, wanted);
            Some(Collecting::start(&order, chosen(config, &[])?, cadence))
        }
        None => None,
    };
    complain(&format!("http://{}/ until Ctrl-C", listener.local_addr()?));
    let site = serve::Site {
        lake,
        zone: config.zone.clone(),
        groups: config.groups.clone(),
        allocations: config.allocations.clone(),
        constants: config.constants.clone(),
        judgement: config.judgement.clone(),
        metrics: config.metrics,
        access,
        now: || Live::default().now(),
    };
    serve::run(listener, site, async {
        // Without a signal handler there is only the hard way to stop, which is as safe.
        let _ = stop_signal().await;
    })
    .await
    .context("the web server stopped")?;
    if let Some(collecting) = collecting {
        collecting.stop().await?;
    }
    Ok(Outcome::Done)
}

/// Who may see what. Nobody who can reach us from elsewhere sees anything by oversight.
fn access(config: &Config, arguments: &Serve) -> Result<Option<Access>> {
    let is_loopback = arguments.listen.ip().is_loopback();
    match &config.access {
        Some(access) => {
            // A proxy on this machine may ask for the whole world.
            let is_local = is_loopback && access.proxy.is_none();
            Ok(Some(Access { is_local, ..access.clone() }))
        }
        None if is_loopback => Ok(None),
        None => bail!(
            "{} can be reached from other machines, and nobody has said who may see what: write \
             [access] into plimsoll.toml (see docs/security.md), or listen on 127.0.0.1",
            arguments.listen
        ),
    }
}
