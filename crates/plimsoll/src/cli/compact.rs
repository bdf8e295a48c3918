//! The words of `plimsoll compact`.

use clap::Args;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll compact --dry-run            what there is to do\n  \
    plimsoll compact                      all clusters of the lake\n  \
    plimsoll compact alder                this one\n\n\
    Days of GPU samples that are over become spans, samples of such days go, and jobs are added up by\n\
    day in the site's zone. Collecting does all of it; this is for a cluster that is no longer collected,\n\
    a lake that was imported or is of an earlier version, and another zone. Reports say what they said.\n\
    It may be stopped, and goes on where it was. Exit status 1: something could not be read.")]
pub(crate) struct Compact {
    /// Only these clusters
    #[arg(value_name = "CLUSTER")]
    pub(crate) clusters: Vec<String>,
    /// Only tell what there is to do
    #[arg(long)]
    pub(crate) dry_run: bool,
}
