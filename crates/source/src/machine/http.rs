//! Requests to servers, over TLS that is verified.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, RequestBuilder};

use super::Failure;

/// What a server is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub method: Method,
    /// Without a user or a password in it: it is told in messages.
    pub url: String,
    /// None with [`Method::Get`].
    pub body: Option<Content>,
    /// The value of the header of that name.
    pub authorization: Option<Secret>,
    /// The certificates that are trusted, in PEM; those that this machine trusts if none are given.
    pub certificates: Option<Arc<str>>,
    pub time_limit: Duration,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// JSON, or lines of it.
    Json(String),
    /// The fields of a form, as addresses write them.
    Form(String),
}

impl Content {
    pub fn text(&self) -> &str {
        let (Content::Json(text) | Content::Form(text)) = self;
        text
    }

    fn media_type(&self) -> &'static str {
        match self {
            Content::Json(_) => "application/json",
            Content::Form(_) => "application/x-www-form-urlencoded",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

/// What is sent and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

/// More than a page of a thousand of the longest ads; less than would fill the memory.
const LONGEST_ANSWER: u64 = 1024 * 1024 * 1024;

pub(super) fn request(request: &Request) -> Result<Response, Failure> {
    let unreachable = |error: ureq::Error| Failure::Unreachable {
        url: request.url.clone(),
        reason: reason(&error),
        may_pass: may_pass(&error),
    };
    let agent = agent(request.certificates.as_ref()).map_err(|reason| Failure::Unreachable {
        url: request.url.clone(),
        reason,
        may_pass: false,
    })?;
    let body = request.body.as_ref().map_or("", Content::text);
    let answered = match request.method {
        Method::Get => prepared(agent.get(&request.url), request).call(),
        Method::Post => prepared(agent.post(&request.url), request).send(body),
        Method::Put => prepared(agent.put(&request.url), request).send(body),
        Method::Delete => {
            prepared(agent.delete(&request.url), request).force_send_body().send(body)
        }
    };
    let mut answer = answered.map_err(unreachable)?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
    Ok(Response { status, body: body.map_err(unreachable)? })
}

fn prepared<B>(mut asked: RequestBuilder<B>, request: &Request) -> RequestBuilder<B> {
    if let Some(secret) = &request.authorization {
        asked = asked.header("authorization", secret.reveal());
    }
    if let Some(body) = &request.body {
        asked = asked.header("content-type", body.media_type());
    }
    asked.config().timeout_global(Some(request.time_limit)).build()
}

/// One agent for those who trust the same certificates: it keeps connections open, and the
/// beginning of a TLS connection costs more than a page.
fn agent(certificates: Option<&Arc<str>>) -> Result<Agent, String> {
    static AGENTS: Mutex<Option<HashMap<Option<Arc<str>>, Agent>>> = Mutex::new(None);
    let mut agents = AGENTS.lock().expect("no holder of this lock panics");
    let agents = agents.get_or_insert_default();
    if let Some(agent) = agents.get(&certificates.cloned()) {
        return Ok(agent.clone());
    }
    let roots = match certificates {
        Some(text) => {
            let mut trusted = Vec::new();
            for item in parse_pem(text.as_bytes()) {
                match item {
                    Ok(PemItem::Certificate(certificate)) => trusted.push(certificate),
                    Ok(_) => {}
                    Err(error) => return Err(format!("its CA file cannot be read: {error}")),
                }
            }
            if trusted.is_empty() {
                return Err("its CA file has no certificate in PEM".to_owned());
            }
            RootCerts::Specific(Arc::new(trusted))
        }
        None => RootCerts::PlatformVerifier,
    };
    let config = Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .http_status_as_error(false)
        // Credentials are for the server that was named.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent("plimsoll")
        .build();
    let agent = Agent::new_with_config(config);
    agents.insert(certificates.cloned(), agent.clone());
    Ok(agent)
}

fn reason(error: &ureq::Error) -> String {
    match tls_error(error) {
        Some(problem) => format!("its certificate is not trusted: {problem}"),
        None => error.to_string(),
    }
}

/// What is wrong with a certificate, or with how the server speaks TLS.
fn tls_error(error: &ureq::Error) -> Option<String> {
    match error {
        ureq::Error::Rustls(error) => Some(error.to_string()),
        ureq::Error::Tls(problem) => Some((*problem).to_owned()),
        // rustls tells of a certificate through the socket that it stands on.
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            Some(error.to_string())
        }
        _ => None,
    }
}

fn may_pass(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Io(_) => tls_error(error).is_none(),
        ureq::Error::Timeout(_)
        | ureq::Error::Protocol(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that takes one request, gives these bytes, and hangs up; gives what it was asked.
    fn server(answer: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut piece = [0; 4096];
            while !String::from_utf8_lossy(&asked).contains("{}") {
                let length = stream.read(&mut piece).unwrap();
                asked.extend_from_slice(&piece[..length]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        (url, asked)
    }

    fn asked(method: Method, url: &str) -> Request {
        Request {
            method,
            url: url.to_owned(),
            body: Some(Content::Json("{}".to_owned())),
            authorization: Some(Secret::new("ApiKey hidden")),
            certificates: None,
            time_limit: Duration::from_secs(20),
        }
    }

    #[test]
    fn an_answer_with_the_status_of_an_error_is_an_answer() {
        let (url, heard) = server("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone");
        let answer = request(&asked(Method::Delete, &format!("{url}/a"))).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (404, &b"none"[..]));
        let heard = heard.join().unwrap();
        assert!(heard.starts_with("DELETE /a HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("authorization: ApiKey hidden\r\n"), "{heard}");
        assert!(heard.contains("content-type: application/json\r\n"), "{heard}");
    }

    #[test]
    fn half_an_answer_is_none_and_may_be_asked_for_again() {
        let (url, heard) = server("HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\n{\"hits\":");
        let failure = request(&asked(Method::Post, &url)).unwrap_err();
        assert!(matches!(failure, Failure::Unreachable { may_pass: true, .. }), "{failure}");
        assert!(failure.to_string().starts_with(&format!("no answer from {url}: ")), "{failure}");
        heard.join().unwrap();
    }

    #[test]
    fn a_server_that_sends_elsewhere_is_not_followed() {
        let (url, heard) = server(
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        );
        assert_eq!(request(&asked(Method::Post, &url)).unwrap().status, 302);
        heard.join().unwrap();
    }

    #[test]
    fn a_secret_is_not_shown() {
        let shown = format!("{:?}", asked(Method::Get, "http://localhost"));
        assert!(shown.contains("(secret)") && !shown.contains("hidden"), "{shown}");
    }

    #[test]
    fn a_file_without_certificates_is_told() {
        let mut request_over_tls = asked(Method::Get, "https://localhost:1");
        request_over_tls.certificates = Some("no certificate".into());
        assert_eq!(
            request(&request_over_tls).unwrap_err().to_string(),
            "no answer from https://localhost:1: its CA file has no certificate in PEM"
        );
    }
}
