//! Exchanges that were recorded at real servers, `fixtures/elasticsearch/<server>.<scenario>.jsonl`:
//! a line each. `tests/elasticsearch/record` makes them anew.

use std::collections::{HashMap, VecDeque};

use record::Job;

use super::super::{JobDocuments, Purpose};
use super::*;
use crate::htcondor::CondorHistory;
use crate::{Command, Content, Live, Parsed, Request, Response, parse};

const SERVERS: [&str; 6] = [
    "elasticsearch-7.17",
    "elasticsearch-8.17",
    "elasticsearch-9.2",
    "opensearch-1.3",
    "opensearch-2.19",
    "opensearch-3.6",
];

/// One question and what came of it.
#[derive(Clone, Debug, serde::Serialize, Deserialize)]
struct Exchange {
    method: String,
    path: String,
    body: Option<Value>,
    /// 0 where the connection broke.
    status: u16,
    answer: String,
}

impl Exchange {
    fn question(&self) -> String {
        format!("{} {} {}", self.method, self.path, self.body.clone().unwrap_or_default())
    }

    fn result(&self, url: &str) -> Result<Response, Failure> {
        if self.status == 0 {
            let (url, reason) = (url.to_owned(), self.answer.clone());
            return Err(Failure::Unreachable { url, reason, may_pass: true });
        }
        Ok(Response { status: self.status, body: self.answer.clone().into_bytes() })
    }
}

const URL: &str = "http://search.example.org:9200";

fn server(index: &str) -> Server {
    Server {
        url: URL.to_owned(),
        index: index.to_owned(),
        purpose: Purpose::Read,
        credential: None,
        certificates: None,
    }
}

fn folder() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/elasticsearch")
}

/// A machine on which everything was asked before, and each question has its answers in order.
struct Recorded {
    answers: Mutex<HashMap<String, VecDeque<Exchange>>>,
    pauses: Mutex<usize>,
}

impl Recorded {
    fn read(name: &str) -> Recorded {
        let text = std::fs::read_to_string(format!("{}/{name}.jsonl", folder())).unwrap();
        Recorded::of(text.lines().map(|line| serde_json::from_str(line).unwrap()))
    }

    fn of(exchanges: impl Iterator<Item = Exchange>) -> Recorded {
        let mut answers: HashMap<String, VecDeque<Exchange>> = HashMap::new();
        for exchange in exchanges {
            answers.entry(exchange.question()).or_default().push_back(exchange);
        }
        Recorded { answers: Mutex::new(answers), pauses: Mutex::new(0) }
    }
}

impl Machine for Recorded {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn pause(&self, _: Duration) {
        *self.pauses.lock().unwrap() += 1;
    }

    fn run(&self, command: &Command, _: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        Err(Failure::Missing { program: command.program.to_owned() })
    }

    fn request(&self, request: &Request) -> Result<Response, Failure> {
        let question = question(request, URL).question();
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.get_mut(&question).and_then(VecDeque::pop_front);
        answer.unwrap_or_else(|| panic!("nobody recorded {question}")).result(&request.url)
    }
}

fn question(request: &Request, url: &str) -> Exchange {
    Exchange {
        method: format!("{:?}", request.method).to_uppercase(),
        path: request.url.strip_prefix(url).unwrap().to_owned(),
        body: request.body.as_ref().map(|body| serde_json::from_str(body.text()).unwrap()),
        status: 0,
        answer: String::new(),
    }
}

/// The hour of the fixture, and what it holds by HTCondor's own command.
fn window() -> (Timestamp, Timestamp) {
    let second = |second| Timestamp::from_second(second).unwrap();
    (second(1_794_711_600), second(1_794_715_200))
}

fn expected() -> Vec<Job> {
    let ads = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/htcondor/2026-11-15T034635Z/epochs_ap2002.json"
    );
    let parser = CondorHistory::new("chtc", Timestamp::UNIX_EPOCH);
    let Parsed { records, rejects } = parse(parser, &std::fs::read(ads).unwrap());
    assert_eq!((records.len(), rejects), (14, vec![]));
    records
        .into_iter()
        .map(|job| {
            let mut job = Job { source: "elasticsearch".into(), ..job };
            job.set_usage_source("elasticsearch");
            job
        })
        .collect()
}

/// Four documents a page, as they were recorded.
fn collect(machine: &dyn Machine, server: &Server) -> Result<(Vec<Job>, usize), String> {
    let mut text = Vec::new();
    let mut sink = |piece: &[u8]| text.extend_from_slice(piece);
    jobs_in_pages(machine, server, window(), 1, 4, &mut sink)
        .map_err(|failure| failure.to_string())?;
    let pages = text.iter().filter(|&&byte| byte == b'\n').count();
    let Parsed { records, rejects } =
        parse(JobDocuments::new("chtc", Timestamp::UNIX_EPOCH), &text);
    assert_eq!(rejects, []);
    Ok((records, pages))
}

#[test]
fn every_server_gives_what_the_scheduler_itself_gives() {
    for name in SERVERS {
        let machine = Recorded::read(&format!("{name}.plain"));
        let (jobs, pages) = collect(&machine, &server("htcondor-epochs")).unwrap();
        assert_eq!(jobs, expected(), "{name}");
        // 14 documents, 4 a page.
        assert_eq!((pages, *machine.pauses.lock().unwrap()), (4, 0), "{name}");
        let left: Vec<_> = machine.answers.into_inner().unwrap().into_values().flatten().collect();
        assert!(left.is_empty(), "{name} was not asked {left:?}");
    }
}

#[test]
fn a_fault_in_the_middle_loses_nothing_and_doubles_nothing() {
    for name in SERVERS {
        let machine = Recorded::read(&format!("{name}.faults"));
        let (jobs, _) = collect(&machine, &server("htcondor-epochs")).unwrap();
        assert_eq!(jobs, expected(), "{name}");
        // A busy server, half a page, a broken connection, and a search that the server forgot.
        assert_eq!(*machine.pauses.lock().unwrap(), 4, "{name}");
    }
}

#[test]
fn an_index_that_is_not_there_is_named() {
    for name in SERVERS {
        let machine = Recorded::read(&format!("{name}.no-index"));
        for index in ["nothing", "nothing-*"] {
            assert_eq!(
                collect(&machine, &server(index)).unwrap_err(),
                format!(
                    "{URL} has no index {index:?}: write what condor_adstash writes to \
                     (ADSTASH_SE_INDEX_NAME), with * where there are several"
                ),
                "{name}"
            );
        }
    }
}

#[test]
fn a_server_that_stays_away_is_given_up() {
    let question = Fields::question("i");
    let away = |status: u16| Exchange {
        method: "GET".into(),
        path: format!("/{question}"),
        body: None,
        status,
        answer: if status == 0 { "Connection refused".into() } else { String::new() },
    };
    let machine = Recorded::of([0, 503, 0, 503, 0].map(away).into_iter());
    assert_eq!(
        collect(&machine, &server("i")).unwrap_err(),
        format!("no answer from {URL}: Connection refused")
    );
    assert_eq!(*machine.pauses.lock().unwrap(), 4);
}

#[test]
fn a_server_is_asked_in_a_way_that_it_knows() {
    use Way::*;
    for (distribution, flavor, number, tagline, ways) in [
        ("", "default", "7.9.3", "You Know, for Search", vec![Scroll]),
        ("", "oss", "7.10.2", "You Know, for Search", vec![Scroll]),
        ("", "default", "7.10.0", "You Know, for Search", vec![PointInTime, Scroll]),
        ("", "default", "9.2.2", "You Know, for Search", vec![PointInTime, Scroll]),
        ("opensearch", "", "1.3.20", "The OpenSearch Project", vec![Scroll]),
        ("opensearch", "", "2.4.0", "The OpenSearch Project", vec![OpenSearchPointInTime, Scroll]),
        ("", "", "7.10.2", "The OpenSearch Project", vec![OpenSearchPointInTime, Scroll]),
    ] {
        let answer = json!({
            "version": {"number": number, "distribution": distribution, "build_flavor": flavor},
            "tagline": tagline,
        });
        assert_eq!(ways_of(answer.to_string().as_bytes()), ways, "{distribution} {number}");
    }
    assert_eq!(ways_of(b"{}"), [PointInTime, OpenSearchPointInTime, Scroll]);
}

/// Asks a real server, keeps what it says, and makes faults of pages where the scenario has them.
struct Recorder {
    url: String,
    has_faults: bool,
    exchanges: Mutex<Vec<Exchange>>,
}

impl Machine for Recorder {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn pause(&self, _: Duration) {}

    fn run(&self, command: &Command, _: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        Err(Failure::Missing { program: command.program.to_owned() })
    }

    fn request(&self, request: &Request) -> Result<Response, Failure> {
        let mut exchange = question(request, &self.url);
        let mut exchanges = self.exchanges.lock().unwrap();
        let is_page = |exchange: &Exchange| {
            exchange.method == "POST"
                && exchange.path.contains("_search")
                && exchange.body.is_some()
        };
        // Which page this is, those that failed counted too.
        let page = exchanges.iter().filter(|earlier| is_page(earlier)).count() + 1;
        let fault = if self.has_faults && is_page(&exchange) { page } else { 0 };
        if fault == 6 {
            self.forget(request);
        }
        let Response { status, body } = Live::default().request(request)?;
        exchange.status = status;
        exchange.answer = String::from_utf8(body).unwrap();
        match fault {
            2 => {
                exchange.status = 503;
                exchange.answer = String::new();
            }
            3 => exchange.answer.truncate(exchange.answer.len() / 2),
            4 => {
                exchange.status = 0;
                exchange.answer = "Connection reset by peer".to_owned();
            }
            _ => {}
        }
        exchanges.push(exchange.clone());
        exchange.result(&request.url)
    }
}

impl Recorder {
    /// Has the server forget the search of a page, as it does when it was held for too long.
    fn forget(&self, page: &Request) {
        let body: Value = serde_json::from_str(page.body.as_ref().unwrap().text()).unwrap();
        let (pit, scroll) = (&body["pit"]["id"], &body["scroll_id"]);
        for (path, body) in [
            ("_pit", json!({"id": pit})),
            ("_search/point_in_time", json!({"pit_id": [pit]})),
            ("_search/scroll", json!({"scroll_id": [scroll]})),
        ] {
            let request = Request {
                method: Method::Delete,
                url: format!("{}/{path}", self.url),
                body: Some(Content::Json(body.to_string())),
                ..page.clone()
            };
            let _ = Live::default().request(&request);
        }
    }
}

/// Records at a real server, if tests/elasticsearch/record names one.
#[test]
#[expect(clippy::disallowed_methods, reason = "the script names the server in the environment")]
fn record() {
    let Ok(url) = std::env::var("PLIMSOLL_RECORD_URL") else { return };
    let name = std::env::var("PLIMSOLL_RECORD_NAME").unwrap();
    for (scenario, indexes) in [
        ("plain", &["htcondor-epochs"][..]),
        ("faults", &["htcondor-epochs"]),
        ("no-index", &["nothing", "nothing-*"]),
    ] {
        let machine = Recorder {
            url: url.clone(),
            has_faults: scenario == "faults",
            exchanges: Mutex::new(Vec::new()),
        };
        for index in indexes {
            let server = Server { url: url.clone(), ..server(index) };
            assert_eq!(collect(&machine, &server).is_ok(), scenario != "no-index", "{scenario}");
        }
        let exchanges = machine.exchanges.into_inner().unwrap();
        let lines: String = exchanges
            .iter()
            .map(|exchange| serde_json::to_string(exchange).unwrap() + "\n")
            .collect();
        std::fs::create_dir_all(folder()).unwrap();
        std::fs::write(format!("{}/{name}.{scenario}.jsonl", folder()), lines).unwrap();
    }
}
