//! Input that could not be read.

use jiff::Timestamp;

use crate::Text;

record! {
    "Input that could not be read, kept rather than guessed at."
    pub struct Reject in "reject" key [source, time, position, reason] sort [source, time, position] moment time observed time {
        source: Text, "", "The command that printed it.";
        time: Timestamp, "UTC", "When the command was asked.";
        position: i64, "", "Where in the output: the line, or the number of the ad.";
        reason: Text, "", "Why it could not be read.";
        text: Text, "", "The input, at most 4 KiB of it.";
    }
}
