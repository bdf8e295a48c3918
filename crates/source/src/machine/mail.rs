//! Letters, and how they are handed to a mail server: by SMTP, over TLS that is verified.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::{Message, SmtpTransport, Transport};

use super::{Failure, Secret};

/// A letter to one person.
#[derive(Clone, Debug, PartialEq)]
pub struct Letter {
    /// Always the same for the same letter, so that who gets it twice can tell: letters, digits, `.`
    /// and `-`.
    pub id: String,
    /// An address, such as `ann@example.org` or `Ann <ann@example.org>`.
    pub from: String,
    pub reply_to: Option<String>,
    pub to: String,
    pub subject: String,
    pub time: Timestamp,
    pub text: String,
    /// The same with tables and pictures, if it comes with these.
    pub hypertext: Option<Hypertext>,
}

/// HTML, and the pictures that it names by `cid:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypertext {
    pub html: String,
    /// Names and PNG.
    pub pictures: Vec<(String, Vec<u8>)>,
}

/// Who takes letters.
#[derive(Clone, Debug, PartialEq)]
pub struct MailServer {
    pub host: String,
    pub port: u16,
    pub security: Security,
    /// A user and a password.
    pub login: Option<(String, Secret)>,
    /// The certificates that are trusted, in PEM; those that this machine trusts if none are given.
    pub certificates: Option<Arc<str>>,
    pub time_limit: Duration,
}

/// How what is said to a mail server is kept from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Not at all.
    None,
    /// TLS from the first greeting on, or no letter.
    StartTls,
    /// TLS from the first byte.
    Tls,
}

/// Whether something is an address that a letter can go to.
pub fn is_mail_address(text: &str) -> bool {
    text.parse::<Mailbox>().is_ok()
}

impl Letter {
    /// The letter as it is sent: text, and HTML with its pictures beside for programs that show it.
    pub fn written(&self) -> Result<Vec<u8>, Failure> {
        Ok(self.message()?.formatted())
    }

    fn message(&self) -> Result<Message, Failure> {
        let from = address(&self.from)?;
        let id = format!("<{}@{}>", self.id, from.email.domain());
        let mut message = Message::builder()
            .from(from)
            .to(address(&self.to)?)
            .subject(&self.subject)
            .date(SystemTime::from(self.time))
            .message_id(Some(id))
            // So that nobody who is away answers it (RFC 3834).
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ));
        if let Some(reply_to) = &self.reply_to {
            message = message.reply_to(address(reply_to)?);
        }
        let text = SinglePart::plain(self.text.clone());
        let written = match &self.hypertext {
            None => message.singlepart(text),
            Some(hypertext) => {
                let alternatives = MultiPart::alternative().boundary(BETWEEN_ALTERNATIVES);
                message.multipart(alternatives.singlepart(text).multipart(related(hypertext)))
            }
        };
        written.map_err(|error| Failure::Refused { reason: format!("no such letter: {error}") })
    }
}

/// Lines between the parts of a letter. No part has them: what has letters beyond ASCII is written
/// so that there is no `=_` in it, and HTML and PNG of ours always are.
const BETWEEN_ALTERNATIVES: &str = "=_plimsoll_alternative";
const BETWEEN_RELATED: &str = "=_plimsoll_related";

fn related(hypertext: &Hypertext) -> MultiPart {
    let html = SinglePart::html(hypertext.html.clone());
    let mut parts = MultiPart::related().boundary(BETWEEN_RELATED).singlepart(html);
    let png = ContentType::parse("image/png").expect("it is the type of PNG");
    for (name, bytes) in &hypertext.pictures {
        let picture = Attachment::new_inline_with_name(name.clone(), format!("{name}.png"));
        parts = parts.singlepart(picture.body(bytes.clone(), png.clone()));
    }
    parts
}

fn address(text: &str) -> Result<Mailbox, Failure> {
    text.parse().map_err(|_| Failure::Refused { reason: format!("{text:?} is no mail address") })
}

/// Hands a letter to a server. That it was taken does not mean that it was read.
pub(super) fn send(letter: &Letter, server: &MailServer) -> Result<(), Failure> {
    let message = letter.message()?;
    let unreachable = |reason: String, may_pass| Failure::Unreachable {
        url: server.to_string(),
        reason,
        may_pass,
    };
    let tls = match server.security {
        Security::None => Tls::None,
        Security::StartTls => Tls::Required(tls(server).map_err(|it| unreachable(it, false))?),
        Security::Tls => Tls::Wrapper(tls(server).map_err(|it| unreachable(it, false))?),
    };
    let mut transport = SmtpTransport::builder_dangerous(&server.host)
        .port(server.port)
        .tls(tls)
        .timeout(Some(server.time_limit));
    if let Some((user, password)) = &server.login {
        let password = password.reveal().to_owned();
        transport = transport.credentials(Credentials::new(user.clone(), password));
    }
    match transport.build().send(&message) {
        Ok(_) => Ok(()),
        Err(error) if error.is_permanent() => {
            Err(Failure::Refused { reason: format!("{server} refuses: {}", told(&error)) })
        }
        Err(error) => Err(unreachable(told(&error), may_pass(&error))),
    }
}

fn tls(server: &MailServer) -> Result<TlsParameters, String> {
    let mut parameters = TlsParameters::builder(server.host.clone());
    if let Some(text) = &server.certificates {
        let certificate = Certificate::from_pem(text.as_bytes())
            .map_err(|error| format!("its CA file cannot be read: {}", told(&error)))?;
        parameters =
            parameters.certificate_store(CertificateStore::None).add_root_certificate(certificate);
    }
    parameters.build().map_err(|error| told(&error))
}

/// A connection can break and a server can be busy; a certificate stays what it is.
fn may_pass(error: &smtp::Error) -> bool {
    let is_certificate = error
        .source()
        .and_then(|cause| cause.downcast_ref::<io::Error>())
        .is_some_and(|cause| cause.kind() == io::ErrorKind::InvalidData);
    !error.is_tls() && !error.is_client() && !is_certificate
}

/// The error with its causes.
fn told(error: &smtp::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text += &format!(": {words}");
        }
        cause = error.source();
    }
    text
}

impl fmt::Display for MailServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> Letter {
        Letter {
            id: "digest-1".to_owned(),
            from: "Plimsoll <plimsoll@example.org>".to_owned(),
            reply_to: None,
            to: "ann@example.org".to_owned(),
            subject: "Größe (35.0% | 26.7%)\r\nBcc: eve@example.org".to_owned(),
            time: "2026-11-09T06:00:00Z".parse().unwrap(),
            text: "Hours: 12\n".to_owned(),
            hypertext: Some(Hypertext {
                html: "<img src=\"cid:picture-1\" alt=\"\">".to_owned(),
                pictures: vec![("picture-1".to_owned(), vec![137, 80, 78, 71])],
            }),
        }
    }

    #[test]
    fn a_letter_has_text_and_html_with_its_pictures() {
        let written = String::from_utf8(letter().written().unwrap()).unwrap();
        for part in [
            "From: Plimsoll <plimsoll@example.org>\r\n",
            "To: ann@example.org\r\n",
            "Date: Mon, 09 Nov 2026 06:00:00 +0000\r\n",
            "Message-ID: <digest-1@example.org>\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "Content-Type: multipart/alternative;",
            "Content-Type: multipart/related;",
            "Content-ID: <picture-1>\r\n",
            "Content-Disposition: inline; filename=\"picture-1.png\"\r\n",
            "iVBORw==",
        ] {
            assert!(written.contains(part), "{part:?} is missing in:\n{written}");
        }
        assert_eq!(written, String::from_utf8(letter().written().unwrap()).unwrap());
    }

    #[test]
    fn a_subject_adds_no_header() {
        let written = String::from_utf8(letter().written().unwrap()).unwrap();
        let (head, _) = written.split_once("\r\n\r\n").unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
    }

    #[test]
    fn what_is_no_address_is_told() {
        let wrong = Letter { to: "ann at example".to_owned(), ..letter() };
        assert_eq!(
            wrong.written().unwrap_err().to_string(),
            "\"ann at example\" is no mail address"
        );
        assert!(is_mail_address("Ann <ann@example.org>") && !is_mail_address("ann@"));
    }

    #[test]
    fn a_server_that_does_not_answer_may_be_asked_again() {
        let server = MailServer {
            host: "127.0.0.1".to_owned(),
            port: 1,
            security: Security::None,
            login: None,
            certificates: None,
            time_limit: Duration::from_secs(5),
        };
        let failure = send(&letter(), &server).unwrap_err();
        assert!(matches!(failure, Failure::Unreachable { may_pass: true, .. }), "{failure}");
    }
}
