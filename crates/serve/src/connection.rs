//! Connections: how many there may be, and how long a client may take. One that is slow to ask, or
//! to read what it asked for, does not keep others from being answered. Nor does a question that takes
//! long: connections have a thread of their own.

use std::io;
use std::net::IpAddr;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request as Asked;
use axum::http::{Request, StatusCode};
use axum::middleware::{Next, from_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, Handle};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

/// Connections at once; one more waits.
const MOST: usize = 512;
/// What a client has to say what it wants.
const TO_ASK: Duration = Duration::from_secs(10);
/// What it has for all that it asks on one connection; then it makes another one.
const TO_STAY: Duration = Duration::from_secs(300);
/// What it has to read the last answer.
const TO_LEAVE: Duration = Duration::from_secs(60);

/// The other end of the connection that a request came by.
#[derive(Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Answers requests until `stop`, and those that came before, on a thread of its own.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = listener.into_std()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let serve = async { serve_here(TcpListener::from_std(listener)?, router, stop).await };
    spawn_blocking(move || runtime.block_on(serve)).await?
}

/// The same pages, made by the threads of `worker` wherever they are asked for. Who no longer waits for
/// one ends it.
pub(crate) fn made_by(worker: &Handle, pages: Router) -> Router {
    let worker = worker.clone();
    pages.layer(from_fn(move |request: Asked, next: Next| {
        let worker = worker.clone();
        async move {
            let mut making = JoinSet::new();
            making.spawn_on(next.run(request), &worker);
            let made = making.join_next().await.expect("one was begun");
            made.map_err(|error| match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => StatusCode::SERVICE_UNAVAILABLE, // the server stops
            })
        }
    }))
}

async fn serve_here(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(MOST));
    let (running, is_running) = watch::channel(());
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((place, listener.accept().await?))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((place, (stream, peer))) => {
                let (router, is_running) = (router.clone(), is_running.clone());
                tokio::spawn(async move {
                    answer(stream, peer.ip(), router, is_running).await;
                    drop(place);
                });
            }
            // The client left, or there are no more descriptors: one may be free in a moment.
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop((listener, running));
    // Those that are slow are cut off.
    let _ = timeout(TO_LEAVE, places.acquire_many(MOST as u32)).await;
    Ok(())
}

async fn answer(
    stream: TcpStream,
    peer: IpAddr,
    router: Router,
    mut is_running: watch::Receiver<()>,
) {
    let service = TowerToHyperService::new(router.map_request(from(peer)));
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(TO_ASK);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = connection.as_mut() => {
            if let Err(error) = ended {
                tracing::debug!("a connection ended: {error}");
            }
            return;
        }
        _ = is_running.changed() => {}
        () = sleep(TO_STAY) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(TO_LEAVE, connection).await;
}

fn from<B>(peer: IpAddr) -> impl FnMut(Request<B>) -> Request<B> + Clone {
    move |mut request| {
        request.extensions_mut().insert(Peer(peer));
        request
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use axum::routing::get;
    use tokio::io::AsyncWriteExt;
    use tokio::sync::mpsc;

    use super::*;

    /// Says when it is gone.
    struct Work(mpsc::UnboundedSender<&'static str>);

    impl Drop for Work {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }

    #[tokio::test]
    async fn an_answer_that_nobody_waits_for_any_more_ends_where_it_is() {
        let (said, mut heard) = mpsc::unbounded_channel();
        let endless = move || async move {
            let work = Work(said.clone());
            let _ = work.0.send("began");
            pending::<()>().await;
        };
        let router = made_by(&Handle::current(), Router::new().route("/", get(endless)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(serve_here(listener, router, pending()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        assert_eq!(heard.recv().await, Some("began"));
        drop(client);
        assert_eq!(heard.recv().await, Some("dropped"));
        server.abort();
    }

    #[test]
    fn a_question_that_takes_long_holds_up_nobody_else() {
        use std::io::{Read, Write};
        let mut worker = runtime::Builder::new_multi_thread();
        let worker = worker.worker_threads(1).enable_all().build().unwrap();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let busy = move || {
            // The only thread that makes pages is held, as by a question that computes.
            let _ = wait.lock().unwrap().recv();
            async { "made" }
        };
        let pages = made_by(worker.handle(), Router::new().route("/page", get(busy)));
        let router = pages.merge(Router::new().route("/metrics", get(|| async { "metrics" })));
        let listener = worker.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let server = worker.spawn(serve(listener, router, async {
            let _ = stopped.await;
        }));
        let ask = |path: &str| {
            let mut client = std::net::TcpStream::connect(address).unwrap();
            let request =
                format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
            client.write_all(request.as_bytes()).unwrap();
            client
        };
        let heard = |mut client: std::net::TcpStream| {
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            answer.lines().last().unwrap_or_default().to_owned()
        };
        let page = ask("/page");
        assert_eq!(heard(ask("/metrics")), "metrics");
        go_on.send(()).unwrap();
        assert_eq!(heard(page), "made");
        stop.send(()).unwrap();
        worker.block_on(server).unwrap().unwrap();
    }
}
