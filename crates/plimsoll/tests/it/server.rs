//! Runs `plimsoll serve`, and asks it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::program::command;

/// A server for one test; it ends with it.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// What it said before it listened.
    pub(crate) said_before: String,
}

impl Server {
    /// Starts `plimsoll` with these words, the last of which is `serve` or an option of it. It
    /// finds the programs of the folder's `bin`.
    pub(crate) fn start(folder: &Path, words: &[&str]) -> Server {
        let mut child = command(folder)
            .env("PATH", folder.join("bin"))
            .args(words)
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It says where it listens once it does.
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut said_before, mut line) = (String::new(), String::new());
        while !line.starts_with("http://") {
            said_before += &line;
            line.clear();
            let length = stderr.read_line(&mut line).unwrap();
            assert!(length > 0, "it ended: {said_before}");
        }
        // What else it says is read by nobody, and must not stop it.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let address = line.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        Server { child, address, said_before }
    }

    /// The head and the body of the answer.
    pub(crate) fn get(&self, path: &str) -> (String, String) {
        self.ask(&format!("GET {path}"), &[], "")
    }

    /// The same of a request with some headers and a body.
    pub(crate) fn ask(&self, what: &str, headers: &[&str], body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        write!(
            stream,
            "{what} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) =
            answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {what}"));
        (head.to_owned(), body.to_owned())
    }

    pub(crate) fn check(&self, path: &str, status: &str, part: &str) {
        let (head, body) = self.get(path);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        assert!(head.contains("content-security-policy: default-src 'none'"), "{path}: {head}");
        assert!(body.contains(part), "{path}: {part} is missing in:\n{body}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has then seen.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
