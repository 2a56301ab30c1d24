//! A stream of server-sent events, as its bytes come in: each event with the bytes that it is written in, so that together they are the
//! stream, to the byte.

/// Most bytes of one event.
const MOST_BYTES: usize = 1 << 20;

/// Finds where events end.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    /// What has come and belongs to an event that has not ended.
    rest: Vec<u8>,
    /// How far it was looked through.
    seen: usize,
}

/// An event is larger than any that a generator writes.
#[derive(Debug, PartialEq)]
pub(super) struct TooLong;

impl Splitter {
    /// Takes bytes that came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// The next event that has ended, with the blank line behind it.
    ///
    /// # Errors
    /// [`TooLong`]; what has come is still in [`Splitter::rest`].
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        // an end is at most four bytes, three of which may have come before
        let from = self.seen.saturating_sub(3);
        match end_of_event(&self.rest[from..]) {
            Some(end) => {
                let behind = self.rest.split_off(from + end);
                self.seen = 0;
                Ok(Some(std::mem::replace(&mut self.rest, behind)))
            }
            None if self.rest.len() > MOST_BYTES => Err(TooLong),
            None => {
                self.seen = self.rest.len();
                Ok(None)
            }
        }
    }

    /// What is left of a stream that has ended, or is not looked at any more.
    pub fn rest(&mut self) -> Vec<u8> {
        self.seen = 0;
        std::mem::take(&mut self.rest)
    }
}

/// Where the first blank line ends. Lines end with LF or CRLF, as generators write them; a CR alone is not looked for.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let line_feeds = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place);
    line_feeds.into_iter().find_map(|place| match bytes.get(place + 1..) {
        Some([b'\n', ..]) => Some(place + 2),
        Some([b'\r', b'\n', ..]) => Some(place + 3),
        _ => None,
    })
}

/// The data of an event: its lines joined; none of one without, such as a comment.
pub(super) fn data(event: &[u8]) -> Option<String> {
    let lines = event.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let data: Vec<&[u8]> = lines
        .filter_map(|line| line.strip_prefix(b"data:"))
        .map(|line| line.strip_prefix(b" ").unwrap_or(line))
        .collect();
    if data.is_empty() { None } else { String::from_utf8(data.join(&b'\n')).ok() }
}

/// Where the one line of data of an event stands in it; none where there are several.
pub(super) fn place_of_data(event: &[u8]) -> Option<std::ops::Range<usize>> {
    let (mut start, mut found) = (0, None);
    for line in event.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"data:") {
            if found.is_some() {
                return None;
            }
            let end = line.trim_ascii_end().len();
            found = Some(start + b"data:".len()..start + end.max(b"data:".len()));
        }
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\n\ndata: {\"a\": 1}\n\nevent: x\r\ndata: 2\r\ndata:3\r\n\r\n\ndata: [DONE]\n\nrest";

    #[test]
    fn events_are_the_stream_wherever_it_is_divided() {
        let expected =
            [": hello\n\n", "data: {\"a\": 1}\n\n", "event: x\r\ndata: 2\r\ndata:3\r\n\r\n", "\ndata: [DONE]\n\n"];
        for step in 1..STREAM.len() {
            let (mut splitter, mut events) = (Splitter::default(), Vec::new());
            for part in STREAM.as_bytes().chunks(step) {
                splitter.push(part);
                while let Some(event) = splitter.next().unwrap() {
                    events.push(String::from_utf8(event).unwrap());
                }
            }
            assert_eq!(events, expected, "{step}");
            assert_eq!(splitter.rest(), b"rest");
        }
    }

    #[test]
    fn data_are_the_lines_of_data() {
        assert_eq!(data(b": hello\n\n"), None);
        assert_eq!(data(b"event: x\r\ndata: 2\r\ndata:3\r\n\r\n").as_deref(), Some("2\n3"));
        assert_eq!(data(b"\ndata: [DONE]\n\n").as_deref(), Some("[DONE]"));
        assert_eq!(data(b"data: \xff\n\n"), None);
        let event = b"id: 1\ndata: {}\r\n\r\n";
        assert_eq!(&event[place_of_data(event).unwrap()], b" {}");
        assert_eq!(place_of_data(b"data: 1\ndata: 2\n\n"), None);
        assert_eq!(place_of_data(b"data:\n\n"), Some(5..5));
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut splitter = Splitter::default();
        splitter.push(&vec![b'x'; MOST_BYTES + 1]);
        assert_eq!(splitter.next(), Err(TooLong));
        assert_eq!(splitter.rest().len(), MOST_BYTES + 1);
    }
}
