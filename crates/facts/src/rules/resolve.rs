//! The lines that a phrase speaks of, by its names, its words, and what its words mean for code.

use std::{collections::BTreeMap, ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::diff::LineKind;

use super::{
    Scene,
    phrase::pattern,
    terms::{Term, Weight, terms},
    thing::{is_comment, is_import},
};
use crate::{mention::MentionKind, occurrences::Places};

/// Takes the lines of a side from where something stands.
pub type LinesOf = fn(&Places) -> Vec<usize>;

/// Words with the code that they speak of: "the early return" is a line with `return`.
static MEANINGS: LazyLock<Vec<(Regex, Regex)>> = LazyLock::new(|| {
    let of = |words: &str, code: &str| {
        (pattern(&format!(r"\b(?:{words})\b")), Regex::new(code).expect("the patterns of rules are valid"))
    };
    vec![
        of(r"return(?:s|ed|ing)?|bails? out", r"\breturn\b"),
        of(r"(?:re-?)?rais(?:e|es|ed|ing)|throw(?:s|n|ing)?|panic(?:s|ked|king)?", r"\braise\b|\bthrow\b|panic|bail!"),
        of(r"assert(?:s|ed|ion|ions)?|expectations?", r"(?i)assert|\bexpect|\bshould\b"),
        of(r"loops?|iterat\w+|walks?", r"^\W*(?:for|while|loop|do)\b|\.(?:each|forEach|map|iter)\b"),
        of(r"try(?: block)?", r"^\W*try\b"),
        of(r"catch(?:es)?|except(?: clause)?|rescue", r"\b(?:catch|except|rescue)\b"),
        of(r"finally", r"\bfinally\b"),
        of(r"switch|match|cases?", r"^\W*(?:switch|match|case)\b"),
        of(r"else(?: branch)?", r"\belse\b"),
        of(
            r"if|checks?|checked|guards?|guarded|tests?|tested|condition(?:s|al)?",
            r"^\W*(?:else |\} else )?(?:if|elif|unless|while|assert|when)\b",
        ),
        of(r"imports?|imported|includes?", r"^\W*(?:import|from|use|#include|require)\b|require\("),
        of(
            r"set|sets|assign(?:s|ed|ment)?|comput(?:e|es|ed)|worked out|initiali[sz]\w+|copied|taken|stored|saved",
            r"[^=!<>]=[^=>]|:=",
        ),
        of(r"bump(?:s|ed)?|increment(?:s|ed)?", r"\+\+|\+=|\+ 1\b"),
        of(r"decrement(?:s|ed)?", r"--|-=|- 1\b"),
        of(r"negated?|negates", r"= ?-\w|!\w"),
        of(r"free[ds]?|releas(?:e|es|ed)", r"(?i)free|release|drop"),
        of(
            r"delet(?:e|es|ed)|remov(?:e|es|ed)|evict(?:s|ed|ion)?",
            r"(?i)\bdel\b|delete|remove|\bpop\b|erase|evict|unlink",
        ),
        of(r"append(?:s|ed)?|push(?:es|ed)?|put|registers?|registered", r"(?i)append|push|\badd\b|insert|register"),
        of(r"stripp?(?:s|ed)?|trim(?:s|med)?", r"(?i)strip|trim"),
        of(r"log(?:s|ged|ging)?|print(?:s|ed)?", r"(?i)\blog|print|console|echo|warn"),
        of(r"lock(?:s|ed)?", r"(?i)lock|mutex|acquire"),
        of(r"empt(?:y|iness)", r"(?i)empty|len|size|length|== ?(?:''|\x22\x22|0)"),
        of(r"wait(?:s|ed)?|sleep(?:s)?", r"(?i)wait|sleep"),
        of(r"clos(?:e|es|ed)", r"(?i)close"),
        of(r"null|none|nil", r"\b(?:null|None|nil|NULL|nullptr|undefined)\b"),
    ]
});

/// Words of a sentence that say nothing of the code: what they tell is said by those around them.
static TALK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:look\w*|com(?:e|es|ing)|tak(?:e|es|en)|appl(?:y|ied|ies)|ask\w*|deal\w*|dealt|happen\w*|stand\w*|sit\w*|li(?:ve|es|ved)|land\w*|hang\w*|early|plain|whole|own|existing|corresponding|actual|resulting|initial|mentioned|run|runs|start\w*|work\w*|do\w*|keep\w*|stay\w*|hand\w*|move\w*|live\w*|way|second|first|last)$",
    )
});

/// Most lines that a phrase may speak of.
const MANY: usize = 6;

/// A phrase against the lines of a change.
pub struct Resolution {
    /// What each line has of it.
    of_line: BTreeMap<usize, f64>,
    /// What all of it would be.
    total: f64,
    /// Whether a name, a rare word or one of this change is among what the lines have.
    is_anchored: bool,
}

/// How much of each line of a side a phrase speaks of, by `all` its terms.
pub fn resolve(scene: &Scene<'_, '_>, phrase: &str, all: &[Term<'_>], side: LinesOf) -> Resolution {
    let diff = scene.change.diff;
    let n_lines = diff.lines().len().max(1);
    let is_code = |line: &usize| diff.lines()[*line].kind != LineKind::Header && !is_comment(scene.change.code(*line));
    let mut found = Resolution { of_line: BTreeMap::new(), total: 0.0, is_anchored: false };
    for term in all.iter().filter(|term| term.mention.is_none_or(|mention| mention.kind != MentionKind::File)) {
        let lines: Vec<usize> = side(&term.places).into_iter().filter(is_code).collect();
        // what is on few lines points at them
        let rarity = (n_lines as f64 / lines.len().max(1) as f64).ln() / (n_lines as f64).ln().max(1.0);
        let base = match term.weight {
            Weight::Name => 2.0,
            Weight::Word => 1.0,
            Weight::Common => 0.5,
        };
        if lines.is_empty() {
            let is_said =
                term.weight > Weight::Common && meaning(&term.written).is_none() && !TALK.is_match(&term.written);
            found.total += if is_said { 0.5 * base } else { 0.0 };
            continue;
        }
        found.total += base * rarity;
        found.is_anchored |= term.weight > Weight::Common;
        for line in lines {
            *found.of_line.entry(line).or_default() += base * rarity;
        }
    }
    for (_, code) in MEANINGS.iter().filter(|(words, _)| words.is_match(phrase)) {
        const OF_MEANING: f64 = 0.5;
        // where nothing is named a word stands for all code that it means
        if !found.is_anchored {
            let is_new = phrase.split(' ').any(|word| word == "new");
            let takes = |line: &usize| is_code(line) && (!is_new || diff.lines()[*line].kind == LineKind::Added);
            let on_side = |line: &usize| match diff.lines()[*line].kind {
                LineKind::Removed => !side(&Places { removed: vec![*line], ..Places::default() }).is_empty(),
                LineKind::Added => !side(&Places { added: vec![*line], ..Places::default() }).is_empty(),
                _ => !side(&Places { context: vec![*line], ..Places::default() }).is_empty(),
            };
            for line in (0..diff.lines().len()).filter(|line| takes(line) && on_side(line)) {
                if code.is_match(scene.change.code(line)) {
                    found.of_line.entry(line).or_default();
                }
            }
        }
        let has = found.of_line.iter_mut().filter(|(line, _)| code.is_match(scene.change.code(**line)));
        let matched: Vec<&mut f64> = has.map(|(_, weight)| weight).collect();
        found.total += if matched.is_empty() { 0.0 } else { OF_MEANING };
        matched.into_iter().for_each(|weight| *weight += OF_MEANING);
    }
    found
}

impl Resolution {
    /// Whether a name or a telling word leads to the lines.
    pub fn is_anchored(&self) -> bool {
        self.is_anchored
    }

    /// The lines of a part of the diff that it speaks of: those with most of it anywhere, if that is at least a share of all that it
    /// says; changed ones before others. None where there are too many.
    pub fn lines(&self, scene: &Scene<'_, '_>, part: Range<usize>, least: f64) -> Vec<usize> {
        let most = self.of_line.values().copied().fold(0.0, f64::max);
        if most < least * self.total - 1e-9 || most <= 0.0 {
            return Vec::new();
        }
        let has_most = |(_, weight): &(&usize, &f64)| most - **weight < 1e-9;
        let mut lines: Vec<usize> = self.of_line.range(part).filter(has_most).map(|(line, _)| *line).collect();
        // heads of functions and imports have the name of what is used elsewhere
        let is_use = |line: &usize| {
            let code = scene.change.code(*line);
            !is_import(code) && crate::blocks::function_name(code).is_none()
        };
        if lines.iter().any(is_use) {
            lines.retain(is_use);
        }
        let is_changed = |line: &usize| scene.change.diff.lines()[*line].kind.is_changed();
        if lines.iter().any(is_changed) {
            lines.retain(is_changed);
        }
        if lines.len() > MANY { Vec::new() } else { lines }
    }

    /// The same of the whole diff.
    pub fn all_lines(&self, scene: &Scene<'_, '_>, least: f64) -> Vec<usize> {
        self.lines(scene, 0..scene.change.diff.lines().len(), least)
    }
}

/// The lines of a side that a phrase speaks of, if they have half of what it says.
pub fn lines_of(scene: &Scene<'_, '_>, phrase: &str, side: LinesOf) -> Vec<usize> {
    let resolution = resolve(scene, phrase, &terms(scene, phrase), side);
    if resolution.is_anchored() { resolution.all_lines(scene, 0.5) } else { Vec::new() }
}

/// The code that a word stands for.
pub fn meaning(word: &str) -> Option<&'static Regex> {
    let is_whole = |words: &Regex| words.find(word).is_some_and(|found| found.range() == (0..word.len()));
    MEANINGS.iter().find(|(words, _)| is_whole(words)).map(|(_, code)| code)
}
