//! How much of one file is in another, by git's measure.

/// The value of files that are the same.
pub(super) const SAME: u32 = 60_000;

/// How many bytes a file has of each of its lines, or of each 64 bytes of a long line. Lines are told apart by the hash that git
/// uses, small as it is: with another one a percentage would sometimes differ by one.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunks {
    /// A hash and its bytes, by hash.
    counts: Vec<(u32, u64)>,
    /// Bytes of the file.
    pub(super) size: u64,
}

const CHUNK: u64 = 64;
const HASHES: u32 = 107_927;

impl Chunks {
    /// Of a file's content. In a text the carriage return before a line feed does not count.
    pub(super) fn new(content: &[u8], is_text: bool) -> Self {
        let mut counts = Vec::new();
        let (mut state, mut bytes) = (0_u64, 0_u64);
        let mut rest = content.iter().copied().peekable();
        while let Some(byte) = rest.next() {
            if is_text && byte == b'\r' && rest.peek() == Some(&b'\n') {
                continue;
            }
            // Two words that rotate together, the byte added to the lower one.
            state = state.rotate_left(7);
            let low = (state as u32).wrapping_add(u32::from(byte));
            state = (state & !u64::from(u32::MAX)) | u64::from(low);
            bytes += 1;
            if bytes == CHUNK || byte == b'\n' {
                counts.push((hash(state), bytes));
                (state, bytes) = (0, 0);
            }
        }
        if bytes > 0 {
            counts.push((hash(state), bytes));
        }
        counts.sort_unstable();
        counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        counts.shrink_to_fit();
        Chunks { counts, size: content.len() as u64 }
    }

    /// The bytes that both files have.
    fn common(&self, other: &Chunks) -> u64 {
        let (mut ours, mut theirs) = (self.counts.iter().peekable(), other.counts.iter().peekable());
        let mut common = 0;
        while let (Some(a), Some(b)) = (ours.peek(), theirs.peek()) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => _ = ours.next(),
                std::cmp::Ordering::Greater => _ = theirs.next(),
                std::cmp::Ordering::Equal => {
                    common += a.1.min(b.1);
                    ours.next();
                    theirs.next();
                }
            }
        }
        common
    }

    /// From 0 to [`SAME`]: the bytes in common as a share of the larger file.
    pub(super) fn similarity(&self, other: &Chunks) -> u32 {
        match self.size.max(other.size) {
            0 => 0,
            larger => (self.common(other) as f64 * f64::from(SAME) / larger as f64) as u32,
        }
    }
}

fn hash(state: u64) -> u32 {
    let (low, high) = (state as u32, (state >> 32) as u32);
    low.wrapping_add(high.wrapping_mul(0x61)) % HASHES
}

/// Whether two sizes are so far apart that the files cannot reach a similarity.
pub(super) fn sizes_forbid(one: u64, other: u64, least: u32) -> bool {
    let (larger, smaller) = (one.max(other) as f64, one.min(other) as f64);
    larger * f64::from(SAME - least) < (larger - smaller) * f64::from(SAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_larger_file() {
        let of = |a: &[u8], b: &[u8]| Chunks::new(a, true).similarity(&Chunks::new(b, true));
        assert_eq!(of(b"one\ntwo\n", b"two\none\n"), SAME, "order does not count");
        assert_eq!(of(b"aaa\n", b"aaa\nbbb\n"), SAME / 2);
        assert_eq!(of(b"aaa\nbbb\n", b"aaa\nccc\n"), SAME / 2);
        assert_eq!(of(b"one\r\n", b"one\n"), 48_000, "four of five bytes: the size counts what the lines do not");
        assert_eq!(of(b"", b"a"), 0);
    }

    #[test]
    fn sizes_alone_can_forbid() {
        assert!(!sizes_forbid(100, 50, SAME / 2));
        assert!(sizes_forbid(100, 49, SAME / 2));
    }
}
