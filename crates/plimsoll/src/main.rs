//! `plimsoll`: a command line in, an exit status out.

mod cli;
mod collector;
mod command;
mod config;
mod notify;
mod post;
mod sink;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Parser;
use lake::Place;
use tokio::runtime::{self, Runtime};

use cli::{Cli, Command, Current, Export, Exported, Import, Policy, Tool};

/// How a command ended that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// Done, and something was found that a person should look at.
    Findings,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log();
    match run(cli) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        // Whoever reads our output has read enough, as in `plimsoll report daily | head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {}", words(&error)));
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    let site = cli.site;
    let command = cli.command.unwrap_or(Command::Current(Current::default()));
    let runtime = runtime(&command)?;
    let outcome = match command {
        Command::Current(arguments) => command::current::run(&site.load()?, &arguments),
        Command::Nodes(arguments) => command::nodes::run(&site.load()?, &arguments),
        Command::Test(arguments) => {
            runtime.block_on(command::doctor::run(&site.load()?, &arguments))
        }
        Command::Import(Import { tool: Tool::SlurmUsage(arguments) }) => {
            runtime.block_on(command::import::slurm_usage::run(&site.load()?, &arguments))
        }
        Command::Import(Import { tool: Tool::Gpureports(arguments) }) => {
            runtime.block_on(command::import::gpureports::run(&site.load()?, &arguments))
        }
        Command::Reconcile(arguments) => {
            runtime.block_on(command::reconcile::run(&site.load()?, &arguments))
        }
        Command::Init(arguments) => command::init::run(&arguments),
        Command::Collect(arguments) => {
            runtime.block_on(command::collect::run(&site.load()?, &arguments))
        }
        Command::Reprocess(arguments) => {
            runtime.block_on(command::reprocess::run(&site.load()?, &arguments))
        }
        Command::Prune(arguments) => {
            runtime.block_on(command::prune::run(&site.load()?, &arguments))
        }
        Command::Compact(arguments) => {
            runtime.block_on(command::compact::run(&site.load()?, &arguments))
        }
        Command::Analyze(arguments) => {
            runtime.block_on(command::analyze::run(&site.load()?, &arguments))
        }
        Command::Report(arguments) => {
            runtime.block_on(command::report::run(&site.load()?, &arguments))
        }
        Command::Backfill(arguments) => {
            runtime.block_on(command::backfill::run(&site.load()?, &arguments))
        }
        Command::Allocations(arguments) => {
            runtime.block_on(command::allocations::run(&site.load()?, &arguments))
        }
        Command::Digest(arguments) => {
            runtime.block_on(command::digest::run(&site.load()?, &arguments))
        }
        Command::Notify(arguments) => {
            runtime.block_on(command::notify::run(&site.load()?, &arguments))
        }
        Command::Heatmap(arguments) => {
            runtime.block_on(command::picture::heatmap(&site.load()?, &arguments))
        }
        Command::Chart(arguments) => {
            runtime.block_on(command::picture::chart(&site.load()?, &arguments))
        }
        Command::Policy(Policy::List(arguments)) => {
            runtime.block_on(command::policy::list(&site.load()?, &arguments))
        }
        Command::Policy(Policy::Set(arguments)) => {
            runtime.block_on(command::policy::set(&site.load()?, &arguments))
        }
        Command::Sql(arguments) => runtime.block_on(command::sql::run(&site.load()?, &arguments)),
        Command::Status(arguments) => {
            runtime.block_on(command::status::run(&site.load()?, &arguments))
        }
        Command::Export(Export { what: Exported::Metrics(arguments) }) => {
            runtime.block_on(command::export::metrics(&site.load()?, &arguments))
        }
        Command::Export(Export { what: Exported::Jobs(arguments) }) => {
            runtime.block_on(command::export::jobs(&site.load()?, &arguments))
        }
        Command::Serve(arguments) => {
            runtime.block_on(command::serve::run(&site.load()?, &arguments))
        }
        Command::Scheduler(arguments) => {
            runtime.block_on(command::distributed::schedule(&arguments))
        }
        Command::Executor(arguments) => {
            runtime.block_on(command::distributed::execute(&site.load()?, &arguments))
        }
        Command::Site(arguments) => runtime.block_on(command::site::run(&site.load()?, &arguments)),
        Command::User(arguments) => command::access::user(&site.load()?, &arguments),
        Command::Token(arguments) => command::access::token(&site.load()?, &arguments),
        Command::Demo(arguments) => {
            let place = site.data_dir()?.unwrap_or(Place::Folder(arguments.folder.clone()));
            runtime.block_on(command::demo::run(&site.load()?, &arguments, &place))
        }
        Command::Completions(arguments) => command::shell::completions(&arguments),
        Command::Man(arguments) => command::shell::man(&arguments),
    };
    // What is left gives memory back that goes with the process.
    runtime.shutdown_background();
    outcome
}

/// A server has more threads than cores: who makes an answer holds his for long, and who is given one
/// that is kept should not wait for that.
fn runtime(command: &Command) -> io::Result<Runtime> {
    let mut builder = runtime::Builder::new_multi_thread();
    if let Command::Serve(_) = command {
        builder.worker_threads(4 * available_parallelism()?.get());
    }
    // The frames of planning are deep: tokio's 2 MiB do not hold the plan of gpu-usage in a build that is not
    // optimised, and a stack overflow ends the server. Only what is used of a stack takes memory.
    builder.thread_stack_size(STACK_BYTES);
    builder.enable_all().build()
}

/// As much as the first thread of a process has on Linux.
const STACK_BYTES: usize = 8 << 20;

/// Warnings and worse on stderr; `RUST_LOG` asks for more.
fn start_log() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let shown = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .without_time()
        .with_target(false)
        .finish();
    // What libraries log in their own way is not for users.
    tracing::subscriber::set_global_default(shown).expect("nobody shows events before");
}

/// Says something that is not part of the answer.
pub(crate) fn complain(message: &str) {
    // If stderr is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{message}");
}

/// What went wrong and why. Some libraries say in an error what its cause says; it is said once.
pub(crate) fn words(error: &anyhow::Error) -> String {
    let mut words = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::words;

    #[test]
    fn a_cause_that_was_said_is_not_said_again() {
        let refused = anyhow!("403: denied");
        let asked = refused.context("cannot ask s3.example.org: 403: denied");
        let read = asked.context("cannot read job.parquet");
        assert_eq!(words(&read), "cannot read job.parquet: cannot ask s3.example.org: 403: denied");
    }
}
