//! Cuts a table that SLURM prints into rows: a header, then cells between delimiters, none of
//! them quoted.
//!
//! A name may hold a newline and even the delimiter, so a line is not always a row:
//!
//! * Where the last column takes the rest (`JobName`, asked for last), a line begins a row if it
//!   has an id in the id's place and half of the cells. Any other line goes on with the row before it: with its cells
//!   while some are missing (a comment may hold a newline too), then with its name. A row that
//!   never gets all of its cells was cut, and is set aside.
//! * Otherwise a row goes on over lines until it has all cells. A row with too many of them is
//!   set aside.
//!
//! A line that is a whole row by itself never belongs to the one before it: so a broken row does
//! not take a good one with it. A row beyond 64 KiB is set aside. None of this depends on where
//! the text was cut into pieces.

use memchr::memchr;

/// The longest row. `JobName` is at most 255 bytes, and the rest of a row some hundreds; node
/// lists and TRES lists are the only others that grow.
const LONGEST: usize = 64 * 1024;
const TOO_LONG: &str = "the row is longer than 64 KiB";
const TOO_SHORT: &str = "the row has too few cells";

/// What the rows of a table are read by.
pub(super) trait Reader {
    /// Takes a line in front of the header; whether it belongs there.
    fn heading(&mut self, _line: &[u8]) -> bool {
        false
    }

    /// Takes the names of the columns; `None` if this is no header.
    fn header(&mut self, names: &[&str]) -> Option<Layout>;

    /// Takes a row, which begins on this line, from 1.
    fn row(&mut self, line: u64, row: Row<'_>);

    /// Takes a piece of the text that is no row.
    fn reject(&mut self, line: u64, reason: &str, text: &[u8]);
}

/// What has to be known of a table's columns to find its rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The column of job ids, by which a row is known.
    pub(super) id: usize,
    /// Whether the last column that has a name may hold anything.
    pub(super) last_takes_rest: bool,
}

/// The cells of a row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) text: &'a [u8],
    /// Where each cell ends, but for the last.
    ends: &'a [u32],
}

/// A column, found in the header once; what a missing one holds is unknown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) index: Option<usize>,
}

/// The table so far: at most one row and the line behind it are held.
pub(super) struct Rows {
    shape: Option<Shape>,
    /// The open row and what follows it.
    buffer: Vec<u8>,
    /// How much of the buffer was searched for delimiters.
    searched: usize,
    row: Option<OpenRow>,
    row_ends: Vec<u32>,
    /// Where the line that is being searched begins in the buffer.
    line_start: usize,
    line: u64,
    /// The delimiters in that line, from its beginning; of too many, one too many.
    line_ends: Vec<u32>,
    /// Whether the line was set aside before its end was seen.
    line_dropped: bool,
}

#[derive(Clone, Copy)]
struct Shape {
    layout: Layout,
    delimiter: u8,
    /// The delimiters in a row, but for one at its end.
    delimiters: usize,
    /// Whether a row ends in a delimiter, behind a last column that takes the rest.
    ends_in_delimiter: bool,
}

#[derive(Clone, Copy)]
struct OpenRow {
    start: usize,
    end: usize,
    line: u64,
}

impl Column {
    pub(super) fn find(name: &'static str, header: &[&str]) -> Column {
        Column { name, index: header.iter().position(|cell| cell.eq_ignore_ascii_case(name)) }
    }
}

impl<'a> Row<'a> {
    /// What stands in a column; nothing if the table lacks it.
    pub(super) fn cell(&self, column: Column) -> &'a [u8] {
        column.index.map_or(&[], |index| cell(self.text, self.ends, index))
    }
}

fn cell<'a>(text: &'a [u8], ends: &[u32], index: usize) -> &'a [u8] {
    let start = match index.checked_sub(1) {
        Some(before) => ends[before] as usize + 1,
        None => 0,
    };
    let end = ends.get(index).map_or(text.len(), |&end| end as usize);
    &text[start..end]
}

impl Rows {
    pub(super) fn new() -> Rows {
        Rows {
            shape: None,
            buffer: Vec::new(),
            searched: 0,
            row: None,
            row_ends: Vec::new(),
            line_start: 0,
            line: 1,
            line_ends: Vec::new(),
            line_dropped: false,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8], reader: &mut impl Reader) {
        self.buffer.extend_from_slice(piece);
        // The loops below hold the buffer while the lines found in it change the rest.
        let buffer = std::mem::take(&mut self.buffer);
        while self.shape.is_none()
            && let Some(length) = memchr(b'\n', &buffer[self.searched..])
        {
            self.header(&buffer[self.line_start..self.searched + length], reader);
            self.next_line(self.searched + length);
        }
        if let Some(shape) = self.shape {
            self.search(shape, &buffer, reader);
        } else {
            self.searched = buffer.len();
        }
        self.buffer = buffer;
        if self.buffer.len() - self.line_start > LONGEST {
            self.drop_line(reader);
        }

        let kept = self.row.map_or(self.line_start, |row| row.start);
        self.buffer.drain(..kept);
        self.searched -= kept;
        self.line_start -= kept;
        if let Some(row) = &mut self.row {
            row.start -= kept;
            row.end -= kept;
        }
    }

    pub(super) fn finish(mut self, reader: &mut impl Reader) {
        let buffer = std::mem::take(&mut self.buffer);
        let last = &buffer[self.line_start..];
        let Some(shape) = self.shape else {
            return self.header(last, reader);
        };
        // Every line of a table ends in a newline: a last one without is whole or cut, but not
        // more of a name.
        let cut = shape.layout.last_takes_rest && !self.is_row(shape, last);
        if !last.is_empty() && !self.line_dropped {
            if cut {
                self.close_row(shape, &buffer, reader);
            }
            self.end_line(shape, &buffer, buffer.len(), reader);
        }
        self.close_row(shape, &buffer, reader);
    }

    /// Finds the lines that end in the part of the buffer that was not searched before.
    fn search(&mut self, shape: Shape, buffer: &[u8], reader: &mut impl Reader) {
        let from = self.searched;
        each_of_two(shape.delimiter, b'\n', &buffer[from..], |found| {
            let at = from + found;
            if buffer[at] == b'\n' {
                self.end_line(shape, buffer, at, reader);
                self.next_line(at);
            } else if self.line_ends.len() <= shape.delimiters {
                self.line_ends.push((at - self.line_start) as u32);
            }
        });
        self.searched = buffer.len();
    }

    fn next_line(&mut self, newline: usize) {
        self.line_start = newline + 1;
        self.searched = newline + 1;
        self.line += 1;
        self.line_ends.clear();
        self.line_dropped = false;
    }

    fn header(&mut self, line: &[u8], reader: &mut impl Reader) {
        if line.is_empty() || self.line_dropped {
            return;
        }
        if line.len() > LONGEST {
            return reader.reject(self.line, TOO_LONG, line);
        }
        if reader.heading(line) {
            return;
        }
        let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let delimiter = line.iter().copied().find(|byte| !in_name(byte)).unwrap_or(0x1f);
        let layout = std::str::from_utf8(line).ok().and_then(|line| {
            let names: Vec<&str> = line.split(char::from(delimiter)).collect();
            let layout = matches!(delimiter, 0x1f | b'|').then(|| reader.header(&names))??;
            // squeue prints the delimiter behind each cell, and so seems to have a last column.
            let ends_in_delimiter = layout.last_takes_rest && names.last() == Some(&"");
            let delimiters = names.len() - 1 - usize::from(ends_in_delimiter);
            Some(Shape { layout, delimiter, delimiters, ends_in_delimiter })
        });
        match layout {
            Some(shape) => self.shape = Some(shape),
            // Over ssh a site may greet before its table begins.
            None => reader.reject(self.line, "a table's header was expected", line),
        }
    }

    /// Takes a line whose end was found: it begins a row, or goes on with the open one.
    fn end_line(&mut self, shape: Shape, buffer: &[u8], end: usize, reader: &mut impl Reader) {
        if self.line_dropped {
            return;
        }
        let line = &buffer[self.line_start..end];
        if line.len() > LONGEST {
            self.close_row(shape, buffer, reader);
            reader.reject(self.line, TOO_LONG, line);
            return;
        }

        let Layout { id, last_takes_rest } = shape.layout;
        let begins = if self.row.is_none() || self.is_row(shape, line) {
            true
        } else if last_takes_rest {
            // A name with a newline may look like an id and hold delimiters, but not that many.
            2 * self.line_ends.len() >= shape.delimiters
                && self.line_ends.len() > id
                && is_id(cell(line, &self.line_ends, id))
        } else {
            self.row_ends.len() >= shape.delimiters
        };
        if begins {
            self.close_row(shape, buffer, reader);
            if line.is_empty() {
                return;
            }
            self.row = Some(OpenRow { start: self.line_start, end, line: self.line });
            std::mem::swap(&mut self.row_ends, &mut self.line_ends);
        } else if let Some(row) = &mut self.row {
            row.end = end;
            if !last_takes_rest || self.row_ends.len() < shape.delimiters {
                let before = (self.line_start - row.start) as u32;
                self.row_ends.extend(self.line_ends.iter().map(|end| before + end));
            }
            if row.end - row.start > LONGEST {
                let text = &buffer[row.start..row.end];
                reader.reject(row.line, TOO_LONG, text);
                self.row = None;
            }
        }
    }

    /// Whether the line that was searched is a whole row by itself.
    fn is_row(&self, shape: Shape, line: &[u8]) -> bool {
        self.line_ends.len() >= shape.delimiters
            && is_id(cell(line, &self.line_ends, shape.layout.id))
    }

    fn close_row(&mut self, shape: Shape, buffer: &[u8], reader: &mut impl Reader) {
        let Some(row) = self.row.take() else {
            return;
        };
        let text = &buffer[row.start..row.end];
        let cells = match text.split_last() {
            Some((&last, cells)) if shape.ends_in_delimiter => {
                (last == shape.delimiter).then_some(cells)
            }
            _ => Some(text),
        };
        let too_many = !shape.layout.last_takes_rest && self.row_ends.len() > shape.delimiters;
        // Of a row that ends in a delimiter the one at its end may be the last that it has.
        let ends = self.row_ends.get(..shape.delimiters).filter(|ends| {
            cells.is_some_and(|cells| ends.last().is_none_or(|&end| (end as usize) < cells.len()))
        });
        match (cells, ends) {
            (Some(_), Some(_)) if too_many => {
                reader.reject(row.line, "the row has too many cells", text);
            }
            (Some(cells), Some(ends)) if !is_id(cell(cells, ends, shape.layout.id)) => {
                reader.reject(row.line, "the row has no job's id in its place", text);
            }
            (Some(text), Some(ends)) => reader.row(row.line, Row { text, ends }),
            _ => reader.reject(row.line, TOO_SHORT, text),
        }
    }

    /// Sets aside a line that is too long, before its end is seen, and forgets what there is of it.
    fn drop_line(&mut self, reader: &mut impl Reader) {
        let buffer = std::mem::take(&mut self.buffer);
        if let Some(shape) = self.shape {
            self.close_row(shape, &buffer, reader);
        }
        if !self.line_dropped {
            reader.reject(self.line, TOO_LONG, &buffer[self.line_start..]);
        }
        self.buffer = buffer;
        self.buffer.truncate(self.line_start);
        self.searched = self.line_start;
        self.line_ends.clear();
        self.line_dropped = true;
    }
}

/// Gives the places of two bytes in a text, in order. Cells are some eight bytes long, so every 64
/// bytes are compared at once: `memchr` is made for finding what is far.
fn each_of_two(one: u8, other: u8, text: &[u8], mut found: impl FnMut(usize)) {
    let is_one = |byte: u8| byte == one || byte == other;
    let (blocks, rest) = text.as_chunks::<64>();
    for (index, block) in blocks.iter().enumerate() {
        let mut marks = marks(block, is_one);
        while marks != 0 {
            found(64 * index + marks.trailing_zeros() as usize);
            marks &= marks - 1;
        }
    }
    for (index, &byte) in rest.iter().enumerate() {
        if is_one(byte) {
            found(64 * blocks.len() + index);
        }
    }
}

/// A bit for each byte of a block: whether it is one of those that are looked for.
fn marks(block: &[u8; 64], is_one: impl Fn(u8) -> bool) -> u64 {
    // Two loops, for then the first is compiled to instructions that compare many bytes at once.
    let truths = block.map(|byte| u8::from(is_one(byte)));
    let (words, _) = truths.as_chunks::<8>();
    words.iter().rev().fold(0, |marks, word| {
        // Moves the lowest bit of each byte into the highest byte, one beside the other.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        marks << 8 | u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56
    })
}

/// Whether a cell can be a job id: `12`, `16_5`, `18_[0-99%10]`, `24+1`, `12.batch`.
fn is_id(cell: &[u8]) -> bool {
    const IS_OF_ID: [bool; 256] = {
        let (others, mut is_of_id) = (*b"_+.[]-,%:", [false; 256]);
        let mut byte = 0;
        while byte < is_of_id.len() {
            is_of_id[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let mut other = 0;
        while other < others.len() {
            is_of_id[others[other] as usize] = true;
            other += 1;
        }
        is_of_id
    };
    cell.first().is_some_and(u8::is_ascii_digit)
        && cell.iter().all(|byte| IS_OF_ID[usize::from(*byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what it is given, and keeps nothing.
    #[derive(Default)]
    struct Counting {
        rows: usize,
        rejects: usize,
    }

    impl Reader for Counting {
        fn header(&mut self, _: &[&str]) -> Option<Layout> {
            Some(Layout { id: 0, last_takes_rest: true })
        }

        fn row(&mut self, _: u64, _: Row<'_>) {
            self.rows += 1;
        }

        fn reject(&mut self, _: u64, _: &str, _: &[u8]) {
            self.rejects += 1;
        }
    }

    /// What is held of a text of 8 MiB is the piece, the open row and the line behind it.
    #[test]
    fn what_is_held_does_not_grow_with_the_text() {
        const PIECE: usize = 4096;
        const TEXT: usize = 8 << 20;
        let row = format!("12|{}|name\n", "x".repeat(1024 - 9));
        assert_eq!(row.len(), 1024);
        let of_rows = row.repeat(TEXT / row.len());
        let endless = "x".repeat(TEXT);
        for (text, rows, rejects) in [(of_rows, 8192, 0), (endless, 0, 1)] {
            let mut held = Rows::new();
            let mut reader = Counting::default();
            held.push(b"JobID|Comment|JobName\n", &mut reader);
            for piece in text.as_bytes().chunks(PIECE) {
                held.push(piece, &mut reader);
                // A buffer that grows may double.
                assert!(held.buffer.capacity() <= 2 * (2 * LONGEST + PIECE));
            }
            held.finish(&mut reader);
            assert_eq!((reader.rows, reader.rejects), (rows, rejects));
        }
    }

    #[test]
    fn two_bytes_are_found_wherever_they_stand() {
        for text in [
            "",
            "|",
            "a|b\n",
            "|||||||\n",
            "1234567|\n234567890||",
            "{}\x0b\t\u{fc}\u{8a}|",
            &"|".repeat(129),
            &"123456|".repeat(30),
            &format!("{}\n", "x".repeat(63)),
        ] {
            let expected: Vec<usize> = text
                .bytes()
                .enumerate()
                .filter_map(|(at, byte)| (byte == b'|' || byte == b'\n').then_some(at))
                .collect();
            let mut found = Vec::new();
            each_of_two(b'|', b'\n', text.as_bytes(), |at| found.push(at));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
