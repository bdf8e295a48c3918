//! The record of requests: who asked for what, when, and what came of it; a line of JSON each.

use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;
use axum::http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::json;

use super::store::for_us_alone;

pub(super) struct Log {
    file: Mutex<File>,
}

/// A request. It holds nothing that is secret: tokens and passwords are in no address, and of one that has
/// a provider's code the path alone is told.
pub(super) struct Line<'a> {
    pub(super) time: Timestamp,
    /// Unknown where nobody asked.
    pub(super) who: Option<&'a str>,
    pub(super) from: IpAddr,
    pub(super) method: &'a Method,
    pub(super) address: &'a str,
    pub(super) status: StatusCode,
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Log> {
        Ok(Log { file: Mutex::new(for_us_alone(path)?) })
    }

    pub(super) fn add(&self, line: &Line<'_>) {
        let line = json!({
            "time": line.time,
            "who": line.who,
            "from": line.from,
            "method": line.method.as_str(),
            "address": line.address,
            "status": line.status.as_u16(),
        });
        let mut file = self.file.lock().expect("no holder of this lock panics");
        // One call, so that lines of two processes do not mix.
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            tracing::error!("cannot record a request: {error}");
        }
    }
}
