//! Where a file lives, both ways: to a path and from one.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use object_store::path::Path;
use record::{GpuSample, Record, Table};

/// What a path of a table's file says.
#[derive(Debug, PartialEq)]
pub(crate) struct FilePath {
    pub(crate) cluster: String,
    pub(crate) date: Date,
}

/// The day of a moment, in UTC.
pub(crate) fn date(moment: Timestamp) -> Date {
    moment.to_zoned(TimeZone::UTC).date()
}

/// The first moment of a day, in UTC.
pub(crate) fn midnight(date: Date) -> Timestamp {
    date.to_zoned(TimeZone::UTC).expect("UTC has every midnight").timestamp()
}

/// The folder of all tables.
pub(crate) fn processed_folder() -> Path {
    Path::from("processed")
}

/// The folder of a table.
pub(crate) fn table_folder(table: &str) -> Path {
    processed_folder().join(table)
}

/// The table of a file, by its path below the lake's root.
pub(crate) fn table_of(path: &str) -> Option<&str> {
    path.strip_prefix("processed/")?.split('/').next()
}

/// The folder of a cluster's part of a table.
pub(crate) fn cluster_folder(table: &str, cluster: &str) -> Path {
    table_folder(table).join(format!("cluster={cluster}"))
}

/// The folder of a day of it.
pub(crate) fn date_folder(table: &str, cluster: &str, date: Date) -> Path {
    cluster_folder(table, cluster).join(format!("date={date}"))
}

/// The file that holds the rows of a moment.
///
/// A day has one file, which every commit replaces, so small files do not gather. Samples are
/// the exception: so many of them come in a day that each cycle rewrites its hour only.
pub(crate) fn file(table: &Table, cluster: &str, moment: Timestamp) -> Path {
    let name = if table.name == GpuSample::TABLE.name {
        format!("{}-{:02}.parquet", table.name, moment.to_zoned(TimeZone::UTC).hour())
    } else {
        format!("{}.parquet", table.name)
    };
    date_folder(table.name, cluster, date(moment)).join(name)
}

/// Where the output of a command is archived.
pub(crate) fn raw(source: &str, cluster: &str, date: Date, name: &str) -> Path {
    raw_of_day(source, cluster, date).join(format!("{name}.zst"))
}

/// The folder of what is archived about a day.
pub(crate) fn raw_of_day(source: &str, cluster: &str, date: Date) -> Path {
    let parts =
        ["raw".to_owned(), source.to_owned(), format!("cluster={cluster}"), format!("date={date}")];
    Path::from_iter(parts)
}

/// The folder of the archive.
pub(crate) fn raw_folder() -> Path {
    Path::from("raw")
}

/// The cluster of a file of the archive.
pub(crate) fn cluster_of_raw(path: &Path) -> Option<String> {
    let parts: Vec<_> = path.parts().collect();
    let [_raw, _source, cluster, _date, name] = &parts[..] else { return None };
    let cluster = cluster.as_ref().strip_prefix("cluster=")?.to_owned();
    name.as_ref().ends_with(".zst").then_some(cluster)
}

/// What a file of the archive comes from.
pub(crate) fn source_of_raw(path: &Path) -> Option<String> {
    Some(path.parts().nth(1)?.as_ref().to_owned())
}

/// The day that a file of the archive is about.
pub(crate) fn date_of_raw(path: &Path) -> Option<Date> {
    path.parts().nth(3)?.as_ref().strip_prefix("date=")?.parse().ok()
}

/// The folder of trackers.
pub(crate) fn tracker_folder() -> Path {
    Path::from("tracker")
}

/// Where a cluster's tracker is kept.
pub(crate) fn tracker(cluster: &str) -> Path {
    Path::from_iter(["tracker".to_owned(), format!("{cluster}.json")])
}

/// Where a cluster's jobs that are not over are kept.
pub(crate) fn open_jobs(cluster: &str) -> Path {
    Path::from_iter(["tracker".to_owned(), format!("{cluster}.open.json")])
}

/// The folder of locks.
pub(crate) fn lock_folder() -> Path {
    Path::from("lock")
}

/// Where it is kept who collects a cluster, if that is not a lock of the system.
pub(crate) fn lease(cluster: &str) -> Path {
    Path::from_iter(["lock".to_owned(), format!("{cluster}.json")])
}

/// An object by which it is tried what a store does.
pub(crate) fn probe() -> Path {
    Path::from(format!("lock/probe-{}", std::process::id()))
}

/// The folder of what was last seen of clusters.
pub(crate) fn live_folder() -> Path {
    Path::from("live")
}

/// Where it is kept what was last seen of a cluster.
pub(crate) fn live(cluster: &str) -> Path {
    Path::from_iter(["live".to_owned(), format!("{cluster}.json")])
}

/// Reads back what [`file`] wrote; other files of a folder are nobody's.
pub(crate) fn parse(path: &Path) -> Option<FilePath> {
    let parts: Vec<_> = path.parts().collect();
    let [processed, _table, cluster, date, name] = &parts[..] else { return None };
    if processed.as_ref() != "processed" || !name.as_ref().ends_with(".parquet") {
        return None;
    }
    Some(FilePath {
        cluster: cluster.as_ref().strip_prefix("cluster=")?.to_owned(),
        date: date.as_ref().strip_prefix("date=")?.parse().ok()?,
    })
}

/// The cluster of a folder below a table's.
pub(crate) fn cluster_of_folder(path: &Path) -> Option<String> {
    Some(path.filename()?.strip_prefix("cluster=")?.to_owned())
}
