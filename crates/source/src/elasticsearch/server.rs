//! A server that keeps job ads or takes ours, and what it means where it gives none.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::{Content, Failure, Machine, Method, Request, Response, Secret};

/// Where documents are kept, and how one is let in.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Such as `https://search.example.org:9200`, with a path where there is one before the API's.
    pub url: String,
    /// The index or indexes, such as `htcondor-epochs-*`.
    pub index: String,
    pub purpose: Purpose,
    /// None where the server asks for nobody's name.
    pub credential: Option<Credential>,
    /// The certificates that are trusted, in PEM; those that this machine trusts if none are given.
    pub certificates: Option<Arc<str>>,
}

/// What a server is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Read,
    Write,
}

impl Purpose {
    /// What one must be allowed to do with the index.
    fn privileges(self) -> &'static str {
        match self {
            Purpose::Read => "read and view_index_metadata",
            Purpose::Write => "index, create_index and view_index_metadata",
        }
    }
}

/// What the server is told of who asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Credential {
    header: Secret,
    /// What it is and where it came from, for a message: not what it says.
    shown: String,
}

impl Credential {
    /// A user's name and password. `origin` says where the password was read.
    pub fn basic(user: &str, password: &str, origin: &str) -> Credential {
        let pair = STANDARD.encode(format!("{user}:{password}"));
        Credential {
            header: Secret::new(format!("Basic {pair}")),
            shown: format!("the password of {user:?} ({origin})"),
        }
    }

    /// A key, as Elasticsearch gives it out: `encoded`, or `id:api_key`, which is encoded here.
    pub fn api_key(key: &str, origin: &str) -> Credential {
        let encoded = if key.contains(':') { STANDARD.encode(key) } else { key.to_owned() };
        Credential {
            header: Secret::new(format!("ApiKey {encoded}")),
            shown: format!("the API key ({origin})"),
        }
    }
}

/// How long a question may take; a page comes in seconds.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// An answer that is none, and what asking again can do.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server is busy or the connection broke: the same question may be answered later.
    Passing(Failure),
    /// What the server held for us is gone, or not there yet.
    Expired(Failure),
    /// This server has no such question, or does not let us ask it.
    Unknown(Failure),
    Lasting(Failure),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        match fault {
            Fault::Passing(failure)
            | Fault::Expired(failure)
            | Fault::Unknown(failure)
            | Fault::Lasting(failure) => failure,
        }
    }
}

impl Server {
    /// Asks; gives the text of a good answer.
    pub(super) fn ask(
        &self,
        machine: &dyn Machine,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, Fault> {
        self.send(machine, method, path, body.map(Value::to_string))
    }

    /// The same with a body that is written already.
    pub(super) fn send(
        &self,
        machine: &dyn Machine,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<Vec<u8>, Fault> {
        let request = Request {
            method,
            url: format!("{}/{path}", self.url.trim_end_matches('/')),
            body: body.map(Content::Json),
            authorization: self.credential.as_ref().map(|credential| credential.header.clone()),
            certificates: self.certificates.clone(),
            time_limit: TIME_LIMIT,
        };
        match machine.request(&request) {
            Ok(Response { status: 200, body }) => Ok(body),
            Ok(Response { status, body }) => Err(self.fault(status, &body)),
            Err(Failure::Unreachable { reason, may_pass, .. }) => {
                let remedy = if reason.contains("certificate") {
                    "; if the site has its own authority, name its file as ca_file"
                } else {
                    ""
                };
                // The path is ours; what the user can check is the server.
                let url = self.url.clone();
                let reason = format!("{reason}{remedy}");
                let failure = Failure::Unreachable { url, reason, may_pass };
                Err(if may_pass { Fault::Passing(failure) } else { Fault::Lasting(failure) })
            }
            Err(failure) => Err(Fault::Lasting(failure)),
        }
    }

    /// What an answer with the status of an error means, and what to do about it.
    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        let (kinds, words) = complaint(body);
        let is = |kind: &str| kinds.iter().any(|given| given == kind);
        let Server { url, index, .. } = self;
        let refused = |reason: String| Failure::Refused { reason };
        let said = if words.is_empty() { String::new() } else { format!(" ({words})") };
        match status {
            401 => Fault::Lasting(refused(match &self.credential {
                Some(credential) => {
                    let shown = &credential.shown;
                    format!("{url} does not accept {shown}: check it, or make a new one{said}")
                }
                None => format!(
                    "{url} wants to know who asks: name a user and a password_file, or an \
                     api_key_file, in the configuration{said}"
                ),
            })),
            403 => Fault::Unknown(refused(format!(
                "{url} does not let {} {} {index:?}: it needs the privileges {} there{said}",
                self.credential.as_ref().map_or("a stranger", |credential| &credential.shown),
                match self.purpose {
                    Purpose::Read => "read",
                    Purpose::Write => "write to",
                },
                self.purpose.privileges(),
            ))),
            404 if is("search_context_missing_exception") => {
                Fault::Expired(refused(format!("{url} no longer holds the search{said}")))
            }
            404 if is("index_not_found_exception") => match self.purpose {
                Purpose::Read => Fault::Lasting(refused(self.no_index())),
                Purpose::Write => {
                    Fault::Expired(refused(format!("{url} has no index {index:?}{said}")))
                }
            },
            429 | 500..=599 => {
                Fault::Passing(refused(format!("{url} answers with status {status}{said}")))
            }
            // Before types were gone, `/index/…` with no body was a document without one.
            400 | 404 | 405
                if ["no handler found", "Incorrect HTTP method", "request body is required"]
                    .iter()
                    .any(|known| words.contains(known)) =>
            {
                Fault::Unknown(refused(format!("{url} does not know this question{said}")))
            }
            300..=399 | 404 | 405 => Fault::Lasting(refused(format!(
                "{url} answers with status {status} and is not Elasticsearch or OpenSearch: check \
                 the url{said}"
            ))),
            _ => Fault::Lasting(refused(format!("{url} answers with status {status}{said}"))),
        }
    }

    pub(super) fn no_index(&self) -> String {
        let Server { url, index, .. } = self;
        format!(
            "{url} has no index {index:?}: write what condor_adstash writes to \
             (ADSTASH_SE_INDEX_NAME), with * where there are several"
        )
    }
}

/// Asks until there is an answer, or until it is plain that there will be none; waits before it asks
/// again as long as is said, and so often.
pub(super) fn patiently<T>(
    machine: &dyn Machine,
    pauses: &[Duration],
    mut ask: impl FnMut() -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut pauses = pauses.iter();
    loop {
        match ask() {
            Err(Fault::Passing(failure)) => match pauses.next() {
                Some(pause) => machine.pause(*pause),
                None => return Err(Fault::Passing(failure)),
            },
            answer => return answer,
        }
    }
}

/// The kinds of an error, and what it says first: `{"error": {"type": …, "reason": …}}`, a bare
/// `{"error": "…"}`, or what some gateway wrote.
fn complaint(body: &[u8]) -> (Vec<String>, String) {
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return (Vec::new(), shortened(&String::from_utf8_lossy(body)));
    };
    let error = &answer["error"];
    let mut kinds = Vec::new();
    let causes = error["root_cause"].as_array().into_iter().flatten();
    for error in std::iter::once(error).chain(causes) {
        kinds.extend(error["type"].as_str().map(str::to_owned));
    }
    let reasons = [&error["root_cause"][0]["reason"], &error["reason"], error];
    let words = reasons.into_iter().find_map(Value::as_str).unwrap_or_default();
    (kinds, shortened(words))
}

/// The beginning of the first line that says something; of a page of HTML nothing is of use.
fn shortened(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.starts_with('<') { String::new() } else { line.chars().take(200).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(credential: Option<Credential>) -> Server {
        Server {
            url: "https://search.example.org:9200".into(),
            index: "htcondor-*".into(),
            purpose: Purpose::Read,
            credential,
            certificates: None,
        }
    }

    #[test]
    fn an_error_names_the_thing_and_the_remedy() {
        let user = Credential::basic("ann", "hidden", "password_file /etc/p");
        let key = Credential::api_key("id:hidden", "$KEY");
        for (credential, status, body, expected) in [
            (
                None,
                401,
                r#"{"error":{"type":"security_exception","reason":"missing authentication credentials for REST request [/]"},"status":401}"#,
                "https://search.example.org:9200 wants to know who asks: name a user and a password_file, or an api_key_file, in the configuration (missing authentication credentials for REST request [/])",
            ),
            (
                Some(&user),
                401,
                "Unauthorized",
                "https://search.example.org:9200 does not accept the password of \"ann\" (password_file /etc/p): check it, or make a new one (Unauthorized)",
            ),
            (
                Some(&key),
                403,
                r#"{"error":{"root_cause":[{"type":"security_exception","reason":"action [indices:data/read/field_caps] is unauthorized"}],"type":"security_exception","reason":"x"},"status":403}"#,
                "https://search.example.org:9200 does not let the API key ($KEY) read \"htcondor-*\": it needs the privileges read and view_index_metadata there (action [indices:data/read/field_caps] is unauthorized)",
            ),
            (
                None,
                404,
                r#"{"error":{"root_cause":[{"type":"index_not_found_exception","reason":"no such index [x]"}],"type":"index_not_found_exception","reason":"no such index [x]"},"status":404}"#,
                "https://search.example.org:9200 has no index \"htcondor-*\": write what condor_adstash writes to (ADSTASH_SE_INDEX_NAME), with * where there are several",
            ),
            (
                None,
                404,
                "<html>\n<title>404</title>",
                "https://search.example.org:9200 answers with status 404 and is not Elasticsearch or OpenSearch: check the url",
            ),
        ] {
            let fault = server(credential.cloned()).fault(status, body.as_bytes());
            assert_eq!(Failure::from(fault).to_string(), expected);
        }
    }

    #[test]
    fn what_may_pass_is_told_from_what_stays() {
        let fault = |status, body: &str| server(None).fault(status, body.as_bytes());
        assert!(matches!(fault(503, ""), Fault::Passing(_)));
        assert!(matches!(
            fault(429, r#"{"error":{"type":"circuit_breaking_exception"}}"#),
            Fault::Passing(_)
        ));
        let gone = r#"{"error":{"root_cause":[{"type":"search_context_missing_exception","reason":"No search context found for id [1]"}],"type":"search_phase_execution_exception"},"status":404}"#;
        assert!(matches!(fault(404, gone), Fault::Expired(_)));
        let unknown = r#"{"error":"no handler found for uri [/t/_pit] and method [POST]"}"#;
        assert!(matches!(fault(400, unknown), Fault::Unknown(_)));
        assert!(matches!(
            fault(400, r#"{"error":{"type":"parsing_exception","reason":"no [x]"}}"#),
            Fault::Lasting(_)
        ));
    }

    #[test]
    fn a_key_is_encoded_once_and_never_shown() {
        // base64 of `id:hidden`
        let encoded = Credential::api_key("aWQ6aGlkZGVu", "$KEY");
        assert_eq!(Credential::api_key("id:hidden", "$KEY"), encoded);
        let shown = format!("{:?}", server(Some(Credential::basic("ann", "hidden", "$P"))));
        assert!(
            !shown.contains("hidden") && !shown.contains(&STANDARD.encode("ann:hidden")),
            "{shown}"
        );
    }
}
