//! Why there is no answer.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::http::StatusCode;
use query::{Hidden, Refused};

/// No answer is worth more of the machine's time.
const MOST_SECONDS: u64 = 60;

/// Why there is no answer, in words for who asked.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) status: StatusCode,
    pub(crate) words: String,
}

impl Trouble {
    pub(crate) fn new(status: StatusCode, words: impl Into<String>) -> Trouble {
        Trouble { status, words: words.into() }
    }

    pub(crate) fn bad_request(words: impl Into<String>) -> Trouble {
        Trouble::new(StatusCode::BAD_REQUEST, words)
    }
}

impl From<anyhow::Error> for Trouble {
    /// What went wrong here is for the log: it may name files.
    fn from(error: anyhow::Error) -> Trouble {
        if let Some(refused) = error.downcast_ref::<Refused>() {
            return Trouble::bad_request(refused.to_string());
        }
        if let Some(hidden) = error.downcast_ref::<Hidden>() {
            return Trouble::new(StatusCode::FORBIDDEN, hidden.to_string());
        }
        tracing::error!("cannot answer a request: {error:#}");
        Trouble::new(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL)
    }
}

const INTERNAL: &str = "Something went wrong. The server's log says what.";

/// Runs the handler of a request. A panic in it is logged, and is an error as any other: one broken
/// page must not end the connection without an answer.
pub(crate) async fn catch_panic<T>(
    path: &str,
    answer: impl Future<Output = T>,
) -> Result<T, Trouble> {
    let mut answer = pin!(answer);
    let caught = poll_fn(|context| {
        // A future that panicked is not polled again.
        catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)))
            .map_or_else(|panic| Poll::Ready(Err(panic)), |poll| poll.map(Ok))
    });
    caught.await.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or(panic.downcast_ref::<String>().map(String::as_str));
        tracing::error!(path, panic = text.unwrap_or_default(), "a request handler panicked");
        Trouble::new(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL)
    })
}

/// What a future gives, if it does so in time. It ends when nobody waits for it any more: neither
/// we, nor a client that left, for then the whole of its request is dropped.
pub(crate) async fn in_time<T>(
    answer: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    match tokio::time::timeout(Duration::from_secs(MOST_SECONDS), answer).await {
        Ok(answer) => answer,
        Err(_) => Err(Trouble::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("This took longer than {MOST_SECONDS} seconds. Ask about a shorter time."),
        )),
    }
}
