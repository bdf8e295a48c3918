//! SQLite files that others wrote, as tables of text.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use arrow::array::{StringArray, StringBuilder};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::ForeignRows;

/// The rows of a table in a SQLite file in the order in which they were inserted, some at a time;
/// nothing if the file has no such table. The file is not changed.
pub fn read_foreign_table(
    path: &Path,
    table: &str,
) -> Result<Option<impl Iterator<Item = Result<ForeignRows>> + use<>>> {
    let doing = format!("cannot read {}", path.display());
    let (rows, names) = match open(path, table).with_context(|| doing.clone())? {
        Some(opened) => opened,
        None => return Ok(None),
    };
    let mut reader = Reader { connection: rows, select: select(table), names, last_id: i64::MIN };
    Ok(Some(std::iter::from_fn(move || reader.next().with_context(|| doing.clone()).transpose())))
}

/// Opens a file to read a table, and finds the names of its columns.
fn open(path: &Path, table: &str) -> Result<Option<(Connection, Vec<String>)>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // Whoever still writes the file does so for moments.
    connection.busy_timeout(Duration::from_secs(30))?;
    let is_there: bool = connection.query_row(
        "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?1",
        [table],
        |row| row.get(0),
    )?;
    if !is_there {
        return Ok(None);
    }
    // The id comes first, and is ours.
    let names =
        connection.prepare(&select(table))?.column_names().skip(1).map(str::to_owned).collect();
    Ok(Some((connection, names)))
}

/// Asks for the rows behind one, in pages: a statement that goes on would borrow its connection.
fn select(table: &str) -> String {
    let table = table.replace('"', "\"\"");
    format!("SELECT rowid, * FROM \"{table}\" WHERE rowid > ?1 ORDER BY rowid LIMIT {PAGE}")
}

const PAGE: usize = 16 * 1024;

struct Reader {
    connection: Connection,
    select: String,
    names: Vec<String>,
    last_id: i64,
}

impl Reader {
    fn next(&mut self) -> Result<Option<ForeignRows>> {
        let mut statement = self.connection.prepare(&self.select)?;
        let mut found = statement.query([self.last_id])?;
        let mut columns: Vec<StringBuilder> =
            self.names.iter().map(|_| StringBuilder::new()).collect();
        let mut rows = 0;
        while let Some(row) = found.next()? {
            self.last_id = row.get(0)?;
            for (index, column) in columns.iter_mut().enumerate() {
                match row.get_ref(index + 1)? {
                    ValueRef::Null | ValueRef::Blob(_) => column.append_null(),
                    ValueRef::Integer(number) => column.append_value(number.to_string()),
                    ValueRef::Real(number) => column.append_value(number.to_string()),
                    ValueRef::Text(text) => column.append_value(String::from_utf8_lossy(text)),
                }
            }
            rows += 1;
        }
        let columns: Vec<StringArray> =
            columns.into_iter().map(|mut column| column.finish()).collect();
        Ok((rows > 0).then(|| ForeignRows { names: self.names.clone(), columns, rows }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(path: &Path, table: &str) -> Vec<Vec<Option<String>>> {
        let mut all = Vec::new();
        for rows in read_foreign_table(path, table).unwrap().unwrap() {
            let rows = rows.unwrap();
            for row in 0..rows.rows() {
                let cells = 0..rows.names().len();
                all.push(cells.map(|cell| rows.cell(row, cell).map(str::to_owned)).collect());
            }
        }
        all
    }

    #[test]
    fn rows_come_as_text_in_the_order_they_were_inserted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE \"gpu state\" (Name TEXT, Memory INT, Share REAL, Other BLOB);
                 CREATE INDEX by_name ON \"gpu state\" (Name);
                 INSERT INTO \"gpu state\" VALUES ('b', 81559, 0.5, x'00'), ('a', NULL, 2.0, 'é');
                 WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 20000)
                 INSERT INTO \"gpu state\" SELECT 'c', n, NULL, NULL FROM number;
                 DELETE FROM \"gpu state\" WHERE Memory = 7;",
            )
            .unwrap();
        let all = rows(&path, "gpu state");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(all[0], [text("b"), text("81559"), text("0.5"), None]);
        assert_eq!(all[1], [text("a"), None, text("2"), text("é")]);
        // More than a page, less the one that was deleted.
        assert_eq!(all.len(), 2 + 20_000 - 1);
        assert_eq!(all.last().unwrap()[1], text("20000"));
        assert!(read_foreign_table(&path, "job_pressure").unwrap().is_none());
    }

    #[test]
    fn what_is_no_database_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        std::fs::write(&path, "this is not a database, and long enough to be one").unwrap();
        let error = read_foreign_table(&path, "gpu_state").err().unwrap();
        assert!(format!("{error:#}").starts_with("cannot read "), "{error:#}");
        let missing = folder.path().join("none.db");
        assert!(read_foreign_table(&missing, "gpu_state").is_err());
        assert!(!missing.exists());
    }
}
