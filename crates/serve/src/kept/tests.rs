use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn key(address: &str) -> Key {
    Key { sight: Sight::Staff, address: address.to_owned(), media_type: "text/csv" }
}

/// Versions of a lake, each after something was collected.
static VERSIONS: LazyLock<[Version; 3]> = LazyLock::new(|| {
    // Not within the runtime of the test that is the first to ask.
    std::thread::spawn(|| {
        let folder = tempfile::tempdir().unwrap();
        let lake = lake::Lake::open(folder.path()).unwrap();
        std::fs::create_dir(folder.path().join("tracker")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        ["1", "12", "123"].map(|text| {
            std::fs::write(folder.path().join("tracker/maple.json"), text).unwrap();
            runtime.block_on(lake.version()).unwrap()
        })
    })
    .join()
    .unwrap()
});

/// A moment so many seconds after another, after so many collections.
fn moment(seconds: i64, collections: usize) -> Moment {
    let time = Timestamp::from_second(1_700_000_000 + seconds).unwrap();
    Moment { time, version: VERSIONS[collections - 1].clone() }
}

async fn words(words: &str) -> Result<Answer, Trouble> {
    Ok(Answer::File(Bytes::copy_from_slice(words.as_bytes())))
}

fn said(given: &Given) -> &str {
    let Answer::File(bytes) = &*given.answer else { panic!("a file was kept") };
    std::str::from_utf8(bytes).unwrap()
}

/// What is said at a moment to somebody who asks, or to ourselves, after something was said; that it no
/// longer holds was noted at some moment, or was not.
async fn check(now: Moment, noted: Option<Moment>, is_ahead: bool, expected: &str) {
    let kept = Kept::new();
    assert!(kept.answer(&key("/"), moment(0, 1), false, words("old")).await.unwrap().is_new);
    if let Some(noted) = noted {
        kept.shelf().note_outdated(&noted, moment(0, 1).time);
    }
    let given = kept.answer(&key("/"), now, is_ahead, words("new")).await.unwrap();
    assert_eq!((said(&given), given.is_new), (expected, expected == "new"));
}

#[tokio::test]
async fn an_answer_holds_until_something_is_collected_and_not_for_ever() {
    check(moment(299, 1), None, true, "old").await;
    check(moment(1, 2), None, true, "new").await;
    check(moment(300, 1), None, true, "new").await;
}

#[tokio::test]
async fn one_that_no_longer_holds_is_given_while_another_one_is_made_and_not_for_long() {
    check(moment(250, 2), Some(moment(200, 2)), false, "old").await;
    check(moment(260, 2), Some(moment(200, 2)), false, "new").await;
    // Nobody noted it: so much older than it may be it is never given.
    check(moment(359, 1), None, false, "old").await;
    check(moment(360, 1), None, false, "new").await;
}

#[tokio::test]
async fn who_sees_something_else_is_given_something_else() {
    let kept = Kept::new();
    let secret = query::Secret::new(b"salt");
    let own = |user: &str, accounts: &[&str]| Key {
        sight: Sight::Own {
            user: user.to_owned(),
            accounts: accounts.iter().map(|&name| name.to_owned()).collect(),
            secret: secret.clone(),
        },
        ..key("/")
    };
    let public = Key { sight: Sight::Public { secret: secret.clone() }, ..key("/") };
    let json = Key { media_type: "application/json", ..key("/") };
    let other = key("/?days=1");
    for key in
        [key("/"), own("ann", &[]), own("bob", &[]), own("ann", &["chem"]), public, json, other]
    {
        assert!(kept.answer(&key, moment(0, 1), false, words("")).await.unwrap().is_new, "{key:?}");
    }
}

#[tokio::test]
async fn those_who_ask_the_same_at_once_wait_for_one_answer() {
    let (kept, made) = (Kept::new(), AtomicUsize::new(0));
    let (key, ask) = (key("/"), || async {
        made.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        words("once").await
    });
    let (one, other) = tokio::join!(
        kept.answer(&key, moment(0, 1), false, ask()),
        kept.answer(&key, moment(0, 1), false, ask()),
    );
    assert_eq!((said(&one.unwrap()), said(&other.unwrap())), ("once", "once"));
    assert_eq!(made.into_inner(), 1);
}

#[tokio::test]
async fn who_leaves_leaves_the_answer_to_those_who_wait() {
    let kept = Arc::new(Kept::new());
    let (leaver, key) = (kept.clone(), key("/"));
    let leaving = {
        let key = key.clone();
        tokio::spawn(async move {
            let never = std::future::pending();
            leaver.answer(&key, moment(0, 1), false, never).await.map(|given| given.is_new)
        })
    };
    tokio::task::yield_now().await;
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    assert!(kept.answer(&key, moment(0, 1), false, words("")).await.unwrap().is_new);
}

#[tokio::test]
async fn what_was_not_asked_for_longest_makes_room() {
    let kept = Kept { shelf: Mutex::new(Shelf::new(5000)), places: Semaphore::new(1) };
    let large = "x".repeat(1500);
    let mut is_new = Vec::new();
    for address in ["/a", "/b", "/a", "/c", "/a", "/b"] {
        let given = kept.answer(&key(address), moment(0, 1), false, words(&large)).await.unwrap();
        is_new.push(given.is_new);
    }
    // Two fit: /b goes when /c comes, for /a was asked for after it.
    assert_eq!(is_new, [true, true, false, true, false, true]);
}

#[tokio::test]
async fn what_was_asked_for_lately_is_due_and_what_was_not_is_let_go() {
    let kept = Kept::new();
    for (address, second) in [("/old", 0), ("/one", 60), ("/two", 61)] {
        kept.answer(&key(address), moment(second, 1), false, words("")).await.unwrap();
    }
    let due = || kept.shelf().next_due().map(|key| key.address);
    let note = |now: Moment| kept.shelf().note_outdated(&now, moment(30, 1).time);
    note(moment(70, 1));
    assert_eq!(due(), None);
    note(moment(70, 2));
    assert_eq!(due().as_deref(), Some("/two"));
    kept.answer(&key("/two"), moment(70, 2), true, words("")).await.unwrap();
    assert_eq!(due().as_deref(), Some("/one"));
    kept.answer(&key("/one"), moment(70, 2), true, words("")).await.unwrap();
    assert_eq!(due(), None);
    // That we asked does not count as being asked for.
    let later = moment(70, 2).time;
    kept.shelf().note_outdated(&moment(71, 3), later);
    assert_eq!(due(), None);
}

#[tokio::test]
async fn what_is_made_for_whoever_comes_is_due_though_nobody_asked_and_is_not_forgotten() {
    let kept = Kept::new();
    kept.shelf().stand(&key("/"));
    assert_eq!(kept.shelf().next_due(), Some(key("/")));
    kept.answer(&key("/"), moment(0, 1), true, words("one")).await.unwrap();
    assert_eq!(kept.shelf().next_due(), None);
    kept.shelf().note_outdated(&moment(1, 2), moment(1, 2).time);
    assert_eq!(kept.shelf().next_due(), Some(key("/")));
}
