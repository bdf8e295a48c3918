use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn key(address: &str) -> Key {
    Key { sight: Sight::Staff, address: address.to_owned(), media_type: "text/csv" }
}

/// Versions of a lake, each after something was collected.
static VERSIONS: LazyLock<[Version; 3]> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake::Lake::open(folder.path()).unwrap();
    std::fs::create_dir(folder.path().join("tracker")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    ["1", "12", "123"].map(|text| {
        std::fs::write(folder.path().join("tracker/maple.json"), text).unwrap();
        let lake = lake.clone();
        // Not within the runtime of the test that is the first to ask.
        std::thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(lake.version()).unwrap()).join().unwrap()
        })
    })
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

/// Whether what was made at a moment is made anew at another.
async fn check(then: Moment, now: Moment, is_new: bool) {
    let kept = Kept::new();
    assert!(kept.answer(&key("/"), then, false, words("old")).await.unwrap().is_new);
    let given = kept.answer(&key("/"), now, false, words("new")).await.unwrap();
    assert_eq!((given.is_new, said(&given)), (is_new, if is_new { "new" } else { "old" }));
}

#[tokio::test]
async fn an_answer_holds_until_something_is_collected_and_not_for_ever() {
    check(moment(0, 1), moment(299, 1), false).await;
    check(moment(0, 1), moment(1, 2), true).await;
    check(moment(0, 1), moment(300, 1), true).await;
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
async fn what_was_asked_for_lately_is_asked_ahead() {
    let kept = Kept::new();
    kept.answer(&key("/old"), moment(0, 1), false, words("")).await.unwrap();
    kept.answer(&key("/one"), moment(60, 1), false, words("")).await.unwrap();
    kept.answer(&key("/two"), moment(61, 1), false, words("")).await.unwrap();
    let outdated = |now: &Moment| {
        let keys = kept.shelf().outdated(moment(30, 1).time, now).into_iter();
        keys.map(|key| key.address).collect::<Vec<_>>()
    };
    assert!(outdated(&moment(70, 1)).is_empty());
    assert_eq!(outdated(&moment(70, 2)), ["/two", "/one"]);
    // That we ask does not count as being asked for.
    kept.answer(&key("/old"), moment(70, 2), true, words("")).await.unwrap();
    kept.answer(&key("/two"), moment(70, 2), true, words("")).await.unwrap();
    assert_eq!(outdated(&moment(70, 2)), ["/one"]);
    assert_eq!(outdated(&moment(71, 3)), ["/two", "/one"]);
}
