//! Letters that do not go out at once, and what is remembered of those that did.

use std::sync::Mutex;

use jiff::Timestamp;
use source::{Command, Security};

use super::*;

/// A machine whose server gives these answers, one a letter, and which does not wait.
struct Post {
    answers: Mutex<Vec<Result<(), Failure>>>,
    pauses: Mutex<Vec<u64>>,
}

impl Machine for Post {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn pause(&self, time: Duration) {
        self.pauses.lock().unwrap().push(time.as_secs());
    }

    fn run(&self, _: &Command, _: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        unreachable!("letters need no command")
    }

    fn mail(&self, _: &Letter, _: &MailServer) -> Result<(), Failure> {
        self.answers.lock().unwrap().remove(0)
    }
}

fn busy() -> Result<(), Failure> {
    let (url, reason) = ("mail:25".to_owned(), "451 later".to_owned());
    Err(Failure::Unreachable { url, reason, may_pass: true })
}

/// How it ended, and after which pauses.
fn check(answers: Vec<Result<(), Failure>>, ended: Result<(), &str>, pauses: &[u64]) {
    let post = Post { answers: Mutex::new(answers), pauses: Mutex::default() };
    let letter = Letter {
        id: "a".into(),
        from: "a@example.org".into(),
        reply_to: None,
        to: "b@example.org".into(),
        subject: String::new(),
        time: Timestamp::UNIX_EPOCH,
        text: String::new(),
        hypertext: None,
    };
    let server = MailServer {
        host: "mail".into(),
        port: 25,
        security: Security::None,
        login: None,
        certificates: None,
        time_limit: Duration::from_secs(1),
    };
    let patience = Patience { retries: 2, pause: Duration::from_secs(30) };
    let said = send(&post, &letter, &server, patience).map_err(|failure| failure.to_string());
    assert_eq!(said, ended.map_err(str::to_owned));
    assert_eq!(*post.pauses.lock().unwrap(), pauses);
}

#[test]
fn a_server_that_is_busy_is_asked_again_after_ever_longer_pauses() {
    check(vec![busy(), busy(), Ok(())], Ok(()), &[30, 60]);
    check(vec![busy(), busy(), busy()], Err("no answer from mail:25: 451 later"), &[30, 60]);
}

#[test]
fn a_server_that_refuses_is_not_asked_again() {
    let refusal = Err(Failure::Refused { reason: "550 no such user".into() });
    check(vec![refusal], Err("550 no such user"), &[]);
}

fn sent(what: &str, of: &str, to: &str) -> Sent {
    Sent { what: what.into(), of: of.into(), to: to.into() }
}

#[test]
fn what_was_noted_is_known_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    let weekly = sent("digest weekly", "2026-11-02/2026-11-09", "ann@example.org");
    assert_eq!(ledger.time_of(&weekly), None);
    ledger.note(weekly.clone(), time("2026-11-09T06:00:00Z")).unwrap();
    ledger.note(sent("notify", "1", "ann"), time("2026-11-01T00:00:00Z")).unwrap();
    ledger.note(sent("notify", "2", "ann"), time("2026-11-08T00:00:00Z")).unwrap();
    drop(ledger);

    let ledger = Ledger::look(folder.path()).unwrap();
    assert_eq!(ledger.time_of(&weekly), Some(time("2026-11-09T06:00:00Z")));
    assert_eq!(ledger.time_of(&sent("digest weekly", "", "ann@example.org")), None);
    assert_eq!(ledger.last("notify", "ann"), Some(time("2026-11-08T00:00:00Z")));
    assert_eq!(ledger.last("notify", "ben"), None);
}

#[test]
fn two_do_not_send_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let first = Ledger::open(folder.path()).unwrap();
    let said = Ledger::open(folder.path()).err().unwrap().to_string();
    assert!(said.contains("another plimsoll is sending letters"), "{said}");
    assert!(Ledger::look(folder.path()).is_ok());
    drop(first);
    assert!(Ledger::open(folder.path()).is_ok());
}

#[test]
fn a_ledger_that_cannot_be_read_stops_the_sending() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("ledger")).unwrap();
    std::fs::write(folder.path().join("ledger/sent.json"), "[{\"what\": ").unwrap();
    assert!(Ledger::open(folder.path()).err().unwrap().to_string().ends_with("is no ledger"));
}
