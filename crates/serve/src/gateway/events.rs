//! A stream of server-sent events, as its bytes come in: each event with the bytes that it is written in, so that together they are the
//! stream, to the byte.

/// Most bytes of one event.
const MOST_BYTES: usize = 1 << 20;

/// Finds where events end.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    /// What has come, with events before it that were handed out.
    bytes: Vec<u8>,
    /// Where the event begins that has not ended.
    start: usize,
    /// How far it was looked through.
    seen: usize,
}

/// An event is larger than any that a generator writes.
#[derive(Debug, PartialEq)]
pub(super) struct TooLong;

impl Splitter {
    /// Takes bytes that came.
    pub fn push(&mut self, bytes: &[u8]) {
        // once for all events that came together
        self.bytes.drain(..self.start);
        (self.start, self.seen) = (0, self.seen - self.start);
        self.bytes.extend_from_slice(bytes);
    }

    /// The next event that has ended, with the blank line behind it.
    ///
    /// # Errors
    /// [`TooLong`]; what has come is still in [`Splitter::rest`].
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        // an end is at most four bytes, three of which may have come before
        let from = self.seen.saturating_sub(3).max(self.start);
        match end_of_event(&self.bytes[from..]) {
            Some(end) => {
                let event = self.bytes[self.start..from + end].to_vec();
                self.start = from + end;
                self.seen = self.start;
                Ok(Some(event))
            }
            None if self.bytes.len() - self.start > MOST_BYTES => Err(TooLong),
            None => {
                self.seen = self.bytes.len();
                Ok(None)
            }
        }
    }

    /// What is left of a stream that has ended, or is not looked at any more.
    pub fn rest(&mut self) -> Vec<u8> {
        let Splitter { mut bytes, start, .. } = std::mem::take(self);
        bytes.split_off(start)
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
    fn events_that_come_together_take_time_in_proportion_to_their_bytes() {
        let mut splitter = Splitter::default();
        let n = 200_000;
        splitter.push("data: {}\n\n".repeat(n).as_bytes());
        let begun = std::time::Instant::now();
        assert_eq!(std::iter::from_fn(|| splitter.next().unwrap()).count(), n);
        // copying what is left behind each would be 200 GB
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
        assert!(splitter.rest().is_empty());
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut splitter = Splitter::default();
        splitter.push(&vec![b'x'; MOST_BYTES + 1]);
        assert_eq!(splitter.next(), Err(TooLong));
        assert_eq!(splitter.rest().len(), MOST_BYTES + 1);
    }
}
