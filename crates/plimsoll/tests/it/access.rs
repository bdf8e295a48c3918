//! Who may see what: every route by every kind of visitor, through the program itself.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;

use serve::Need;
use tempfile::TempDir;

use crate::demo::DEMO;
use crate::program::{command, plimsoll, said};
use crate::server::Server;

/// One of the demo's days.
const PERIOD: &str = "from=2026-03-06&to=2026-03-07";
const PASSWORD: &str = "correct horse battery";

/// The names of allocations: of one user, of an account that he is not in, and of a group.
const GRANTED: [&str; 3] = ["granted-to-user", "granted-to-account", "granted-to-group"];

/// A site with the demo's history, users and tokens.
struct Site {
    folder: TempDir,
    /// Everybody in the history.
    users: BTreeSet<String>,
    accounts: BTreeSet<String>,
    /// One of the users, an account that he is not in, and who is in that.
    user: String,
    /// A job of this user on `alder`.
    job: String,
    other_account: String,
    other_users: BTreeSet<String>,
    tokens: [String; 5],
}

static SITE: LazyLock<Site> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let pairs = rows("SELECT DISTINCT user, account FROM job ORDER BY account NULLS LAST, user");
    let (user, account) = (pairs[0][0].clone(), pairs[0][1].clone());
    let job = format!(
        "SELECT min(job_id) FROM job WHERE user = '{user}' AND cluster = 'alder' \
                       AND start_time >= '2026-03-06T00:00:00Z' AND start_time < '2026-03-07T00:00:00Z'"
    );
    let job = rows(&job)[0][0].clone();
    let other_account = pairs.iter().find(|pair| pair[1] != account).unwrap()[1].clone();
    let is_in_other = |pair: &&Vec<String>| pair[1] == other_account;
    let other_users = pairs.iter().filter(is_in_other).map(|pair| pair[0].clone()).collect();
    let accounts = pairs.iter().map(|pair| pair[1].clone()).filter(|name| !name.is_empty());
    let accounts = accounts.collect();
    let users = "SELECT user FROM job \
                 UNION SELECT primary_user FROM gpu_span UNION SELECT backfill_user FROM gpu_span";
    let users = rows(users).concat().into_iter().filter(|name| !name.is_empty()).collect();
    let granted = |name: &str, holder: &str| {
        format!(
            "[[allocation]]\nname = {name:?}\n{holder}\nunit = \"gpu-hour\"\namount = 1000\n\
             from = 2026-03-01\nto = 2026-04-01\n"
        )
    };
    let more = [
        format!("[access.coordinators]\nlead = [{other_account:?}]\n"),
        format!("[groups]\nlab = [{user:?}]\n"),
        granted(GRANTED[0], &format!("user = {user:?}")),
        granted(GRANTED[1], &format!("account = {other_account:?}")),
        granted(GRANTED[2], "group = \"lab\""),
    ];
    configure(folder.path(), "nobody", &more.concat());
    let scopes = [
        ("anybody", "public"),
        (&user, "self"),
        ("lead", "self"),
        ("boss", "staff"),
        ("scraper", "metrics"),
    ];
    let tokens = scopes.map(|(name, scope)| {
        let said = plimsoll(folder.path(), &["token", "add", name, "--scope", scope]);
        assert_eq!(said.status, 0, "{}", said.stderr);
        said.stdout.trim().to_owned()
    });
    Site { tokens, users, accounts, user, job, other_account, other_users, folder }
});

/// What staff reads in the demo; what is unknown is blank.
fn rows(sql: &str) -> Vec<Vec<String>> {
    let words = ["--data-dir", "plimsoll-demo", "sql", sql, "--format", "json"];
    let said = plimsoll(DEMO.folder.path(), &words);
    let report: serde_json::Value = serde_json::from_str(&said.stdout).expect(&said.stderr);
    let text = |cell: &serde_json::Value| cell.as_str().unwrap_or_default().to_owned();
    let rows = report["rows"].as_array().expect(&said.stdout).iter();
    rows.map(|row| row.as_object().expect(&said.stdout).values().map(text).collect()).collect()
}

/// Writes a configuration with the demo's history, and with this of access beside.
fn configure(folder: &Path, anonymous: &str, more: &str) {
    let text = format!(
        "data_dir = {:?}\nzone = \"UTC\"\n[access]\nanonymous = {anonymous:?}\nstaff = [\"boss\"]\n\
         folder = \"access\"\n{more}",
        DEMO.folder.path().join("plimsoll-demo")
    );
    fs::write(folder.join("plimsoll.toml"), text).unwrap();
}

/// The kinds of visitors, in the order of the tokens; the first has none.
const VISITORS: [&str; 6] = ["nobody", "public", "self", "coordinator", "staff", "metrics"];

impl Site {
    fn bearer(&self, visitor: usize) -> Vec<String> {
        let token = visitor.checked_sub(1).map(|place| &self.tokens[place]);
        token.map(|token| format!("Authorization: Bearer {token}")).into_iter().collect()
    }

    fn get(&self, server: &Server, visitor: usize, path: &str) -> (u16, String) {
        let bearer = self.bearer(visitor);
        let headers: Vec<&str> = bearer.iter().map(String::as_str).collect();
        let (head, body) = server.ask(&format!("GET {path}"), &headers, "");
        (status(&head), body)
    }

    /// Names that a visitor must not read anywhere.
    fn secrets(&self, visitor: usize) -> BTreeSet<&str> {
        let all = self.users.iter().chain(&self.accounts).map(String::as_str);
        let is_known = |name: &&str| match VISITORS[visitor] {
            // What it may read names everybody.
            "staff" | "metrics" => true,
            "self" => *name == self.user || self.accounts.contains(*name),
            "coordinator" => self.other_users.contains(*name) || self.accounts.contains(*name),
            _ => false,
        };
        all.filter(|name| !is_known(name)).collect()
    }

    /// An address that a route answers.
    fn address(&self, route: &str) -> String {
        let name = match route {
            "/api/v1/now/{name}" => "queue",
            "/asset/{name}" => "0.css",
            _ => "usage-by-user",
        };
        let path = route
            .replace("{cluster}", "alder")
            .replace("{job}", &self.job)
            .replace("{user}", &self.user)
            .replace("{group}", "lab")
            .replace("{account}", &self.other_account)
            .replace("{node}", "c001")
            .replace("{class}", "Shared")
            .replace("{report}", "usage-by-user")
            .replace("{names}", "vpenso")
            .replace("{name}", name)
            .replace("{*rest}", "nothing");
        let is_asked_about_a_time =
            !(route.starts_with("/api/v1/now") || route.starts_with("/metrics"));
        if is_asked_about_a_time { format!("{path}?{PERIOD}") } else { path }
    }
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The names of a set that stand in a text as words.
fn found<'a>(names: &BTreeSet<&'a str>, text: &str) -> Vec<&'a str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let words: BTreeSet<&str> = text.split(|letter| !is_part(letter)).collect();
    names.iter().copied().filter(|name| words.contains(name)).collect()
}

#[test]
fn every_route_is_for_those_it_is_for_and_names_nobody_else() {
    let site = &*SITE;
    let server = Server::start(site.folder.path(), &["serve"]);
    for (route, need) in serve::routes() {
        for (place, visitor) in VISITORS.iter().enumerate() {
            let address = site.address(route);
            let (status, body) = site.get(&server, place, &address);
            let answered = match route {
                // Nobody else says here who asks.
                "/openid" | "/openid-return" => 404,
                "/asset/{name}" | "/api/{*rest}" => 404,
                "/logout" => 303,
                _ => 200,
            };
            // What a visitor does not see is answered as what does not exist.
            let is_of_somebody = OF_SOMEBODY.contains(&route);
            let answered = if is_of_somebody && status == 404 { 404 } else { answered };
            let expected = match (need, *visitor) {
                (Need::Nothing, _) | (_, "staff") | (Need::Sight, "public") => answered,
                (_, "nobody") => 401,
                (Need::Metrics, "metrics") => answered,
                (Need::Sight | Need::Name, "self" | "coordinator") => answered,
                _ => 403,
            };
            assert_eq!(status, expected, "{visitor} {address}: {body}");
            assert!(status != 404 || !is_of_somebody || *visitor != "staff", "{address}: {body}");
            // What the address itself says may stand on the page.
            let mut secrets = site.secrets(place);
            secrets.retain(|name| !address.contains(*name));
            let told = found(&secrets, &body);
            assert!(told.is_empty(), "{visitor} reads {told:?} at {address}");
            if route == "/users" && *visitor == "staff" {
                let all = site.users.iter().map(String::as_str).collect();
                assert!(found(&all, &body).len() > 10, "who would be found is: {body}");
            }
        }
    }
}

/// Pages of somebody or something of theirs.
const OF_SOMEBODY: [&str; 4] =
    ["/users/{user}", "/accounts/{account}", "/groups/{group}", "/jobs/{cluster}/{job}"];

#[test]
fn a_hidden_name_is_answered_as_one_that_does_not_exist() {
    let site = &*SITE;
    let server = Server::start(site.folder.path(), &["serve"]);
    let other_user = site.other_users.iter().find(|name| **name != site.user).unwrap();
    let main = |visitor: usize, folder: &str, name: &str| {
        let (status, body) = site.get(&server, visitor, &format!("/{folder}/{name}?{PERIOD}"));
        let (_, main) = body.split_once("<main").expect(&body);
        (status, main.split("</main>").next().unwrap().replace(name, "NAME"))
    };
    for (folder, hidden) in [("users", other_user), ("accounts", &site.other_account)] {
        for visitor in [1, 2] {
            let answer = main(visitor, folder, hidden);
            assert_eq!(answer.0, 404, "{} {hidden}: {}", VISITORS[visitor], answer.1);
            assert_eq!(answer, main(visitor, folder, "zzzz"), "{}", VISITORS[visitor]);
        }
        let staff = VISITORS.iter().position(|visitor| *visitor == "staff").unwrap();
        assert_eq!(main(staff, folder, hidden).0, 200);
        // Staff are helped to the name that they probably meant.
        let (status, words) = main(staff, folder, &format!("{hidden}x"));
        assert!(
            status == 404 && words.contains(&format!("Did you mean &quot;{hidden}&quot;?")),
            "{words}"
        );
    }
}

#[test]
fn no_report_or_look_names_anybody_to_those_who_may_not_know() {
    let site = &*SITE;
    let server = Server::start(site.folder.path(), &["serve"]);
    for visitor in [1, 2] {
        let secrets = site.secrets(visitor);
        let (_, list) = site.get(&server, visitor, "/api/v1/reports");
        assert!(!list.contains("\"rejects\""), "{list}");
        for analysis in query::ANALYSES {
            let subject = analysis.options.iter().any(|option| option.name == "job");
            let job = if subject { "&job=1" } else { "" };
            let address = format!("/api/v1/reports/{}?{PERIOD}{job}", analysis.name);
            let (status, body) = site.get(&server, visitor, &address);
            let is_for_staff = ["collections", "rejects"].contains(&analysis.name);
            assert_eq!(status, if is_for_staff { 403 } else { 200 }, "{address}: {body}");
            let told = found(&secrets, &body);
            assert!(told.is_empty(), "{} reads {told:?} at {address}", VISITORS[visitor]);
        }
        for look in query::now::LOOKS {
            let (status, body) = site.get(&server, visitor, &format!("/api/v1/now/{}", look.name));
            assert_eq!(status, 200, "{body}");
            let told = found(&secrets, &body);
            assert!(told.is_empty(), "{} reads {told:?} in {}", VISITORS[visitor], look.name);
        }
    }
    // Of jobs the public reads no name that a user gave.
    let (_, jobs) = site.get(&server, 1, &format!("/api/v1/reports/jobs?{PERIOD}"));
    let jobs: serde_json::Value = serde_json::from_str(&jobs).unwrap();
    let rows = jobs["report"]["rows"].as_array().unwrap();
    assert!(rows.len() > 10);
    let text = jobs.to_string();
    assert!(!text.contains("train_resnet") && !text.contains("md_run"), "{text}");
}

#[test]
fn an_allocation_is_shown_to_those_whose_use_counts_in_it() {
    let site = &*SITE;
    let server = Server::start(site.folder.path(), &["serve"]);
    // A member of the group shares its allocation: he sees the totals of it, and not what it says of others.
    let [of_user, of_account, of_group] = GRANTED;
    let totals_seen_by: [&[&str]; 5] = [&[], &[], &[of_group, of_user], &[of_account], &GRANTED];
    let seen_by: [&[&str]; 5] = [&[], &[], &[of_user], &[of_account], &GRANTED];
    let addresses = [
        (format!("/allocations?{PERIOD}"), totals_seen_by),
        (format!("/api/v1/reports/allocations?{PERIOD}"), totals_seen_by),
        (format!("/api/v1/reports/allocation-days?{PERIOD}"), totals_seen_by),
        ("/api/v1/constants".to_owned(), seen_by),
    ];
    for (address, seen_by) in addresses {
        for (visitor, expected) in seen_by.into_iter().enumerate() {
            let (_, body) = site.get(&server, visitor, &address);
            let seen = BTreeSet::from_iter(found(&BTreeSet::from(GRANTED), &body));
            let expected = expected.iter().copied().collect();
            assert_eq!(seen, expected, "{} {address}", VISITORS[visitor]);
        }
    }
}

#[test]
fn a_password_opens_a_session_and_leaving_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "nobody", "");
    add_user(folder.path(), "boss", PASSWORD);
    let server = Server::start(folder.path(), &["serve"]);

    // A browser is led to the form, and back to where it wanted to go.
    let (head, _) = server.ask("GET /users/x?days=7", &["Accept: text/html"], "");
    assert!(head.contains("location: ../login?next=%2Fusers%2Fx%3Fdays%3D7"), "{head}");
    let (head, form) = server.ask("GET /login?next=%2Fusers%3Fdays%3D7", &[], "");
    assert!(!form.contains("alder"), "a stranger is shown nothing of the site: {form}");
    let cookie = cookie(&head, "plimsoll_form");
    assert!(head.contains("HttpOnly; SameSite=Lax"), "{head}");
    let token = cookie.split_once('=').unwrap().1.to_owned();
    let sent = |cookie: &str, token: &str, password: &str| {
        let body = format!(
            "form={token}&name=boss&password={}&next=%2F%2Fevil.example",
            password.replace(' ', "+")
        );
        server.ask("POST /login", &[&format!("Cookie: {cookie}")], &body)
    };
    assert_eq!(status(&sent("a=b", &token, PASSWORD).0), 403, "without the cookie");
    assert_eq!(status(&sent(&cookie, "", PASSWORD).0), 403, "without the field");
    let (head, body) = sent(&cookie, &token, "wrong horse battery");
    assert_eq!(status(&head), 401);
    assert!(!body.contains("wrong horse"), "{body}");
    let from_elsewhere = server.ask(
        "POST /login",
        &[&format!("Cookie: {cookie}"), "Sec-Fetch-Site: cross-site"],
        &format!("form={token}&name=boss&password=x"),
    );
    assert_eq!(status(&from_elsewhere.0), 403);
    let (head, _) = sent(&cookie, &token, PASSWORD);
    assert!(head.contains("location: ./evil.example"), "only below our own pages: {head}");
    let session = self::cookie(&head, "plimsoll_session");
    let get = |path: &str| server.ask(&format!("GET {path}"), &[&format!("Cookie: {session}")], "");
    assert_eq!(status(&get("/metrics").0), 200, "boss is staff");

    // A form from elsewhere does not end it; ours does.
    let leave = |cookies: &str, token: &str| {
        server.ask("POST /logout", &[&format!("Cookie: {cookies}")], &format!("form={token}"))
    };
    assert_eq!(status(&leave(&session, "").0), 403);
    let (head, _) = get("/logout");
    let form = self::cookie(&head, "plimsoll_form");
    let token = form.split_once('=').unwrap().1;
    assert_eq!(status(&leave(&format!("{session}; {form}"), token).0), 303);
    assert_eq!(status(&get("/metrics").0), 401);

    // What is recorded holds who and what, and no secret.
    let record = fs::read_to_string(folder.path().join("access/requests.log")).unwrap();
    assert!(record.contains("\"who\":\"boss\"") && record.contains("\"address\":\"/metrics\""));
    let secret = session.split_once('=').unwrap().1;
    assert!(!record.contains("horse") && !record.contains(secret), "{record}");
}

fn add_user(folder: &Path, name: &str, password: &str) {
    let mut adding = command(folder)
        .args(["user", "add", name])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    adding.stdin.take().unwrap().write_all(format!("{password}\n").as_bytes()).unwrap();
    assert!(adding.wait().unwrap().success());
}

/// The attack: a browser goes on with the session of a user whose password was changed, who was logged out by an
/// administrator, or who was removed.
#[test]
fn a_session_ends_with_the_password_the_user_or_a_logout() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "nobody", "");
    let add = |password: &str| add_user(folder.path(), "boss", password);
    add(PASSWORD);
    let server = Server::start(folder.path(), &["serve"]);
    let log_in = |password: &str| {
        let (head, _) = server.ask("GET /login", &[], "");
        let form = cookie(&head, "plimsoll_form");
        let token = form.split_once('=').unwrap().1;
        let body = format!("form={token}&name=boss&password={}", password.replace(' ', "+"));
        let (head, _) = server.ask("POST /login", &[&format!("Cookie: {form}")], &body);
        cookie(&head, "plimsoll_session")
    };
    let seen_with =
        |session: &str| status(&server.ask("GET /metrics", &[&format!("Cookie: {session}")], "").0);
    let first = log_in(PASSWORD);
    assert_eq!(seen_with(&first), 200);
    add("another long password");
    assert_eq!(seen_with(&first), 401, "with another password");
    let second = log_in("another long password");
    assert_eq!(seen_with(&second), 200);
    let ended = plimsoll(folder.path(), &["user", "logout", "boss"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, "ended all sessions of boss\n"));
    assert_eq!(seen_with(&second), 401, "after a logout");
    let third = log_in("another long password");
    assert_eq!(seen_with(&third), 200);
    assert_eq!(plimsoll(folder.path(), &["user", "remove", "boss"]).status, 0);
    assert_eq!(seen_with(&third), 401, "without a user");
}

fn cookie(head: &str, name: &str) -> String {
    let (_, rest) = head.split_once(&format!("set-cookie: {name}=")).expect(head);
    format!("{name}={}", rest.split(';').next().unwrap())
}

#[test]
fn who_guesses_has_to_wait() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), "nobody", "");
    let server = Server::start(folder.path(), &["serve"]);
    let guess = || {
        let headers = ["Cookie: plimsoll_form=x"];
        status(&server.ask("POST /login", &headers, "form=x&name=ann&password=guess").0)
    };
    // All at once, so that most are sent before the first password is compared.
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let guesses: Vec<_> = (0..30).map(|_| scope.spawn(guess)).collect();
        guesses.into_iter().map(|guess| guess.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!((&statuses[..10], &statuses[10..]), (&[401; 10][..], &[429; 20][..]));
    // Nor may a form be of any size, or come at any pace.
    let (head, _) = server.ask("POST /login", &[], &"x".repeat(10_000));
    assert_eq!(status(&head), 413);
}

#[test]
fn only_a_trusted_proxy_says_who_asks() {
    let site = &*SITE;
    let folder = tempfile::tempdir().unwrap();
    let start = |trusted: &str| {
        let proxy =
            format!("[access.proxy]\nheader = \"X-Remote-User\"\ntrusted = [{trusted:?}]\n");
        configure(folder.path(), "public", &proxy);
        Server::start(folder.path(), &["serve"])
    };
    let asked = |server: &Server, headers: &[&str]| {
        let (head, body) = server.ask(&format!("GET /users?{PERIOD}"), headers, "");
        assert_eq!(status(&head), 200, "{body}");
        body
    };
    let boss = ["X-Remote-User: boss"];
    let server = start("127.0.0.1");
    let users = site.users.iter().map(String::as_str).collect();
    assert!(!found(&users, &asked(&server, &boss)).is_empty(), "staff reads names");
    assert_eq!(found(&users, &asked(&server, &[])), Vec::<&str>::new(), "the public does not");
    let (head, _) = server.ask("GET /users", &["X-Remote-User: a", "X-Remote-User: boss"], "");
    assert_eq!(status(&head), 400, "two names are nobody's");
    drop(server);
    let server = start("192.0.2.0/24");
    assert_eq!(found(&users, &asked(&server, &boss)), Vec::<&str>::new(), "anybody can say so");
}

#[test]
fn nothing_is_served_to_other_machines_by_oversight() {
    let folder = tempfile::tempdir().unwrap();
    let lake = DEMO.folder.path().join("plimsoll-demo");
    let words = ["--data-dir", lake.to_str().unwrap(), "serve", "--listen", "0.0.0.0:0"];
    let said = said(command(folder.path()).args(words));
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("nobody has said who may see what"), "{}", said.stderr);
}

#[test]
fn a_client_that_does_not_ask_is_cut_off() {
    let site = &*SITE;
    let server = Server::start(site.folder.path(), &["serve"]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: pl").unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
    let mut answer = Vec::new();
    // The end of the connection, not of the test's patience.
    stream.read_to_end(&mut answer).unwrap();
}
