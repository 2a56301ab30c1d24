//! What a token is as bytes of a text.

use tokenizers::{DecoderWrapper, Tokenizer};

/// The bytes of every token by its id, of a byte-level tokenizer, `None` for an id that is no piece of a text: a special token, or none
/// at all. The list is as long as the largest id asks for. `None` for a tokenizer that is not byte-level.
pub fn token_bytes(tokenizer: &Tokenizer) -> Option<Vec<Option<Vec<u8>>>> {
    if !matches!(tokenizer.get_decoder(), Some(DecoderWrapper::ByteLevel(_))) {
        return None;
    }
    let vocabulary = tokenizer.get_vocab(true);
    let mut bytes = vec![None; vocabulary.values().max().map_or(0, |id| *id as usize + 1)];
    let added = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
    for (token, id) in vocabulary {
        bytes[id as usize] = match added.get(&id) {
            Some(added) if added.special => None,
            // an added token is its own text
            Some(added) => Some(added.content.clone().into_bytes()),
            None => token.chars().map(byte_of).collect(),
        };
    }
    Some(bytes)
}

/// The byte that a character of a byte-level vocabulary stands for: printable ones for themselves, the others, in their order, for
/// U+0100 and on.
fn byte_of(c: char) -> Option<u8> {
    let is_itself = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    match u32::from(c) {
        code @ 0..=0xff => u8::try_from(code).ok().filter(|byte| is_itself(*byte)),
        code => (0..=255).filter(|byte| !is_itself(*byte)).nth(usize::try_from(code - 0x100).ok()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_character() {
        let all: Vec<u8> = ('\0'..='\u{17f}').filter_map(byte_of).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..=255).collect::<Vec<u8>>());
        assert_eq!(("Ġ".chars().map(byte_of).next(), byte_of('Ċ')), (Some(Some(b' ')), Some(b'\n')));
    }

    #[test]
    fn tokens_are_the_pieces_of_their_text() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/qwen2/tokenizer.json");
        let tokenizer = super::super::from_json(&path).unwrap();
        let bytes = token_bytes(&tokenizer).unwrap();
        let text = "the width → 12\n\té";
        let ids = tokenizer.encode(text, false).unwrap();
        let joined: Vec<u8> = ids.get_ids().iter().flat_map(|id| bytes[*id as usize].clone().unwrap()).collect();
        assert_eq!(String::from_utf8(joined).unwrap(), text);
        assert_eq!(bytes[tokenizer.token_to_id("<|im_end|>").unwrap() as usize], None);
    }
}
