//! One run of a source.

use jiff::Timestamp;

use crate::Text;

record! {
    "One run of a source: when, how long, how many, did it work."
    pub struct Collection in "collection" key [source, start_time, window_start] sort [source, start_time, window_start] moment start_time observed start_time {
        source: Text, "", "The command that was asked.";
        start_time: Timestamp, "UTC", "When it was asked.";
        window_start: Option<Timestamp>, "UTC", "The beginning of the time that was asked about.";
        window_end: Option<Timestamp>, "UTC", "Its end; not included.";
        duration_seconds: f64, "s", "How long it took.";
        bytes: i64, "B", "What it printed.";
        records: i64, "", "Records read from that.";
        rejects: i64, "", "Pieces of it that could not be read.";
        changed: i64, "", "Rows of the lake that it added or changed.";
        error: Option<Text>, "", "Why it failed; unknown means that it worked.";
    }
}
