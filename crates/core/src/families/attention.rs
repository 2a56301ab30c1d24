//! Where each head looks while the text is predicted: at added or removed lines, at the rest of the diff, at the prompt around it, or
//! back at the text.
//!
//! Chuang et al. 2024 (arXiv:2407.07071) tell from the share of attention to the given context whether a text is grounded in it; here
//! the context is divided by what a change is made of. A share does not tell why a model writes what it writes. Lists of numbers, one
//! a head: only a learner makes something of them.

use veridiff_engine::reading::attention::{AttentionWant, LayerAttention};
use veridiff_text::diff::{Diff, LineKind};

use super::{
    family::{Compute, Family, Feature, Needs, OF_SCORER, SCORER, with_keys},
    per_token::mean,
};
use crate::{
    measurement::Measurement,
    tokens::{Encoding, Segment},
};

/// The metadata key that names the groups of keys.
pub(crate) const GROUPS_KEY: &str = "attention_groups";

const HANGS_ON: &[&str] = &with_keys::<{ OF_SCORER.len() + 1 }>(OF_SCORER, &[GROUPS_KEY]);

const SHARES: &str = "0 to 1, a number a head of every layer";

/// What the keys are told apart by, in the order of the columns: the number of a group is its place here.
const GROUPS: [(&str, &str, &str); 5] = [
    ("added", "attention_added", "mean attention of each head to added lines"),
    ("removed", "attention_removed", "mean attention of each head to removed lines"),
    ("unchanged", "attention_unchanged", "mean attention of each head to other lines of the diff"),
    ("prompt", "attention_prompt", "mean attention of each head to the prompt around the diff"),
    ("text", "attention_text", "mean attention of each head to the text so far"),
];
const ADDED: u8 = 0;
const REMOVED: u8 = 1;
const UNCHANGED: u8 = 2;
const PROMPT: u8 = 3;
const TEXT: u8 = 4;

/// The family `attention`: no pass of its own, but a second look at the keys of the one that scores the text.
pub static FAMILY: Family = Family {
    name: "attention",
    needs_reference: false,
    is_default: false,
    features: || {
        let feature = |(_, name, meaning)| Feature::list(name, SHARES, meaning, SCORER, HANGS_ON);
        GROUPS.into_iter().map(feature).collect()
    },
    compute: Compute::Lists { needs: |_| Needs { attention: true, ..Needs::default() }, measure },
};

/// What a table's metadata say of the columns: their groups.
pub(crate) fn groups() -> String {
    GROUPS.map(|(group, _, _)| group).join(",")
}

/// What is wanted of a model of `n_layers` blocks that reads `encoding` of `diff`; `is_pair` where prompt and text are two stacks.
pub(crate) fn want(encoding: &Encoding, diff: &Diff, n_layers: usize, is_pair: bool) -> AttentionWant {
    let group = |token: usize| match (encoding.segments[token], encoding.diff_lines[token]) {
        (Segment::Response, _) => TEXT,
        (Segment::Special, _) if token >= encoding.n_prompt => TEXT,
        (Segment::Special | Segment::Instruction, _) => PROMPT,
        (Segment::Diff, line) => match line.map(|line| diff.lines()[line].kind) {
            Some(LineKind::Added) => ADDED,
            Some(LineKind::Removed) => REMOVED,
            _ => UNCHANGED,
        },
    };
    let layers = (1..=n_layers).collect();
    let n = encoding.n_prompt;
    let (keys, source_keys) = if is_pair {
        // the decoder's start stands where a decoder-only model's prompt does
        let text = std::iter::once(PROMPT).chain((1..encoding.n_response()).map(|_| TEXT));
        (text.collect(), (0..n).map(group).collect())
    } else {
        // the last token predicts nothing, so nothing looks at it
        ((0..encoding.ids.len() - 1).map(group).collect(), Vec::new())
    };
    AttentionWant { layers, n_groups: GROUPS.len(), keys, source_keys }
}

fn measure(m: &Measurement) -> Vec<Vec<f64>> {
    (0..GROUPS.len()).map(|group| shares(&m.attention, &m.counted, group)).collect()
}

/// The mean share of a group over the tokens that count, of every head of every layer in their order. Of an encoder-decoder the
/// decoder's look at the source, but for the text, which only its own stack sees.
pub fn shares(layers: &[LayerAttention], counted: &[bool], group: usize) -> Vec<f64> {
    let of_layer = |layer: &LayerAttention| {
        let seen = layer.source.as_ref().filter(|_| group != usize::from(TEXT)).unwrap_or(&layer.own).clone();
        let targets: Vec<usize> = (0..seen.n_targets()).filter(|&target| counted[target]).collect();
        let of_head =
            move |head: usize| mean(targets.iter().map(|&target| seen.of(head, target)[group])).unwrap_or(0.0);
        (0..layer.own.n_heads()).map(of_head).collect::<Vec<f64>>()
    };
    layers.iter().flat_map(of_layer).collect()
}
