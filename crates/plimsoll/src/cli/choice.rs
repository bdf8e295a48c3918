//! What reports choose rows by: each has options of its own, of which the command line takes all.

use std::collections::BTreeMap;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use query::{ANALYSES, AnalysisOption};

use super::AnalysisOptions;

/// What was chosen, by the names of the options.
pub(crate) struct Choices(pub(crate) BTreeMap<String, String>);

/// Every option once that some report has, but for those which charts have too.
fn options() -> Vec<&'static AnalysisOption> {
    let others = AnalysisOptions::augment_args(Command::new("others"));
    let is_other = |name: &str| others.get_arguments().any(|other| other.get_long() == Some(name));
    let mut options: Vec<&AnalysisOption> = Vec::new();
    for option in ANALYSES.iter().flat_map(|analysis| analysis.options.iter()) {
        if !is_other(option.name) && options.iter().all(|known| known.name != option.name) {
            options.push(option);
        }
    }
    options
}

impl Args for Choices {
    fn augment_args(command: Command) -> Command {
        let take = |option: &'static AnalysisOption| {
            Arg::new(option.name).long(option.name).value_name("VALUE").help(option.meaning)
        };
        command.args(options().into_iter().map(take))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Choices::augment_args(command)
    }
}

impl FromArgMatches for Choices {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Choices, Error> {
        let chosen = |option: &AnalysisOption| {
            let value = matches.get_one::<String>(option.name)?;
            Some((option.name.to_owned(), value.clone()))
        };
        Ok(Choices(options().into_iter().filter_map(chosen).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Choices::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{self, Cli};

    #[test]
    fn every_option_of_every_report_is_taken() {
        for analysis in ANALYSES {
            for option in analysis.options.iter() {
                let flag = format!("--{}", option.name);
                let cli = Cli::try_parse_from(["plimsoll", "report", analysis.name, &flag, "x"]);
                let Ok(Cli { command: Some(cli::Command::Report(report)), .. }) = cli else {
                    panic!("report {} has no {flag}", analysis.name);
                };
                let mut said = report.options.said();
                said.extend(report.choices.0);
                assert_eq!(said, BTreeMap::from([(option.name.to_owned(), "x".to_owned())]));
            }
        }
    }
}
