//! The pages of a window: several searches at once, each resumed where a fault broke it.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Server;
use super::fields::{Fields, Flaw};
use super::query::Part;
use super::server::{Fault, patiently};
use crate::{Failure, Machine, Method};

/// Takes what comes, piece by piece, from any of the searches.
pub type Sink<'a> = dyn FnMut(&[u8]) + Send + 'a;

/// Asks for the executions that ended from `start` until before `end`, with `slices` searches at
/// once, and hands each page to `sink` as it came, as one line.
///
/// A page that comes in part, from some of the shards or not at all is asked for again; what was
/// handed on before may then come once more, and is read as the same. What `sink` was given counts
/// only if all of it came.
pub fn jobs(
    machine: &dyn Machine,
    server: &Server,
    window: (Timestamp, Timestamp),
    slices: usize,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    jobs_in_pages(machine, server, window, slices, PAGE, sink)
}

/// How many documents come at once. With what is asked of each, a page has about 2 MB.
const PAGE: usize = 1000;

fn jobs_in_pages(
    machine: &dyn Machine,
    server: &Server,
    window: (Timestamp, Timestamp),
    slices: usize,
    page: usize,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    let fields = fields(machine, server)?;
    let ways = ways(machine, server)?;
    let parts = Mutex::new(VecDeque::from(Part::all(&fields, window, slices)));
    let search = Search { machine, server, fields, ways, page, sink: Mutex::new(sink) };
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        let work: Vec<_> = (0..slices.max(1))
            .map(|_| {
                scope.spawn(|| {
                    while !stopped.load(Ordering::Relaxed) {
                        let next = parts.lock().expect("no holder of this lock panics").pop_front();
                        let Some(part) = next else { break };
                        if let Err(fault) = search.pages(&part) {
                            stopped.store(true, Ordering::Relaxed);
                            return Err(fault);
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        work.into_iter().try_for_each(|work| work.join().expect("a search does not panic"))
    })
    .map_err(Failure::from)
}

/// Whether a server has ads of executions; if not, it has those of jobs alone. Fails where it cannot
/// be asked for either.
pub fn has_executions(machine: &dyn Machine, server: &Server) -> Result<bool, Failure> {
    Ok(fields(machine, server)?.epoch_time.is_some())
}

/// What the fields of the index can be asked for.
fn fields(machine: &dyn Machine, server: &Server) -> Result<Fields, Failure> {
    let asked = || server.ask(machine, Method::Get, &Fields::question(&server.index), None);
    let answer = patiently(machine, &PAUSES, asked)?;
    Fields::read(&server.index, &answer).map_err(|flaw| Failure::Refused {
        reason: match flaw {
            Flaw::NoIndex => server.no_index(),
            Flaw::Fields(reason) => format!("{}: {reason}", server.url),
        },
    })
}

/// How long is waited before a question that failed is asked again, and how often: a node that
/// restarts is back within a minute, and others take over before.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(15),
    Duration::from_secs(40),
];

/// For how long the server is to hold a search open between two pages.
const KEEP_ALIVE: &str = "5m";

/// How a server keeps a search as it was when it began.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Elasticsearch since 7.10: `/_pit`.
    PointInTime,
    /// OpenSearch since 2.4: `/_search/point_in_time`.
    OpenSearchPointInTime,
    /// All of them; newer ones advise against it, as it holds more.
    Scroll,
}

/// The ways to try with a server, by what it says of itself. It may say nothing: to read an index
/// one need not be allowed to see the version.
fn ways(machine: &dyn Machine, server: &Server) -> Result<Vec<Way>, Fault> {
    match patiently(machine, &PAUSES, || server.ask(machine, Method::Get, "", None)) {
        Ok(text) => Ok(ways_of(&text)),
        Err(Fault::Unknown(_)) => Ok(ways_of(b"")),
        Err(fault) => Err(fault),
    }
}

fn ways_of(text: &[u8]) -> Vec<Way> {
    let answer: Value = serde_json::from_slice(text).unwrap_or_default();
    let version = &answer["version"];
    let mut numbers = version["number"]
        .as_str()
        .unwrap_or_default()
        .split('.')
        .map(|number| number.parse::<u32>().ok());
    let Some((major, minor)) = numbers.next().flatten().zip(numbers.next().flatten()) else {
        return vec![Way::PointInTime, Way::OpenSearchPointInTime, Way::Scroll];
    };
    let tagline = answer["tagline"].as_str().unwrap_or_default();
    if version["distribution"] == "opensearch" || tagline.contains("OpenSearch") {
        // It may be told to call itself 7.10.2, for the sake of old programs.
        return if (major, minor) >= (2, 4) {
            vec![Way::OpenSearchPointInTime, Way::Scroll]
        } else {
            vec![Way::Scroll]
        };
    }
    if (major, minor) >= (7, 10) && version["build_flavor"] != "oss" {
        vec![Way::PointInTime, Way::Scroll]
    } else {
        vec![Way::Scroll]
    }
}

struct Search<'a> {
    machine: &'a dyn Machine,
    server: &'a Server,
    fields: Fields,
    ways: Vec<Way>,
    page: usize,
    sink: Mutex<&'a mut Sink<'a>>,
}

/// A search that the server holds open.
enum Cursor {
    PointInTime {
        way: Way,
        id: String,
        /// The place of the last document; none before the first page.
        after: Option<Value>,
    },
    Scroll {
        /// None before the first page.
        id: Option<String>,
    },
}

/// What is looked at of a page before it is handed on.
#[derive(Deserialize)]
struct Page {
    #[serde(rename = "_scroll_id")]
    scroll_id: Option<String>,
    pit_id: Option<String>,
    timed_out: bool,
    #[serde(rename = "_shards")]
    shards: Shards,
    hits: Hits,
}

#[derive(Deserialize)]
struct Shards {
    failed: u64,
}

#[derive(Deserialize)]
struct Hits {
    total: Option<Total>,
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Total {
    value: u64,
}

#[derive(Deserialize)]
struct Hit {
    sort: Vec<Value>,
}

impl Search<'_> {
    /// Hands on all pages of a part.
    fn pages(&self, part: &Part) -> Result<(), Fault> {
        let mut from = part.start;
        let mut pauses = PAUSES.iter();
        loop {
            let mut cursor = patiently(self.machine, &PAUSES, || self.open())?;
            let before = from;
            let outcome = self.pages_from(part, &mut from, &mut cursor);
            self.close(&cursor);
            match outcome {
                // What the server held is lost, or what it sent of it: it is asked once more, from
                // the time of the last document that came.
                Err(Fault::Expired(failure) | Fault::Passing(failure)) => {
                    if from > before {
                        pauses = PAUSES.iter();
                    }
                    match pauses.next() {
                        Some(pause) => self.machine.pause(*pause),
                        None => return Err(Fault::Lasting(failure)),
                    }
                }
                outcome => return outcome,
            }
        }
    }

    fn pages_from(&self, part: &Part, from: &mut i64, cursor: &mut Cursor) -> Result<(), Fault> {
        let search = part.search(&self.fields, *from, self.page);
        let order = part.order(&self.fields);
        let (mut received, mut total) = (0, None);
        loop {
            let (text, page) = match cursor {
                // The same place can be asked about again.
                Cursor::PointInTime { .. } => {
                    patiently(self.machine, &PAUSES, || self.page(&search, &order, cursor))
                        .map_err(|fault| match fault {
                            Fault::Passing(failure) => Fault::Lasting(failure),
                            fault => fault,
                        })?
                }
                // What was sent and did not come is behind the cursor, and lost.
                Cursor::Scroll { .. } => self.page(&search, &order, cursor)?,
            };
            let last = page.hits.hits.last().map(|hit| hit.sort.clone());
            let is_empty = last.is_none();
            received += page.hits.hits.len() as u64;
            total = total.or(page.hits.total.map(|total| total.value));
            if let Some(place) = &last {
                self.hand_on(&text);
                *from = place.first().and_then(time).unwrap_or(*from);
            }
            match cursor {
                Cursor::PointInTime { id, after, .. } => {
                    *after = last.map(Value::Array);
                    *id = page.pit_id.unwrap_or_else(|| std::mem::take(id));
                }
                Cursor::Scroll { id } => *id = page.scroll_id.or_else(|| id.take()),
            }
            match total {
                Some(total) if received >= total => return Ok(()),
                Some(total) if is_empty => {
                    let Server { url, index, .. } = self.server;
                    return Err(Fault::Lasting(Failure::Refused {
                        reason: format!(
                            "{url} gave {received} of {total} documents of {index:?}: some cannot \
                             be told apart by GlobalJobId and NumShadowStarts"
                        ),
                    }));
                }
                None if is_empty => return Ok(()),
                _ => {}
            }
        }
    }

    fn page(
        &self,
        search: &Value,
        order: &Value,
        cursor: &Cursor,
    ) -> Result<(Vec<u8>, Page), Fault> {
        let mut body = search.clone();
        let path = match cursor {
            Cursor::PointInTime { id, after, .. } => {
                body["pit"] = json!({"id": id, "keep_alive": KEEP_ALIVE});
                body["sort"] = order.clone();
                if let Some(after) = after {
                    body["search_after"] = after.clone();
                    // It was counted with the first page.
                    body["track_total_hits"] = json!(false);
                }
                "_search".to_owned()
            }
            Cursor::Scroll { id: None } => {
                body["sort"] = json!([order[0]]);
                format!("{}/_search?scroll={KEEP_ALIVE}", self.server.index)
            }
            Cursor::Scroll { id: Some(id) } => {
                body = json!({"scroll": KEEP_ALIVE, "scroll_id": id});
                "_search/scroll".to_owned()
            }
        };
        let text = self.server.ask(self.machine, Method::Post, &path, Some(&body))?;
        let url = &self.server.url;
        let half = |reason: String| Fault::Passing(Failure::Refused { reason });
        let page: Page = serde_json::from_slice(&text)
            .map_err(|error| half(format!("{url} sent a page that cannot be read: {error}")))?;
        if page.timed_out {
            return Err(half(format!("{url} had no time to look through all of the index")));
        }
        if page.shards.failed > 0 {
            return Err(half(format!("{url} could not read {} shards", page.shards.failed)));
        }
        Ok((text, page))
    }

    fn hand_on(&self, text: &[u8]) {
        // A line break in JSON stands only between words.
        let mut line: Vec<u8> =
            text.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect();
        line.push(b'\n');
        (self.sink.lock().expect("no holder of this lock panics"))(&line);
    }

    /// Begins a search in the first way that the server knows.
    fn open(&self) -> Result<Cursor, Fault> {
        let index = &self.server.index;
        let mut last = None;
        for &way in &self.ways {
            let (path, name) = match way {
                Way::PointInTime => (format!("{index}/_pit"), "id"),
                Way::OpenSearchPointInTime => (format!("{index}/_search/point_in_time"), "pit_id"),
                Way::Scroll => return Ok(Cursor::Scroll { id: None }),
            };
            let path = format!("{path}?keep_alive={KEEP_ALIVE}");
            match self.server.ask(self.machine, Method::Post, &path, None) {
                Ok(text) => {
                    let answer: Value = serde_json::from_slice(&text).unwrap_or_default();
                    let Some(id) = answer[name].as_str() else {
                        let reason = format!("{} began a search without a name", self.server.url);
                        return Err(Fault::Passing(Failure::Refused { reason }));
                    };
                    return Ok(Cursor::PointInTime { way, id: id.to_owned(), after: None });
                }
                Err(fault @ Fault::Unknown(_)) => last = Some(fault),
                Err(fault) => return Err(fault),
            }
        }
        Err(last.expect("the last way is asked for nothing and so cannot be refused"))
    }

    /// Lets the server forget a search. If it does not hear of it, it will after a while.
    fn close(&self, cursor: &Cursor) {
        let (path, body) = match cursor {
            Cursor::PointInTime { way: Way::OpenSearchPointInTime, id, .. } => {
                ("_search/point_in_time", json!({"pit_id": [id]}))
            }
            Cursor::PointInTime { id, .. } => ("_pit", json!({"id": id})),
            Cursor::Scroll { id: Some(id) } => ("_search/scroll", json!({"scroll_id": [id]})),
            Cursor::Scroll { id: None } => return,
        };
        let _ = self.server.ask(self.machine, Method::Delete, path, Some(&body));
    }
}

/// The time in a document's place, in the unit of its field.
fn time(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
}

#[cfg(test)]
mod tests;
