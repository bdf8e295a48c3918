//! The words of the command that writes the web pages.

use std::path::PathBuf;

use clap::Args;

use super::About;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll site /var/www/html/usage                 the last week, without names\n  \
    plimsoll site usage --days 30 --cluster alder     open usage/index.html\n  \
    plimsoll site staff-only --scope staff            with names, for who may see them\n  \
    20 * * * * plimsoll site /var/www/html/usage      a line for cron\n\n\
    These are the pages of `plimsoll serve`, all about one time, with a page for each user, account,\n\
    group, node and class of GPU slots that they name. Nothing can be chosen on them, and single jobs\n\
    have no page. A later run replaces the files, and removes those of the run before that are not\n\
    made any more.")]
pub(crate) struct Pages {
    /// The folder, made if it is not there; one with files that plimsoll did not write is refused
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) about: About,
    /// Who it is for: public has pseudonyms in the place of names, staff shows everything
    #[arg(long, default_value = "public", value_parser = ["public", "staff"])]
    pub(crate) scope: String,
}
