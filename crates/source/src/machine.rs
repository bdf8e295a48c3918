//! The one place that starts processes, opens sockets and reads the clock.

mod http;
mod mail;

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process_group};

pub use http::{Content, Method, Request, Response, Secret};
pub use mail::{Hypertext, Letter, MailServer, Security, is_mail_address};

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

    /// Hands a letter to a mail server.
    fn mail(&self, _letter: &Letter, server: &MailServer) -> Result<(), Failure> {
        Err(Failure::Unreachable {
            url: server.to_string(),
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
    /// How long a command may take; its own limit if there is none here.
    pub time_limit: Option<Duration>,
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

    fn mail(&self, letter: &Letter, server: &MailServer) -> Result<(), Failure> {
        mail::send(letter, server)
    }

    /// Stops a command at its time limit, together with the processes that it started.
    fn run(&self, command: &Command, sink: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let program = command.program.to_owned();
        let limit = self.time_limit.unwrap_or(command.time_limit);
        let end = Instant::now() + limit;
        let mut child = self.start(command)?;
        let output = pieces(child.stdout.take().expect("stdout was asked to be piped"));
        let complaint = text(child.stderr.take().expect("stderr was asked to be piped"));
        let printed = loop {
            let left = end.saturating_duration_since(Instant::now());
            match output.filled.recv_timeout(left) {
                Err(RecvTimeoutError::Disconnected) => break Ok(()),
                Ok(Err(error)) => break Err(Failure::Read { program: program.clone(), error }),
                // One that prints without end is stopped, too.
                Ok(Ok(piece)) if !left.is_zero() => {
                    sink(&piece.buffer[..piece.length]);
                    // Nobody fills it any more once all was printed.
                    let _ = output.emptied.send(piece.buffer);
                }
                Ok(Ok(_)) | Err(RecvTimeoutError::Timeout) => {
                    break Err(Failure::TimeLimit { program: program.clone(), limit });
                }
            }
        };
        if printed.is_err() {
            stop_group(&child);
        }
        let status = child.wait();
        printed?;
        let status = status.map_err(|error| Failure::Read { program: program.clone(), error })?;
        if status.success() {
            return Ok(());
        }
        let complaint = complaint.recv_timeout(COMPLAINT).unwrap_or_default();
        Err(Failure::Status { program, status: status.to_string(), complaint })
    }
}

/// Kills a command together with the processes that it started. They may have ended in the meantime.
fn stop_group(leader: &Child) {
    if let Some(group) = i32::try_from(leader.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// How long is waited for the complaint of a command that has ended.
const COMPLAINT: Duration = Duration::from_secs(1);

/// What comes through a pipe, until it ends, in buffers that go back and forth.
struct Pieces {
    filled: Receiver<io::Result<Piece>>,
    emptied: Sender<Vec<u8>>,
}

struct Piece {
    buffer: Vec<u8>,
    length: usize,
}

fn pieces(mut pipe: impl Read + Send + 'static) -> Pieces {
    // Several times what a pipe holds: to hand a piece over takes longer than to read it.
    const LONGEST: usize = 256 * 1024;
    let (sender, filled) = mpsc::sync_channel(1);
    let (emptied, spare) = mpsc::channel();
    thread::spawn(move || {
        loop {
            let mut buffer: Vec<u8> = spare.try_recv().unwrap_or_else(|_| vec![0; LONGEST]);
            let read = match fill(&mut pipe, &mut buffer) {
                Ok(0) => return,
                Ok(length) => Ok(Piece { buffer, length }),
                Err(error) => Err(error),
            };
            let is_over = read.is_err();
            // Nobody listens any more once the time is up.
            if sender.send(read).is_err() || is_over {
                return;
            }
        }
    });
    Pieces { filled, emptied }
}

/// Reads until a buffer is full or nothing comes any more.
fn fill(pipe: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match pipe.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// The most of a command's stderr that an error message quotes.
const LONGEST_COMPLAINT: u64 = 64 * 1024;

/// The text that comes through a pipe, at its end. The beginning is kept and the rest read, so that the command goes on.
fn text(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = (&mut pipe).take(LONGEST_COMPLAINT).read_to_end(&mut text);
        let _ = io::copy(&mut pipe, &mut io::sink());
        let _ = sender.send(String::from_utf8_lossy(&text).trim().to_owned());
    });
    receiver
}

impl Live {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
    fn start(&self, command: &Command) -> Result<Child, Failure> {
        let words = self.words(command);
        let mut process = std::process::Command::new(&words[0]);
        process
            .args(&words[1..])
            .envs(ENVIRONMENT)
            .process_group(0) // of its own, so that it can be stopped with all that it starts
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
        let machine = Live { prefix: vec!["nice".into()], ..Live::default() };
        assert_eq!(output(&machine, &command("printenv", &["TZ"])), Ok("UTC\n".into()));
    }

    #[test]
    fn words_through_ssh_are_quoted_for_the_shell_there() {
        let prefix = vec!["/usr/bin/ssh".into(), "login1".into()];
        let machine = Live { prefix, ..Live::default() };
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
    fn a_command_that_is_stopped_leaves_no_process() {
        let file = std::env::temp_dir().join(format!("plimsoll-stopped-{}", std::process::id()));
        let script = format!("tail -f /dev/null & echo $! >{}; wait", file.display());
        let mut hanging = command("sh", &["-c", &script]);
        // A loaded machine may need longer to start the shell.
        let pid = [50, 500, 5_000, 50_000].into_iter().find_map(|milliseconds| {
            hanging.time_limit = Duration::from_millis(milliseconds);
            let ended = Live::default().run(&hanging, &mut |_| {});
            assert!(matches!(ended, Err(Failure::TimeLimit { .. })), "{ended:?}");
            std::fs::read_to_string(&file).ok()?.trim().parse::<u32>().ok()
        });
        std::fs::remove_file(&file).unwrap();
        let status = format!("/proc/{}/status", pid.expect("the shell wrote a number"));
        let is_running = || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            text.contains("tail") && !text.contains("State:\tZ")
        };
        let end = Instant::now() + Duration::from_secs(60);
        while is_running() {
            assert!(Instant::now() < end, "it still runs");
            thread::yield_now();
        }
    }

    #[test]
    fn much_on_stderr_is_cut() {
        let loud = command("sh", &["-c", "yes no | head -c 10000000 >&2; exit 3"]);
        let said = output(&Live::default(), &loud).unwrap_err();
        assert!(said.starts_with("sh failed with exit status: 3: no"), "{}", &said[..80]);
        assert!(said.len() < 65 * 1024, "{}", said.len());
    }

    #[test]
    fn a_command_that_does_not_end_is_stopped() {
        let mut endless = command("tail", &["-f", "/dev/null"]);
        endless.time_limit = Duration::from_millis(10);
        assert_eq!(
            output(&Live::default(), &endless),
            Err("tail did not end within 0 s and was stopped".into())
        );
        // The site's own limit counts; what a wrapper started is not waited for, though it prints.
        let machine = Live { time_limit: Some(Duration::from_millis(10)), ..Live::default() };
        let wrapped = command("sh", &["-c", "yes; true"]);
        assert_eq!(
            output(&machine, &wrapped),
            Err("sh did not end within 0 s and was stopped".into())
        );
    }
}
