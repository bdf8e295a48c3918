//! Tells a chat: the JSON that Slack and Mattermost take at an address of their own.

use std::time::Duration;

use anyhow::{Result, bail};
use source::{Content, Failure, Machine, Method, Request};

use super::{Patience, patiently};
use crate::config::Webhook;

/// Says a text at a webhook. Its address is a secret, and stands in no message of ours.
pub(crate) fn tell(
    machine: &dyn Machine,
    webhook: &Webhook,
    text: &str,
    patience: Patience,
) -> Result<()> {
    let url = webhook.url.read()?;
    if !url.starts_with("https://") && !url.starts_with("http://") {
        bail!(
            "the address of the webhook {:?} begins with neither https:// nor http://",
            webhook.name
        );
    }
    let request = Request {
        method: Method::Post,
        url,
        body: Some(Content::Json(serde_json::json!({ "text": text }).to_string())),
        authorization: None,
        certificates: None,
        time_limit: Duration::from_secs(30),
    };
    patiently(machine, patience, || {
        let unreachable = |reason, may_pass| Failure::Unreachable {
            url: format!("the webhook {:?}", webhook.name),
            reason,
            may_pass,
        };
        let answer = match machine.request(&request) {
            Ok(answer) => answer,
            Err(Failure::Unreachable { reason, may_pass, .. }) => {
                return Err(unreachable(reason.replace(&request.url, "its address"), may_pass));
            }
            Err(other) => return Err(other),
        };
        match answer.status {
            200..=299 => Ok(()),
            // Too many at once, or a server in trouble.
            429 | 500..=599 => Err(unreachable(format!("status {}", answer.status), true)),
            status => Err(Failure::Refused {
                reason: format!("the webhook {:?} refuses with status {status}", webhook.name),
            }),
        }
    })?;
    Ok(())
}
