//! `plimsoll digest`: what happened, as people receive it.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lake::Lake;
use report::{Document, Rhythm};
use source::{Hypertext, Letter, Live, Machine};
use view::{DOCUMENT_FORMATS, DocumentFormat, Look, document_mail};

use crate::cli::Digest;
use crate::command::output::terminal;
use crate::command::paper;
use crate::config::{Config, Mail};
use crate::post::{Ledger, Patience, Sent, identifier, send, tell};
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Digest) -> Result<Outcome> {
    let wanted = wanted(arguments)?;
    let machine = Live::default();
    let now = config.now();
    let lake = Lake::open(&config.data_dir)?;
    let question = arguments.question(&lake, config, now).await?;
    let rhythm = arguments.rhythm();
    let mut digest = config.digests.digest.clone();
    digest.title = format!("{}, {}", digest.title, rhythm.name());
    let document = query::digest(&lake, &digest, &question).await?;
    for gap in document.gaps() {
        complain(&format!("warning: the period is incomplete: {gap}"));
    }
    let mut is_sent = true;
    if arguments.mail {
        let of = match &arguments.cluster[..] {
            [] => "all clusters".to_owned(),
            clusters => clusters.join(" "),
        };
        let of = format!("{} to {}, {of}", question.period.start, question.period.end);
        let post = Post { config, machine: &machine, document: &document, rhythm, of };
        is_sent = if arguments.dry_run { post.show()? } else { post.send(arguments.again)? };
    } else {
        write(&document, &wanted, &machine)?;
    }
    let is_whole = document.coverage.skipped.is_empty();
    Ok(if is_whole && is_sent { Outcome::Done } else { Outcome::Findings })
}

/// What a document is written as, and where to.
enum Wanted<'a> {
    Format(&'static DocumentFormat, Option<&'a Path>),
    /// Printed by a browser.
    Pdf(&'a Path),
}

const PDF: &str = "pdf";

/// The format that is asked for, by name or by the file's ending.
fn wanted(arguments: &Digest) -> Result<Wanted<'_>> {
    let file = arguments.output.as_deref();
    let ending =
        |file: &Path| file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = match (&arguments.format, file) {
        (Some(name), _) => name.clone(),
        (None, None) => "text".to_owned(),
        (None, Some(file)) if ending(file) == PDF => PDF.to_owned(),
        (None, Some(file)) => {
            let ending = ending(file);
            let fits = |format: &&DocumentFormat| format.extensions.contains(&ending.as_str());
            let format = DOCUMENT_FORMATS.iter().find(fits).with_context(|| {
                format!("the ending of {} names no format; give --format", file.display())
            })?;
            format.name.to_owned()
        }
    };
    if name == PDF {
        return file
            .map(Wanted::Pdf)
            .context("a terminal cannot show PDF: give a file, such as -o digest.pdf");
    }
    let names: Vec<&str> = DOCUMENT_FORMATS.iter().map(|format| format.name).chain([PDF]).collect();
    match DOCUMENT_FORMATS.iter().find(|format| format.name == name) {
        Some(format) => Ok(Wanted::Format(format, file)),
        None => match query::nearest(&name, names.iter().copied()) {
            Some(near) => bail!("there is no format {name:?}; did you mean {near:?}?"),
            None => bail!("there is no format {name:?}; there are {}", names.join(", ")),
        },
    }
}

fn write(document: &Document, wanted: &Wanted<'_>, machine: &dyn Machine) -> Result<()> {
    match wanted {
        Wanted::Format(format, None) => {
            let text = format.render(document, &terminal());
            let mut stdout = io::stdout().lock();
            stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("cannot write")
        }
        Wanted::Format(format, Some(file)) => {
            std::fs::write(file, format.render(document, &Look::default()))
                .with_context(|| format!("cannot write {}", file.display()))
        }
        Wanted::Pdf(file) => paper::print(machine, &rendered(document, "html"), file),
    }
}

/// The document in a format that there is, for a file or a letter.
fn rendered(document: &Document, format: &str) -> String {
    let format = DOCUMENT_FORMATS.iter().find(|known| known.name == format);
    format.expect("it is one of the formats").render(document, &Look::default())
}

/// A digest on its way to those who get it.
struct Post<'a> {
    config: &'a Config,
    machine: &'a dyn Machine,
    document: &'a Document,
    rhythm: Rhythm,
    /// The time and the clusters that it is about.
    of: String,
}

impl Post<'_> {
    /// Shows the text of each email as its reader sees it, and sends nothing.
    fn show(&self) -> Result<bool> {
        let mail = self.mail_if_needed()?;
        let mut text = String::new();
        if let Some(mail) = mail {
            for to in &self.config.digests.to {
                let Letter { from, subject, text: words, .. } = self.letter(mail, to, None);
                text += &format!("From: {from}\nTo: {to}\nSubject: {subject}\n\n{words}\n");
            }
        }
        for webhook in &self.config.digests.webhooks {
            text += &format!("To the webhook {:?}:\n{}\n\n", webhook.name, self.chat());
        }
        text += "Nothing was sent: --dry-run.\n";
        io::stdout().write_all(text.as_bytes()).context("cannot write")?;
        Ok(true)
    }

    /// Sends to all who did not get it yet; whether all have it now. One who cannot be reached keeps
    /// nobody else from it.
    fn send(&self, again: bool) -> Result<bool> {
        let mail = self.mail_if_needed()?;
        let mut ledger = Ledger::open(self.config.state_dir()?)?;
        let mut is_sent = true;
        let mut outcome = |to: &str, ledger: &mut Ledger, send: &dyn Fn() -> Result<()>| {
            let sent = Sent {
                what: format!("digest {}", self.rhythm.name()),
                of: self.of.clone(),
                to: to.to_owned(),
            };
            if let Some(time) = ledger.time_of(&sent).filter(|_| !again) {
                complain(&format!("{to} got it at {time}; --again sends it anyway"));
                return Ok(());
            }
            match send() {
                Ok(()) => {
                    ledger.note(sent, self.machine.now())?;
                    complain(&format!("sent to {to}"));
                }
                Err(error) => {
                    complain(&format!("error: cannot send to {to}: {error:#}"));
                    is_sent = false;
                }
            }
            anyhow::Ok(())
        };
        if let Some(mail) = mail {
            let server = mail.server()?;
            let hypertext = document_mail(self.document);
            let pictures = hypertext.pictures.into_iter().map(|it| (it.id, it.bytes)).collect();
            let hypertext = Hypertext { html: hypertext.html, pictures };
            for to in &self.config.digests.to {
                let letter = self.letter(mail, to, Some(hypertext.clone()));
                outcome(to, &mut ledger, &|| {
                    Ok(send(self.machine, &letter, &server, mail.patience())?)
                })?;
            }
        }
        let patience = mail.map_or(WITHOUT_MAIL, Mail::patience);
        for webhook in &self.config.digests.webhooks {
            let to = format!("webhook {}", webhook.name);
            outcome(&to, &mut ledger, &|| tell(self.machine, webhook, &self.chat(), patience))?;
        }
        Ok(is_sent)
    }

    /// How mail is sent, if anybody gets any.
    fn mail_if_needed(&self) -> Result<Option<&Mail>> {
        let digests = &self.config.digests;
        match (&self.config.mail, digests.to.is_empty()) {
            (Some(mail), false) => Ok(Some(mail)),
            (None, false) => {
                bail!("[digest] names who gets it, and no [mail] by which: see docs/digest.md")
            }
            (_, true) if digests.webhooks.is_empty() => bail!(
                "nobody gets it: write `to = [\"ann@example.org\"]` below [digest] in plimsoll.toml; \
                 see docs/digest.md"
            ),
            (_, true) => Ok(None),
        }
    }

    fn letter(&self, mail: &Mail, to: &str, hypertext: Option<Hypertext>) -> Letter {
        Letter {
            id: identifier(&["digest", self.rhythm.name(), &self.of, to]),
            from: mail.from.clone(),
            reply_to: mail.reply_to.clone(),
            to: to.to_owned(),
            subject: self.document.subject(),
            time: self.machine.now(),
            text: rendered(self.document, "text"),
            hypertext,
        }
    }

    /// A few lines for a chat: what the subject says, and what is missing.
    fn chat(&self) -> String {
        let gaps = self.document.gaps();
        let warnings = gaps.iter().map(|gap| format!("\nIncomplete: {gap}"));
        format!("{}{}", self.document.subject(), warnings.collect::<String>())
    }
}

/// For a chat at a site without mail.
const WITHOUT_MAIL: Patience = Patience { retries: 4, pause: Duration::from_secs(30) };
