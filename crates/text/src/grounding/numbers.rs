//! Numbers from the alignment.

use super::{
    alignment::{Alignment, Found, Mention},
    claims::{ClaimKind, Stance},
    words::WordKind,
};
use crate::diff::{Diff, LineKind};

/// How far a text is grounded in its diff. A share is of weights or counts with half a word added to what is found and one to
/// all, so that a text with nothing to look up has one half. Counts are `ln(1 + n)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Grounding {
    /// Share of the words, by weight, that are in the diff.
    pub words: f64,
    /// Share that is on changed lines.
    pub changed: f64,
    /// Share that is on added lines.
    pub added: f64,
    /// Share that is on removed lines.
    pub removed: f64,
    /// Share that is on unchanged lines only.
    pub context_only: f64,
    /// Weight of what is on changed lines.
    pub changed_weight: f64,
    /// Weight of what is nowhere.
    pub absent_weight: f64,
    /// Share of the plain words that are in the diff.
    pub plain: f64,
    /// Share of the plain words that are on changed lines.
    pub plain_changed: f64,
    /// Share of the names that are in the diff.
    pub names: f64,
    /// Share of the names that are on changed lines.
    pub names_changed: f64,
    /// Names that are not in the diff, nor any like them.
    pub names_absent: f64,
    /// Names of which only parts are in the diff, or near misses.
    pub names_bent: f64,
    /// Share of the numbers that are in the diff.
    pub numbers: f64,
    /// Words of the longest quotation of a line.
    pub quotation: f64,
    /// The largest share of the text's weight on one line.
    pub best_line: f64,
    /// 1 if that line is a changed one.
    pub best_line_changed: f64,
    /// Share of the changed lines' rare words that the text mentions.
    pub coverage: f64,
    /// Claims that the diff confirms.
    pub claims_held: f64,
    /// Claims that the diff refutes.
    pub claims_failed: f64,
    /// Share of the decided claims that failed.
    pub claims_balance: f64,
    /// Proposals that the change contains already.
    pub proposals_present: f64,
}

fn smoothed(found: f64, all: f64) -> f64 {
    (found + 0.5) / (all + 1.0)
}

impl Grounding {
    /// The numbers of some alignment.
    pub fn new(diff: &Diff, alignment: &Alignment) -> Self {
        let kind = |m: &Mention| alignment.word_of(m).kind;
        // weights of the mentions that `of` chooses, times what `part` gives of each, and their sum
        let share = |of: &dyn Fn(&Mention) -> bool, part: &dyn Fn(&Mention) -> f64| {
            let chosen = alignment.mentions.iter().filter(|m| of(m));
            let (found, all) = chosen.fold((0.0, 0.0), |(f, a), m| (f + m.weight * part(m), a + m.weight));
            smoothed(found, all)
        };
        let weight = |of: &dyn Fn(&Mention) -> bool| {
            // from 0 on: the sum of nothing would be -0
            alignment.mentions.iter().filter(|m| of(m)).fold(0.0, |sum: f64, m| sum + m.weight).ln_1p()
        };
        let count = |n: usize| (n as f64).ln_1p();
        let yes = |b: bool| f64::from(u8::from(b));
        let any = |_: &Mention| true;
        let changed = |m: &Mention| yes(m.places.changed());
        let is_plain = |m: &Mention| kind(m) == WordKind::Plain;
        let is_name = |m: &Mention| matches!(kind(m), WordKind::Name | WordKind::File);
        let is_number = |m: &Mention| kind(m) == WordKind::Number;
        let bent = |m: &&Mention| matches!(m.found, Found::Near { .. } | Found::Parts(_));
        let claims = |stance: Stance| alignment.claims.iter().filter(|c| c.stance == stance).count();
        let (held, failed) = (claims(Stance::Holds), claims(Stance::Fails));
        let present = alignment.claims.iter().filter(|c| c.kind == ClaimKind::Proposal && c.stance == Stance::Fails);
        let best_kind = alignment.best_line.1.and_then(|line| diff.lines().get(line)).map(|line| line.kind);
        let (n_rare, n_mentioned) = alignment.coverage;
        Grounding {
            words: share(&any, &|m| m.share_found()),
            changed: share(&any, &changed),
            added: share(&any, &|m| yes(m.places.added > 0)),
            removed: share(&any, &|m| yes(m.places.removed > 0)),
            context_only: share(&any, &|m| yes(m.places.any() && !m.places.changed())),
            changed_weight: weight(&|m| m.places.changed()),
            absent_weight: weight(&|m| m.found == Found::Nowhere),
            plain: share(&is_plain, &|m| m.share_found()),
            plain_changed: share(&is_plain, &changed),
            names: share(&is_name, &|m| m.share_found()),
            names_changed: share(&is_name, &changed),
            names_absent: count(alignment.absent_names().count()),
            names_bent: count(alignment.mentions.iter().filter(bent).count()),
            numbers: share(&is_number, &|m| m.share_found()),
            quotation: count(alignment.longest_quotation.0),
            best_line: alignment.best_line.0,
            best_line_changed: yes(matches!(best_kind, Some(LineKind::Added | LineKind::Removed))),
            coverage: smoothed(n_mentioned as f64, n_rare as f64),
            claims_held: count(held),
            claims_failed: count(failed),
            claims_balance: smoothed(failed as f64, (held + failed) as f64),
            proposals_present: count(present.count()),
        }
    }
}
