//! `plimsoll serve`: the reports as web pages, and metrics for Prometheus.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lake::Lake;
use serve::{Access, Clock, Coordinators, FetchRequest};
use source::slurm::{self, sacctmgr_show_coordinators};
use source::{Content, Live, Machine, Method, Request, Secret};
use tokio::net::TcpListener;

use crate::cli::Serve;
use crate::collector::Wanted;
use crate::command::collect::{Collecting, Order, Round, chosen, stop_signal};
use crate::command::{live, steps};
use crate::config::{Config, OpenId};
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Serve) -> Result<Outcome> {
    let lake = match arguments.collect {
        Some(_) => Lake::create(&config.data_dir)?,
        None => Lake::open(&config.data_dir)?,
    };
    let door = Door::open(config, arguments.listen).await?;
    let collecting = match arguments.collect {
        Some(cadence) => {
            let order = order(config, &lake);
            Some(Collecting::start(&order, chosen(config, &[])?, cadence))
        }
        None => None,
    };
    show(config, lake, door, collecting).await
}

/// Shows the pages and collects at one pace, also from clusters whose samples are valid for longer.
pub(super) async fn at_pace(config: &Config, door: Door, every: Duration) -> Result<Outcome> {
    let lake = Lake::create(&config.data_dir)?;
    let rounds = config.clusters.iter().map(|cluster| Round {
        cluster: cluster.clone(),
        machine: live::machine(cluster),
        every,
    });
    let collecting = Collecting::of(&order(config, &lake), rounds);
    show(config, lake, door, Some(collecting)).await
}

fn order(config: &Config, lake: &Lake) -> Order {
    let wanted = Wanted { days: 1, refresh: false, parallel: 4 };
    Order::new(config, lake.clone().with_zone(&config.zone), wanted)
}

/// Where visitors come in, and who may see what.
pub(super) struct Door {
    listener: TcpListener,
    access: Option<Access>,
}

impl Door {
    pub(super) async fn open(config: &Config, address: SocketAddr) -> Result<Door> {
        let access = access(config, address)?;
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address}; --listen names another"))?;
        Ok(Door { listener, access })
    }
}

/// Shows the pages until the process is told to stop, and ends what collects meanwhile.
async fn show(
    config: &Config,
    lake: Lake,
    Door { listener, access }: Door,
    collecting: Option<Collecting>,
) -> Result<Outcome> {
    complain(&format!("http://{}/ until Ctrl-C", listener.local_addr()?));
    let clock = config.clone();
    let site = serve::Site {
        access,
        coordinators: coordinators(config)?,
        steps: Some(steps::finder(config, &lake)),
        ..site(config, lake, Arc::new(move || clock.now()))
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

/// What pages are about, for those who need not say who they are.
pub(super) fn site(config: &Config, lake: Lake, now: Clock) -> serve::Site {
    serve::Site {
        lake,
        zone: config.zone.clone(),
        groups: config.groups.clone(),
        allocations: config.allocations.clone(),
        constants: config.constants.clone(),
        judgement: config.judgement.clone(),
        memory: config.memory.clone(),
        metrics: config.metrics,
        access: None,
        now,
        fetch,
        coordinators: None,
        steps: None,
    }
}

/// Who may see what. Nobody who can reach us from elsewhere sees anything by oversight.
fn access(config: &Config, address: SocketAddr) -> Result<Option<Access>> {
    let is_loopback = address.ip().is_loopback();
    match &config.access {
        Some(access) => {
            // A proxy on this machine may ask for the whole world.
            let is_encrypted = config.openid.as_ref().is_some_and(OpenId::is_reached_by_https);
            let is_local = is_loopback && access.proxy.is_none() && !is_encrypted;
            let openid = config.openid.as_ref().map(OpenId::provider).transpose()?;
            Ok(Some(Access { is_local, openid, ..access.clone() }))
        }
        None if is_loopback => Ok(None),
        None => bail!(
            "{address} can be reached from other machines, and nobody has said who may see what: write \
             [access] into plimsoll.toml (see docs/security.md), or listen on 127.0.0.1"
        ),
    }
}

/// Asks a provider of single sign-on.
fn fetch(request: &FetchRequest) -> Result<(u16, Vec<u8>), String> {
    let request = Request {
        method: if request.form.is_some() { Method::Post } else { Method::Get },
        url: request.url.clone(),
        body: request.form.clone().map(Content::Form),
        authorization: request.authorization.clone().map(|secret| Secret::new(secret.0)),
        certificates: request.certificates.clone(),
        time_limit: Duration::from_secs(10),
    };
    let answer = Live::default().request(&request).map_err(|failure| failure.to_string())?;
    Ok((answer.status, answer.body))
}

/// Asks each cluster that the configuration names who coordinates what. One that does not answer is
/// told, and those who coordinate accounts there do so until it does.
fn coordinators(config: &Config) -> Result<Option<Coordinators>> {
    if config.coordinators_of.is_empty() {
        return Ok(None);
    }
    let clusters = chosen(config, &config.coordinators_of)?;
    Ok(Some(Box::new(move || {
        let mut accounts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for cluster in &clusters {
            let text = live::text(&*live::machine(cluster), &sacctmgr_show_coordinators())
                .map_err(|failure| format!("{}: {failure}", cluster.name))?;
            for (user, more) in slurm::coordinators(&text) {
                accounts.entry(user).or_default().extend(more);
            }
        }
        Ok(accounts)
    })))
}
