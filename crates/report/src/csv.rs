//! Comma-separated values: one head line, `.` in numbers, quotes where a cell needs them, a line feed behind every line.

use serde::{Serialize, Serializer};

use veridiff_text::printable::printable;

/// Comma-separated values under construction.
#[derive(Debug)]
pub struct CsvText(::csv::Writer<Vec<u8>>);

impl Default for CsvText {
    fn default() -> Self {
        Self(::csv::Writer::from_writer(Vec::new()))
    }
}

impl CsvText {
    /// A text without lines.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line of these cells, as they are. The first line fixes the number of cells.
    ///
    /// # Panics
    /// If the line has another number of cells than the first one.
    pub fn push<C: AsRef<[u8]>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.0.write_record(cells).expect("lines are of one length, and memory takes them");
    }

    /// Adds a line of a structure's fields, whose names are the head line.
    ///
    /// # Panics
    /// If a field is neither a text nor a number.
    pub fn push_fields(&mut self, fields: &impl Serialize) {
        self.0.serialize(fields).expect("fields are texts and numbers, and memory takes them");
    }

    /// Returns all lines as one text.
    ///
    /// # Panics
    /// If a cell is not UTF-8.
    pub fn finish(self) -> String {
        let bytes = self.0.into_inner().expect("memory takes all lines");
        String::from_utf8(bytes).expect("cells are UTF-8")
    }
}

/// A number in full, in as few digits as give it back; an empty cell where there is none.
#[derive(Debug, Clone, Copy)]
pub struct Number(
    /// The number, in its own unit.
    pub Option<f64>,
);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(value) => serializer.collect_str(&value),
            None => serializer.serialize_none(),
        }
    }
}

/// A name from the input, with its control characters escaped.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a>(
    /// The name as the input has it.
    pub &'a str,
);

impl Serialize for Name<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&printable(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Line<'a> {
        name: Name<'a>,
        n: Option<usize>,
        auc: Number,
    }

    #[test]
    fn cells_are_quoted_where_they_must_be_and_numbers_are_in_full() {
        let mut csv = CsvText::new();
        csv.push_fields(&Line { name: Name("a,\"b\""), n: Some(3), auc: Number(Some(1.0)) });
        csv.push_fields(&Line { name: Name("plain\u{1b}\n"), n: None, auc: Number(None) });
        csv.push_fields(&Line { name: Name("#x "), n: None, auc: Number(Some(1e-7)) });
        let want = "name,n,auc\n\"a,\"\"b\"\"\",3,1\nplain\\u{1b}\\n,,\n#x ,,0.0000001\n";
        assert_eq!(csv.finish(), want);
    }
}
