//! `[mail]`: who takes letters, and in whose name they are.

use std::path::PathBuf;
use std::time::Duration;

use source::{Security, is_mail_address};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::Mail;
use super::super::secret::{secret_place, without_secrets};
use super::digest::needed;
use super::{Problems, advice, string, time, unknown_keys, whole_number, wrong_type};

const KEYS: [&str; 12] = [
    "server",
    "port",
    "security",
    "user",
    "password_file",
    "password_env",
    "ca_file",
    "from",
    "reply_to",
    "time_limit",
    "retries",
    "retry_after",
];

/// What the file says, as far as it could be read; the rest is a problem.
pub(super) fn mail(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<Mail> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("mail", "a table ([mail])", value, problems);
        return None;
    };
    unknown_keys(&without_secrets("mail", &["password"], table, problems), &KEYS, problems);
    let security =
        table.get("security").map_or(Some(Security::StartTls), |it| security(it, problems));
    let host = needed("mail", "server", table, value.span(), problems);
    let from = needed("mail", "from", table, value.span(), problems);
    let port = table.get("port").and_then(|it| whole_number("mail.port", it, 1..=65_535, problems));
    let seconds = |key: &str, unsaid, problems: &mut Problems| {
        let said = table.get(key).and_then(|it| time(&format!("mail.{key}"), it, problems));
        said.unwrap_or(Duration::from_secs(unsaid))
    };
    let time_limit = seconds("time_limit", 60, problems);
    let retry_after = seconds("retry_after", 30, problems);
    let retries =
        table.get("retries").and_then(|it| whole_number("mail.retries", it, 0..=20, problems));
    let reply_to = text("reply_to", table, problems);
    for (key, address) in [("from", from), ("reply_to", reply_to.as_deref())] {
        if let Some(address) = address.filter(|address| !is_mail_address(address)) {
            let words = format!("mail.{key}: {address:?} is no mail address");
            problems.add(table.get(key).map_or(value.span(), Spanned::span), words);
        }
    }
    let login = login(table, value, problems);
    let (host, security) = (host?.to_owned(), security?);
    let is_here = ["localhost", "::1"].contains(&host.as_str()) || host.starts_with("127.");
    if security == Security::None && login.is_some() && !is_here {
        let words = "mail.security: without TLS the password would be sent for all to read";
        problems.add(value.span(), words);
    }
    let usual_port = match security {
        Security::None => 25,
        Security::StartTls => 587,
        Security::Tls => 465,
    };
    Some(Mail {
        host,
        port: port.map_or(usual_port, |port| u16::try_from(port).unwrap_or(usual_port)),
        security,
        login,
        ca_file: text("ca_file", table, problems).map(PathBuf::from),
        from: from?.to_owned(),
        reply_to,
        time_limit,
        retries: retries.unwrap_or(4),
        retry_after,
    })
}

fn text(name: &str, table: &DeTable, problems: &mut Problems) -> Option<String> {
    string(&format!("mail.{name}"), "a string", table.get(name)?, problems).map(str::to_owned)
}

fn security(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<Security> {
    let word = string("mail.security", "a string", value, problems)?;
    match word {
        "starttls" => Some(Security::StartTls),
        "tls" => Some(Security::Tls),
        "none" => Some(Security::None),
        _ => {
            let advice = advice(word, &["starttls", "tls", "none"]);
            problems.add(value.span(), format!("mail.security: there is no {word:?}: {advice}"));
            None
        }
    }
}

fn login(
    table: &DeTable,
    value: &Spanned<DeValue>,
    problems: &mut Problems,
) -> Option<(String, super::super::SecretPlace)> {
    let user = text("user", table, problems);
    let place = secret_place("mail", "password", table, problems);
    match (user, place) {
        (Some(user), Some(place)) => Some((user, place)),
        (None, None) => None,
        (Some(_), None) => {
            problems.add(value.span(), "mail.user: it has no password: name a password_file");
            None
        }
        (None, Some(_)) => {
            problems.add(value.span(), "mail: the password is nobody's: name its user");
            None
        }
    }
}
