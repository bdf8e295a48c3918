//! Documents that are put into an index, many at a time. Each has an id of its own, so that one that
//! comes again takes the place of itself.

use std::time::Duration;

use serde_json::{Value, json};

use super::server::{Fault, Server, patiently};
use crate::{Failure, Machine, Method};

/// A document, and the id under which it takes the place of an earlier one.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub id: String,
    /// JSON, on one line.
    pub text: String,
}

/// What became of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    pub taken: u64,
    /// Those that the server will not take, however often it is asked.
    pub refused: u64,
    /// Which was the first of these, and why.
    pub first_refusal: Option<String>,
}

/// How many documents go at once, and of how many bytes: what a node takes without complaint.
const MOST_AT_ONCE: usize = 1000;
const MOST_BYTES: usize = 5 * 1024 * 1024;

/// How long is waited before what failed is pushed again. What is not taken then is pushed another
/// time: who collects does not wait for a server that restarts.
const PAUSES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];

/// Puts documents into the server's index. Where there is none it is made, with these mappings.
pub fn push(
    machine: &dyn Machine,
    server: &Server,
    mappings: &Value,
    documents: &[Document],
) -> Result<Pushed, Failure> {
    let mut pushed = Pushed::default();
    if documents.is_empty() {
        return Ok(pushed);
    }
    prepare(machine, server, mappings)?;
    let mut rest = documents;
    while !rest.is_empty() {
        let (batch, others) = rest.split_at(batch_length(rest));
        put(machine, server, batch, &mut pushed)?;
        rest = others;
    }
    Ok(pushed)
}

/// How many of the documents go at once: one at least.
fn batch_length(documents: &[Document]) -> usize {
    let mut bytes = 0;
    let fits = |document: &&Document| {
        bytes += document.id.len() + document.text.len();
        bytes <= MOST_BYTES
    };
    documents.iter().take(MOST_AT_ONCE).take_while(fits).count().max(1)
}

/// Makes the index if there is none: without mappings the server would guess the types of fields by the
/// first document.
fn prepare(machine: &dyn Machine, server: &Server, mappings: &Value) -> Result<(), Failure> {
    let index = &server.index;
    match patiently(machine, &PAUSES, || server.ask(machine, Method::Get, index, None)) {
        Err(Fault::Expired(_)) => {}
        // Who may not look may still write.
        Ok(_) | Err(Fault::Unknown(_)) => return Ok(()),
        Err(fault) => return Err(fault.into()),
    }
    let body = json!({ "mappings": mappings });
    match patiently(machine, &PAUSES, || server.ask(machine, Method::Put, index, Some(&body))) {
        Ok(_) => Ok(()),
        // Somebody else was quicker.
        Err(Fault::Lasting(failure)) if failure.to_string().contains("already exists") => Ok(()),
        Err(fault) => Err(fault.into()),
    }
}

/// Pushes a batch, and again what the server had no room for.
fn put(
    machine: &dyn Machine,
    server: &Server,
    batch: &[Document],
    pushed: &mut Pushed,
) -> Result<(), Failure> {
    let mut left: Vec<&Document> = batch.iter().collect();
    let outcome = patiently(machine, &PAUSES, || {
        let answer = server.send(machine, Method::Post, "_bulk", Some(body(server, &left)))?;
        let verdicts = verdicts(server, &answer, left.len()).map_err(Fault::Passing)?;
        let mut busy = None;
        let mut again = Vec::new();
        for (document, verdict) in left.iter().zip(verdicts) {
            match verdict {
                Verdict::Taken => pushed.taken += 1,
                Verdict::Busy(reason) => {
                    again.push(*document);
                    busy.get_or_insert(reason);
                }
                Verdict::Refused(reason) => {
                    pushed.refused += 1;
                    pushed.first_refusal.get_or_insert(format!("{}: {reason}", document.id));
                }
            }
        }
        left = again;
        match busy {
            None => Ok(()),
            Some(reason) => Err(Fault::Passing(Failure::Refused {
                reason: format!("{} did not take {} documents: {reason}", server.url, left.len()),
            })),
        }
    });
    outcome.map_err(Failure::from)
}

/// Two lines a document: what is to be done with it, and it.
fn body(server: &Server, documents: &[&Document]) -> String {
    let mut body = String::new();
    for Document { id, text } in documents {
        let action = json!({ "index": { "_index": server.index, "_id": id } });
        body += &format!("{action}\n{text}\n");
    }
    body
}

/// What a server said of a document.
#[derive(Debug, PartialEq)]
enum Verdict {
    Taken,
    /// Later, perhaps.
    Busy(String),
    Refused(String),
}

/// What it said of each, in their order.
fn verdicts(server: &Server, answer: &[u8], count: usize) -> Result<Vec<Verdict>, Failure> {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let items = answer["items"].as_array().filter(|items| items.len() == count);
    let items = items.ok_or_else(|| Failure::Refused {
        reason: format!("{} does not say what became of {count} documents", server.url),
    })?;
    Ok(items
        .iter()
        .map(|item| {
            let said = &item["index"];
            let reason = || {
                let [kind, words] = ["type", "reason"].map(|part| said["error"][part].as_str());
                format!("{} ({})", words.unwrap_or("no reason given"), kind.unwrap_or("no kind"))
            };
            match said["status"].as_u64() {
                Some(200..=299) => Verdict::Taken,
                Some(429 | 500..=599) => Verdict::Busy(reason()),
                _ => Verdict::Refused(reason()),
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use jiff::Timestamp;

    use super::super::Purpose;
    use super::*;
    use crate::{Command, Request, Response};

    /// A server that gives these answers, one after the other; it notes what it was asked, and how long
    /// was waited.
    #[derive(Default)]
    struct Scripted {
        answers: Mutex<Vec<(u16, &'static str)>>,
        heard: Mutex<Vec<String>>,
    }

    impl Machine for Scripted {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        fn pause(&self, time: Duration) {
            self.heard.lock().unwrap().push(format!("waited {} s", time.as_secs()));
        }

        fn run(&self, _: &Command, _: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
            unreachable!("only a server is asked")
        }

        fn request(&self, request: &Request) -> Result<Response, Failure> {
            let path = request.url.trim_start_matches("https://s/");
            let ids: Vec<&str> = request
                .body
                .iter()
                .flat_map(|body| body.text().lines())
                .filter(|line| line.starts_with("{\"index\""))
                .filter_map(|line| line.split("\"_id\":\"").nth(1)?.split('"').next())
                .collect();
            let line = format!("{:?} {path} {}", request.method, ids.join(" "));
            self.heard.lock().unwrap().push(line.trim_end().to_owned());
            let (status, body) = self.answers.lock().unwrap().remove(0);
            Ok(Response { status, body: body.into() })
        }
    }

    const THERE: (u16, &str) = (200, "{}");
    const NO_INDEX: (u16, &str) = (404, r#"{"error":{"type":"index_not_found_exception"}}"#);

    /// Pushes the documents `a` and `b`; compares what was heard, and what became of them.
    fn check(answers: &[(u16, &'static str)], heard: &[&str], outcome: &str) {
        let machine = Scripted { answers: Mutex::new(answers.to_vec()), ..Scripted::default() };
        let server = Server {
            url: "https://s".into(),
            index: "jobs".into(),
            purpose: Purpose::Write,
            credential: None,
            certificates: None,
        };
        let documents = ["a", "b"].map(|id| Document { id: id.into(), text: "{}".into() });
        let pushed = push(&machine, &server, &json!({}), &documents);
        let said = match pushed {
            Ok(Pushed { taken, refused, first_refusal }) => {
                format!("{taken} taken, {refused} refused {}", first_refusal.unwrap_or_default())
            }
            Err(failure) => failure.to_string(),
        };
        assert_eq!(said.trim_end(), outcome);
        assert_eq!(*machine.heard.lock().unwrap(), heard);
    }

    #[test]
    fn an_index_that_is_not_there_is_made_and_both_are_taken() {
        let both =
            r#"{"errors":false,"items":[{"index":{"status":201}},{"index":{"status":200}}]}"#;
        check(
            &[NO_INDEX, (200, "{}"), (200, both)],
            &["Get jobs", "Put jobs", "Post _bulk a b"],
            "2 taken, 0 refused",
        );
    }

    #[test]
    fn what_the_server_has_no_room_for_comes_again_alone() {
        let busy = r#"{"errors":true,"items":[{"index":{"status":201}},{"index":{"status":429,"error":{"type":"es_rejected_execution_exception","reason":"queue is full"}}}]}"#;
        let one = r#"{"errors":false,"items":[{"index":{"status":201}}]}"#;
        check(
            &[THERE, (200, busy), (503, ""), (200, one)],
            &[
                "Get jobs",
                "Post _bulk a b",
                "waited 1 s",
                "Post _bulk b",
                "waited 4 s",
                "Post _bulk b",
            ],
            "2 taken, 0 refused",
        );
        check(
            &[THERE, (200, busy), (503, ""), (503, ""), (503, "")],
            &[
                "Get jobs",
                "Post _bulk a b",
                "waited 1 s",
                "Post _bulk b",
                "waited 4 s",
                "Post _bulk b",
                "waited 15 s",
                "Post _bulk b",
            ],
            "https://s answers with status 503",
        );
    }

    #[test]
    fn what_the_server_refuses_is_told_and_does_not_come_again() {
        let refused = r#"{"errors":true,"items":[{"index":{"status":400,"error":{"type":"mapper_parsing_exception","reason":"failed to parse field [state]"}}},{"index":{"status":201}}]}"#;
        check(
            &[THERE, (200, refused)],
            &["Get jobs", "Post _bulk a b"],
            "1 taken, 1 refused a: failed to parse field [state] (mapper_parsing_exception)",
        );
    }

    #[test]
    fn who_may_not_write_is_told_what_is_lacking() {
        check(
            &[THERE, (403, "")],
            &["Get jobs", "Post _bulk a b"],
            "https://s does not let a stranger write to \"jobs\": it needs the privileges index, \
             create_index and view_index_metadata there",
        );
    }

    #[test]
    fn a_batch_has_an_end() {
        let document = |length: usize| Document { id: String::new(), text: "x".repeat(length) };
        assert_eq!(batch_length(&vec![document(10); 1500]), 1000);
        assert_eq!(batch_length(&[document(MOST_BYTES), document(1)]), 1);
        assert_eq!(batch_length(&[document(MOST_BYTES + 1), document(1)]), 1);
    }
}
