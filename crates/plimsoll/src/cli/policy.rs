//! The words of `plimsoll policy`.

use clap::{Args, Subcommand};

use super::Output;

#[derive(Subcommand)]
pub(crate) enum Policy {
    /// List the policies that are stored, with the times from which they apply
    List(PolicyList),
    /// Store the configuration's policy for an earlier time, in place of those stored since
    Set(PolicySet),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll policy list\n  \
    plimsoll policy list --cluster alder --format csv\n\n\
    The policy is what counts as backfill, who owns machines, which machines are masked, and what GPU\n\
    models are called and worth. `plimsoll collect` stores it whenever the configuration changes. The\n\
    first policy of a cluster also applies before its time.")]
pub(crate) struct PolicyList {
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Example:\n  \
    plimsoll policy set --from 2026-03-01 --cluster alder\n\n\
    Use it to correct the past. From that time on reports judge by the policy of plimsoll.toml; later\n\
    stored policies of the cluster are removed, earlier ones stay.")]
pub(crate) struct PolicySet {
    /// The day or moment from which the policy applies, such as 2026-03-01
    #[arg(long, value_name = "TIME")]
    pub(crate) from: String,
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
}
