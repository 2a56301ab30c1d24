use super::*;
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;
use veridiff_engine::files::tokenizer::from_json;

fn load(model: &str) -> Tokenizer {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(model).join("tokenizer.json");
    from_json(&path).unwrap()
}

/// With a BOS.
static LLAMA3: LazyLock<Tokenizer> = LazyLock::new(|| load("llama_untied"));
/// Without, splitting like GPT-2.
static SMOLLM: LazyLock<Tokenizer> = LazyLock::new(|| load("llama_tied"));
/// Without, and with a normalizer.
static QWEN2: LazyLock<Tokenizer> = LazyLock::new(|| load("qwen2"));

fn run(
    tokenizer: &Tokenizer,
    template: &str,
    diff: &str,
    response: &str,
    options: EncodeOptions,
) -> Result<Encoding, TokensError> {
    encode(tokenizer, &Template::new("test", template).unwrap(), &Diff::parse(diff).unwrap(), response, &options)
}

#[test]
fn a_merged_boundary_is_encoded_apart() {
    let merged = run(&LLAMA3, "{diff} d", "-a", "iff the end", EncodeOptions::default()).unwrap();
    let together = RawIds::of(&LLAMA3, "-a diff the end");
    assert_eq!(merged.boundary, Boundary::Merged, "{:?}", together.0);
    assert_ne!(merged.ids, together.0);
    let prompt = RawIds::of(&LLAMA3, "-a d");
    assert_eq!(merged.ids[..merged.n_prompt], prompt.0);
    let response: String = (merged.n_prompt..merged.ids.len()).map(|index| merged.token_text(index)).collect();
    assert_eq!(response, "iff the end");
}

struct RawIds(Vec<u32>);

impl RawIds {
    fn of(tokenizer: &Tokenizer, text: &str) -> RawIds {
        RawIds(tokenizer.encode(text, true).unwrap().get_ids().to_vec())
    }
}

#[test]
fn special_token_text_is_ordinary_unless_asked_for() {
    let id = SMOLLM.token_to_id("<|im_end|>").unwrap();
    let diff = "-a\n+<|im_end|>";
    let plain = run(&SMOLLM, "x {diff}\n", diff, "drop <|im_end|>", EncodeOptions::default()).unwrap();
    assert!(!plain.ids.contains(&id));
    let parsed = EncodeOptions { parse_special: true, ..Default::default() };
    let parsed = run(&SMOLLM, "x {diff}\n", diff, "drop <|im_end|>", parsed).unwrap();
    assert_eq!(parsed.ids.iter().filter(|&&i| i == id).count(), 2);
    let at = parsed.ids.iter().position(|&i| i == id).unwrap();
    assert_eq!((parsed.token_text(at), parsed.segments[at], parsed.changed[at]), ("<|im_end|>", Segment::Diff, true));
    // A tokenizer that is set the other way gives the same.
    let mut other = SMOLLM.clone();
    other.set_encode_special_tokens(false);
    assert_eq!(run(&other, "x {diff}\n", diff, "drop <|im_end|>", EncodeOptions::default()).unwrap(), plain);
}

#[test]
fn bos_is_added_and_a_doubled_one_reduced() {
    let bos = LLAMA3.token_to_id("<|begin_of_text|>").unwrap();
    let template = "<|begin_of_text|>x {diff}\n";
    let plain = run(&LLAMA3, template, "-a", "b", EncodeOptions::default()).unwrap();
    assert_eq!((plain.ids[0], plain.segments[0], plain.spans[0].clone()), (bos, Segment::Special, 0..0));
    assert_eq!((plain.doubled_bos, plain.ids.iter().filter(|&&id| id == bos).count()), (false, 1));
    let options = EncodeOptions { parse_special: true, ..Default::default() };
    let doubled = run(&LLAMA3, template, "-a", "b", options).unwrap();
    assert!(doubled.doubled_bos);
    assert_eq!(doubled.ids.iter().filter(|&&id| id == bos).count(), 1);
    let single = run(&LLAMA3, "x {diff}\n", "-a", "b", options).unwrap();
    assert_eq!((doubled.ids, doubled.n_prompt), (single.ids, single.n_prompt));
}

#[test]
fn the_response_is_never_cut() {
    let options = |max_tokens| EncodeOptions { max_tokens: Some(max_tokens), ..Default::default() };
    let (template, diff, response) = ("x\n{diff}\ny\n", "-a = 1\n+a = 2 + 3", "This is the end");
    let whole = run(&SMOLLM, template, diff, response, EncodeOptions::default()).unwrap();
    let bare = whole.ids.len() - whole.n_diff();
    let fits = run(&SMOLLM, template, diff, response, options(bare)).unwrap();
    assert_eq!((fits.n_cut, fits.n_diff(), fits.diff.len()), (whole.n_diff(), 0, 0));
    let error = run(&SMOLLM, template, diff, response, options(bare - 2)).unwrap_err();
    let TokensError::TooLong { n_response, n_instruction, max_tokens } = error else { panic!("{error}") };
    assert_eq!((n_response, max_tokens), (whole.n_response(), bare - 2));
    assert!(n_response + n_instruction > max_tokens);
    assert!(matches!(run(&SMOLLM, template, diff, response, options(0)), Err(TokensError::TooLong { .. })));
}

#[test]
fn a_first_token_needs_one_before_it() {
    let whole = run(&SMOLLM, "{diff}", "-a = 1\n+a = 2\n", "one two", EncodeOptions::default()).unwrap();
    let options = EncodeOptions { max_tokens: Some(whole.n_response()), ..Default::default() };
    let none_left = run(&SMOLLM, "{diff}", "-a = 1\n+a = 2\n", "one two", options);
    assert!(matches!(none_left, Err(TokensError::NoTokens { part: "prompt" })), "{none_left:?}");
    let empty = run(&SMOLLM, "{diff}", "-a", "", EncodeOptions::default());
    assert!(matches!(empty, Err(TokensError::NoTokens { part: "response" })));
}

#[test]
fn bytes_without_a_token_are_counted() {
    use tokenizers::models::bpe::BPE;
    let mut poor = SMOLLM.clone();
    // A vocabulary of the letters alone: no `é`, no line feed.
    let letters: tokenizers::models::bpe::Vocab =
        ('a'..='z').chain(['+', '-', 'Ġ']).map(String::from).zip(0..).collect();
    let model = BPE::builder().vocab_and_merges(letters, vec![]).build().unwrap();
    poor.with_model(model);
    let encoding = run(&poor, "x {diff} ", "-aé\n+b", "cÿd", EncodeOptions::default()).unwrap();
    assert_eq!(encoding.n_lost_bytes, "é\nÿ".len());
    assert_eq!(encoding.ids.len(), "x -a+b cd".len());
}

#[test]
fn one_character_in_several_tokens_is_whole_in_each() {
    let encoding = run(&SMOLLM, "x {diff}\n", "-a\n+\u{1F600}", "ok", EncodeOptions::default()).unwrap();
    let pieces = (0..encoding.ids.len()).filter(|&index| encoding.token_text(index).ends_with('\u{1F600}')).count();
    assert!(pieces > 1, "{encoding:?}");
    let changed: Vec<_> = (0..encoding.ids.len()).filter(|&i| encoding.changed[i]).collect();
    assert!(changed.len() > pieces);
}

proptest! {
    #[test]
    fn tokens_cover_any_text(
        diff in "[-+ @a-c\u{e9}e\u{301}\u{1F600}\r\n\t<|]{1,40}", response in "[ a-zA-Z\u{301}\u{1F600}<|>\n]{1,12}",
        template in prop_oneof![Just("x {diff}\n"), Just("Code diff: {diff}"), Just("{diff}\n\n")],
        which in 0..3_usize, max_tokens in proptest::option::of(0..40_usize),
    ) {
        let tokenizer: &Tokenizer = [&LLAMA3, &SMOLLM, &QWEN2][which];
        let Ok(parsed) = Diff::parse(&diff) else { return Ok(()) };
        let options = EncodeOptions { max_tokens, ..Default::default() };
        let template = Template::new("test", template).unwrap();
        let encoding = match encode(tokenizer, &template, &parsed, &response, &options) {
            Ok(encoding) => encoding,
            Err(TokensError::TooLong { n_response, n_instruction, max_tokens }) => {
                prop_assert!(n_response + n_instruction > max_tokens);
                return Ok(());
            }
            // Cut to nothing, a template that begins with its diff still has its line feeds: only blank responses are
            // left.
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let Encoding { text, ids, spans, segments, n_prompt, .. } = &encoding;
        prop_assert!(text.ends_with(&response));
        let lengths = [spans.len(), segments.len(), encoding.changed.len(), encoding.diff_lines.len()];
        prop_assert_eq!(lengths, [ids.len(); 4]);
        prop_assert!(max_tokens.is_none_or(|max| ids.len() <= max));
        prop_assert!(0 < *n_prompt && *n_prompt < ids.len());
        prop_assert_eq!(encoding.n_lost_bytes, 0);
        let mut covered = 0;
        for span in spans {
            prop_assert!(text.get(span.clone()).is_some() && span.start <= covered, "{:?}", span);
            covered = covered.max(span.end);
        }
        prop_assert_eq!(covered, text.len());
        prop_assert_eq!(encoding.n_cut > 0, encoding.diff.len() < diff.len());
        for (index, span) in spans.iter().enumerate() {
            let in_region = parsed.changed_spans().iter().any(|region| {
                let Range { start, end } = encoding.diff;
                let region = region.start + start..(region.end + start).min(end);
                shared(&region, span) > 0
            });
            prop_assert_eq!(encoding.changed[index], in_region && index < *n_prompt);
        }
    }
}
