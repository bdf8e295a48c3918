//! The one place that starts processes, opens sockets and reads the clock.

mod http;

use std::io::{self, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;

pub use http::{Method, Request, Response, Secret};

/// Where commands run: the site's own machines, or a simulated site.
pub trait Machine: Send + Sync {
    fn now(&self) -> Timestamp;

    /// Waits before a command is asked again.
    fn pause(&self, time: Duration);

    /// Runs a command and hands what it prints to `sink`, piece by piece. What `sink` was given
    /// counts only if the command succeeds.
    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure>;

    /// Asks a server. An answer with the status of an error is an answer, too.
    fn request(&self, request: &Request) -> Result<Response, Failure> {
        Err(Failure::Unreachable {
            url: request.url.clone(),
            reason: "there are no servers at this site".to_owned(),
            may_pass: false,
        })
    }
}

/// A command of a scheduler, with its arguments, no shell between.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub program: &'static str,
    pub arguments: Vec<String>,
    pub time_limit: Duration,
}

/// Why a command gave nothing that counts.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{program} is not installed here; is its folder in PATH?")]
    Missing { program: String },
    #[error("cannot start {program}: {error}")]
    Start { program: String, error: io::Error },
    #[error("cannot read what {program} prints: {error}")]
    Read { program: String, error: io::Error },
    #[error("{program} did not end within {} s and was stopped", limit.as_secs())]
    TimeLimit { program: String, limit: Duration },
    #[error("{program} failed with {status}: {complaint}")]
    Status { program: String, status: String, complaint: String },
    #[error("no answer from {url}: {reason}")]
    Unreachable {
        url: String,
        reason: String,
        /// Whether asking again may help: a connection can break, a certificate stays what it is.
        may_pass: bool,
    },
    /// A server answered, and not with what it was asked for.
    #[error("{reason}")]
    Refused { reason: String },
}

/// The site itself: commands run here, or through a prefix such as `ssh login1`.
#[derive(Clone, Debug, Default)]
pub struct Live {
    pub prefix: Vec<String>,
}

/// What every scheduler's command is told: times in UTC, as seconds since the epoch, no site's own
/// formats, and the waiting tasks of an array in up to 4 KiB, where SLURM would end in `...` after
/// 64 bytes.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("TZ", "UTC"),
    ("SLURM_TIME_FORMAT", "%s"),
    ("SLURM_BITSTR_LEN", "4096"),
    ("LC_ALL", "C.UTF-8"),
];

/// Variables with which a user changes what SLURM's commands print, and of whom.
const REMOVED: [&str; 27] = [
    "SACCT_FORMAT",
    "SACCT_FEDERATION",
    "SACCT_LOCAL",
    "SCONTROL_FEDERATION",
    "SCONTROL_FUTURE",
    "SCONTROL_LOCAL",
    "SCONTROL_SIB",
    "SCONTROL_SIBLING",
    "SQUEUE_ACCOUNT",
    "SQUEUE_ALL",
    "SQUEUE_ARRAY",
    "SQUEUE_ARRAY_UNIQUE",
    "SQUEUE_FEDERATION",
    "SQUEUE_FORMAT",
    "SQUEUE_FORMAT2",
    "SQUEUE_LICENSES",
    "SQUEUE_NAMES",
    "SQUEUE_PARTITION",
    "SQUEUE_PRIORITY",
    "SQUEUE_QOS",
    "SQUEUE_SIB",
    "SQUEUE_SIBLING",
    "SQUEUE_SORT",
    "SQUEUE_STATES",
    "SQUEUE_USERS",
    "SINFO_FORMAT",
    "SLURM_CLUSTERS",
];

impl Machine for Live {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    #[expect(clippy::disallowed_methods, reason = "a scheduler that failed is given some time")]
    fn pause(&self, time: Duration) {
        thread::sleep(time);
    }

    fn request(&self, request: &Request) -> Result<Response, Failure> {
        http::request(request)
    }

    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let program = command.program.to_owned();
        let mut child = self.start(command)?;
        let mut output = child.stdout.take().expect("stdout was asked to be piped");
        let mut complaints = child.stderr.take().expect("stderr was asked to be piped");

        let watched = std::sync::Mutex::new(child);
        thread::scope(|scope| {
            let (ended, end) = mpsc::channel::<()>();
            let complaint = scope.spawn(move || {
                let mut text = Vec::new();
                // What is said on stderr is for an error message only: less of it will do.
                let _ = complaints.read_to_end(&mut text);
                String::from_utf8_lossy(&text).trim().to_owned()
            });
            let watch = {
                let watched = &watched;
                scope.spawn(move || {
                    let in_time = end.recv_timeout(command.time_limit)
                        != Err(mpsc::RecvTimeoutError::Timeout);
                    if !in_time {
                        // It may have ended by itself in the meantime, which is as good.
                        let _ = watched.lock().expect("no holder of this lock panics").kill();
                    }
                    in_time
                })
            };

            let mut piece = vec![0; 256 * 1024];
            let read = loop {
                match output.read(&mut piece) {
                    Ok(0) => break Ok(()),
                    Ok(length) => sink(&piece[..length]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                }
            };
            // The watcher waits on the other end of this channel; it may be gone already.
            let _ = ended.send(());
            let in_time = watch.join().expect("the watcher does not panic");
            let status = watched.lock().expect("no holder of this lock panics").wait();
            let complaint = complaint.join().expect("the reader of stderr does not panic");

            if !in_time {
                return Err(Failure::TimeLimit { program, limit: command.time_limit });
            }
            read.map_err(|error| Failure::Read { program: program.clone(), error })?;
            let status =
                status.map_err(|error| Failure::Read { program: program.clone(), error })?;
            if status.success() {
                Ok(())
            } else {
                Err(Failure::Status { program, status: status.to_string(), complaint })
            }
        })
    }
}

impl Live {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
    fn start(&self, command: &Command) -> Result<Child, Failure> {
        let words = self.words(command);
        let mut process = std::process::Command::new(&words[0]);
        process
            .args(&words[1..])
            .envs(ENVIRONMENT)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in REMOVED {
            process.env_remove(name);
        }
        process.spawn().map_err(|error| {
            let program = words[0].clone();
            if error.kind() == io::ErrorKind::NotFound {
                Failure::Missing { program }
            } else {
                Failure::Start { program, error }
            }
        })
    }

    /// The words to start: behind a prefix the environment has to travel as words too, and what
    /// goes through ssh is read by a shell there, so each word is quoted for it.
    fn words(&self, command: &Command) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(first) = self.prefix.first() {
            words.push("env".to_owned());
            words.extend(ENVIRONMENT.iter().map(|(name, value)| format!("{name}={value}")));
            words.push(command.program.to_owned());
            words.extend(command.arguments.iter().cloned());
            let through_shell = first.rsplit('/').next() == Some("ssh");
            if through_shell {
                words.iter_mut().for_each(|word| *word = quoted(word));
            }
            self.prefix.iter().cloned().chain(words).collect()
        } else {
            words.push(command.program.to_owned());
            words.extend(command.arguments.iter().cloned());
            words
        }
    }
}

/// A word as a POSIX shell reads it back unchanged.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: &'static str, arguments: &[&str]) -> Command {
        Command {
            program,
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            time_limit: Duration::from_secs(60),
        }
    }

    fn output(machine: &Live, command: &Command) -> Result<String, String> {
        let mut text = Vec::new();
        machine
            .run(command, &mut |piece| text.extend_from_slice(piece))
            .map_err(|failure| failure.to_string())?;
        Ok(String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_command_is_told_to_print_utc_seconds() {
        let said = output(&Live::default(), &command("sh", &["-c", "echo $TZ $SLURM_TIME_FORMAT"]));
        assert_eq!(said, Ok("UTC %s\n".into()));
    }

    #[test]
    fn a_prefix_carries_the_environment_with_it() {
        let machine = Live { prefix: vec!["nice".into()] };
        assert_eq!(output(&machine, &command("printenv", &["TZ"])), Ok("UTC\n".into()));
    }

    #[test]
    fn words_through_ssh_are_quoted_for_the_shell_there() {
        let machine = Live { prefix: vec!["/usr/bin/ssh".into(), "login1".into()] };
        let words = machine.words(&command("condor_status", &["-constraint", "Owner == \"o'x\""]));
        assert_eq!(words[..2], ["/usr/bin/ssh", "login1"]);
        assert_eq!(words[words.len() - 1], r#"'Owner == "o'\''x"'"#);
    }

    #[test]
    fn a_missing_program_is_named() {
        let said = output(&Live::default(), &command("no-such-scheduler", &[]));
        assert_eq!(
            said,
            Err("no-such-scheduler is not installed here; is its folder in PATH?".into())
        );
    }

    #[test]
    fn a_failing_command_is_quoted() {
        let said =
            output(&Live::default(), &command("sh", &["-c", "echo half; echo no >&2; exit 3"]));
        assert_eq!(said, Err("sh failed with exit status: 3: no".into()));
    }

    #[test]
    fn a_command_that_does_not_end_is_stopped() {
        let mut endless = command("tail", &["-f", "/dev/null"]);
        endless.time_limit = Duration::from_millis(10);
        assert_eq!(
            output(&Live::default(), &endless),
            Err("tail did not end within 0 s and was stopped".into())
        );
    }
}
