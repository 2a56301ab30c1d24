//! What tests of readers share: texts that something happened to.

use std::{fs::File, io::Read as _};

/// A thousand spoilt copies of a text: a byte changed, put in three times, or the rest cut off.
pub fn spoilt(whole: &str) -> Vec<String> {
    let mut bytes = vec![0; 4000];
    File::open("/dev/urandom").unwrap().read_exact(&mut bytes).unwrap();
    let one = |chance: &[u8]| {
        let at = usize::from(u16::from_le_bytes([chance[0], chance[1]])) % whole.len();
        let mut spoilt = whole.as_bytes().to_vec();
        match chance[3] % 3 {
            0 => spoilt[at] = chance[2],
            1 => spoilt.truncate(at),
            _ => drop(spoilt.splice(at..at, [chance[2]; 3])),
        }
        String::from_utf8_lossy(&spoilt).into_owned()
    };
    bytes.chunks(4).map(one).collect()
}
