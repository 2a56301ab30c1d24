//! What says that something came, went or took a place.

use std::sync::LazyLock;

use regex::Regex;

use crate::rules::phrase::pattern;

/// Which way a thing is said to have gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It was added.
    Came,
    /// It was removed.
    Went,
}

/// How sure a claim about one thing is of its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// The change itself adds or removes it.
    Change,
    /// It is called new or old: only a thing that is on one side alone speaks against it.
    Adjective,
}

const ADDS: &str = "(?:adds?|added|adding|introduc(?:es?|ed|ing)|inserts?|inserted|inserting|appends?|appended|implements?|implemented|creates?|created|defines?|defined|declares?|declared|imports?|imported|importing|brings? back|brought back|restores?|restored|restoring|reintroduc(?:es?|ed)|re-?adds?|re-?added|suppl(?:y|ies|ied)|extracts?|extracted|extracting|switch(?:es|ed)?(?: over)? to|migrat(?:es?|ed)(?: over)? to|starts? (?:to )?(?:DOING|VERBS)|started (?:to )?(?:DOING|VERBS)|begins? (?:to )?(?:DOING|VERBS))";
const REMOVES: &str = "(?:unregisters?|unregistered|detach(?:es|ed)?|unsubscribes? from|disconnects?|removes?|removed|removing|deletes?|deleted|deleting|drops?|dropped|dropping|eliminates?|eliminated|gets? rid of|got rid of|strips? out|rips? out|ripped out|do(?:es)? away with|takes? out|cuts? out|ditch(?:es|ed)?|purges?|discards?|inlines?|inlined|inlining|switch(?:es|ed)? away from|moves? away from|moved away from|migrat(?:es?|ed) (?:away from|off)|no more|stops? DOING|stopped DOING|ceases? (?:to VERBS|DOING))";
/// What stands for a thing's being used: "drop the dependency on `x`".
const USE: &str = "(?:(?:the |an? |all |any |some |unused |last |remaining |explicit )*(?:uses?|usages?|calls?|dependency|dependencies|references?|imports?|instances|occurrences|mentions) (?:of|to|on) )?";
const IS: &str =
    "(?: has| have| had)? (?:is|are|was|were|been|gets?|got|being)(?: now| also| thus| finally)?(?: been)?";

/// What says that one thing came or went.
pub static MOVED: LazyLock<Vec<(Way, Weight, Regex)>> = LazyLock::new(|| {
    let read = |way, weight, text: String| (way, weight, pattern(&text));
    vec![
        read(Way::Came, Weight::Change, format!(r"\b{ADDS} {USE}OBJ")),
        read(
            Way::Came,
            Weight::Change,
            format!(
                r"(@\d+)(?: [a-z]+)?{IS}(?: newly)? (?:added|introduced|inserted|imported|created|restored|reintroduced|brought back|put into)\b"
            ),
        ),
        read(Way::Came, Weight::Change, r"\b(?:addition|introduction|re-?introduction|extraction) of OBJ".to_owned()),
        read(
            Way::Came,
            Weight::Change,
            r"(@\d+)(?: [a-z]+)? (?:is|are) (?:brand |all )?new(?: (?:here|in|with|and|but|since|there)\b|[,.;:)]|$)"
                .to_owned(),
        ),
        read(
            Way::Came,
            Weight::Adjective,
            r"\b(?:the|an?|this|that|its|our|your|these) (?:brand[- ])?(?:new|newly (?:added|introduced|created)|added|introduced) (?:[a-z-]+ ){0,2}?(@\d+)"
                .to_owned(),
        ),
        read(Way::Went, Weight::Change, format!(r"\b{REMOVES} {USE}OBJ")),
        read(
            Way::Went,
            Weight::Change,
            format!(r"(@\d+)(?: [a-z]+)?{IS} (?:removed|deleted|dropped|eliminated|gone|taken out|ripped out|inlined|purged)\b"),
        ),
        read(Way::Went, Weight::Change, r"\b(?:removal|deletion|elimination) of OBJ".to_owned()),
        read(
            Way::Went,
            Weight::Adjective,
            r"\b(?:the|an?|this|that|its|our|your|these) (?:removed|deleted|dropped|old|former|previous|now removed|now deleted) (?:[a-z-]+ ){0,2}?(@\d+)"
                .to_owned(),
        ),
    ]
});

/// What says that one thing took the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// The first was there, the second is now.
    OldNew,
    /// The second was there, the first is now.
    NewOld,
    /// The first is there and the second is not, which need not be the change's doing.
    OneNotOther,
}

/// Claims of two things, the one instead of the other.
pub static SWAPS: LazyLock<Vec<(Swap, Regex)>> = LazyLock::new(|| {
    let old_new = [
        r"\b(?:replac(?:es?|ed|ing)|renam(?:es?|ed|ing)|swap(?:s|ped|ping)?(?: out)?|substitut(?:es?|ed|ing)|exchang(?:es?|ed|ing)|trad(?:es?|ed|ing)) OBJ(?: [a-z]+){0,2} (?:with|by|to|for|into|as) OBJ",
        r"\b(?:chang(?:es?|ed|ing)|turn(?:s|ed|ing)?|convert(?:s|ed|ing)?|transform(?:s|ed|ing)?|port(?:s|ed)?|mak(?:es?|ing)|made) OBJ(?: [a-z]+){0,2} (?:to|into) OBJ",
        r"(@\d+)(?: [a-z]+)? (?:is|was|are|were) (?:now )?(?:called|named|known as) (@\d+)",
        r"\bfrom OBJ(?: [a-z]+){0,2} (?:to|into|over to) OBJ",
        r"(@\d+)(?: [a-z]+)?(?: has| have| had)?(?: (?:is|are|was|were|been|gets?|got|being))(?: now| thus)?(?: been)? (?:replaced|renamed|changed|switched|converted|updated|superseded|turned|exchanged|swapped)(?: out)? (?:with|by|to|into|as|for|in favou?r of) OBJ",
        r"(@\d+)(?: [a-z]+)? (?:gives? way to|gave way to|makes? way for|made way for|turns? into|turned into|is superseded by|becomes|became|changes to|goes to) OBJ",
        r"\b(?:drops?|dropped|removes?|removed|deprecates?|deprecated|ditch(?:es|ed)?|abandons?|abandoned) OBJ(?: [a-z]+){0,2} (?:in favou?r of|for) OBJ",
        r"(@\d+) (?:before|previously|earlier|until now),? (?:and|but|while|whereas)\b[^@.;]*(@\d+) (?:now|after|afterwards|from now on)\b",
        r"(@\d+) ?(?:→|->|=>|⇒) ?(@\d+)",
        r"(@\d+)(?: [a-z]+)? (?:was|were|used to be) OBJ(?: [a-z]+){0,3},? (?:and|but|which)? ?(?:it )?(?:is|are) (?:now )?OBJ",
        r"\b(?:used to|previously|formerly|originally)\b[^@.;]*(@\d+)[^@.;]*\b(?:now|after this change)\b[^@.;]*(@\d+)",
        r"\b(?:instead of|rather than|in place of) OBJ,? (?:[a-z]+ ){0,4}?(@\d+)",
    ];
    let new_old = [
        r"(@\d+)(?: [a-z]+){0,3},? (?:instead of|rather than|in place of|in favou?r over|over)(?: the| a| an)?(?: [a-z]+){0,2}? (@\d+)",
        r"(@\d+)(?: [a-z]+)?,? (?:up|down) from OBJ",
        r"(@\d+)(?: [a-z]+){0,2} (?:takes? the place of|took the place of|stands? in for|supersedes?|superseded|replaces?|replaced) OBJ",
        r"\bnow\b[^@.;]*(@\d+) where it (?:used to|once|formerly|previously)\b[^@.;]*(@\d+)",
    ];
    let one_not_other = [r"(@\d+)(?: [a-z]+){0,2},? (?:and |but )?(?:not|no longer)(?: [a-z]+){0,2}? (@\d+)"];
    old_new
        .into_iter()
        .map(|text| (Swap::OldNew, pattern(text)))
        .chain(new_old.into_iter().map(|text| (Swap::NewOld, pattern(text))))
        .chain(one_not_other.into_iter().map(|text| (Swap::OneNotOther, pattern(text))))
        .collect()
});

/// Things without a mark: "adds a lock".
pub static NOUNS: LazyLock<Vec<(Way, Regex)>> = LazyLock::new(|| {
    const ARTICLES: &str = "(?:an? |the |some |all |any |new |extra |missing |unused |redundant |early )*";
    const BEHIND: &str = r"(?: (?:to|from|in|into|around|for|on|at|when|if|so|that|before|after|and)\b|[.,;:)]|$)";
    let noun = format!(r"{ARTICLES}((?:[a-z-]+ ){{0,2}}[a-z-]+){BEHIND}");
    vec![
        (
            Way::Came,
            pattern(&format!(
                r"\b(?:adds?|added|introduc(?:es?|ed)|restores?|restored|brings? back|starts?|started|begins?) {noun}"
            )),
        ),
        (
            Way::Went,
            pattern(&format!(
                r"\b(?:removes?|removed|deletes?|deleted|drops?|dropped|gets? rid of|stops?|stopped|no more) {noun}"
            )),
        ),
        (
            Way::Came,
            pattern(
                r"\b(?:the|an?) (?:new )?((?:[a-z-]+ )?[a-z-]+) (?:is|was|has been|gets) (?:now )?(?:added|introduced|restored|brought back)\b",
            ),
        ),
        (
            Way::Went,
            pattern(
                r"\b(?:the|an?) (?:old )?((?:[a-z-]+ )?[a-z-]+) (?:is|was|has been|gets) (?:now )?(?:removed|deleted|dropped|gone)\b",
            ),
        ),
    ]
});

/// Two things without a mark, the new one first.
pub static NOUN_SWAPS: LazyLock<Vec<(Swap, Regex)>> = LazyLock::new(|| {
    vec![
        (
            Swap::NewOld,
            pattern(
                r"((?:[a-z_@0-9-]+ )?[a-z_@0-9-]+),? (?:instead of|rather than|in place of) (?:the |an? )?([a-z_@0-9-]+(?: [a-z_@0-9-]+)?)",
            ),
        ),
        (
            Swap::OldNew,
            pattern(
                r"\b(?:was|were|used to be) (?:an? |the )?((?:[a-z_@0-9-]+ )?[a-z_@0-9-]+),? (?:and|but) (?:it )?(?:is|are) (?:now )?(?:an? |the )?((?:[a-z_@0-9-]+ )?[a-z_@0-9-]+)",
            ),
        ),
        (
            Swap::OldNew,
            pattern(
                r"\b(?:replac(?:es?|ed|ing)|chang(?:es?|ed)|renam(?:es?|ed)|convert(?:s|ed)?|switch(?:es|ed)?)(?: from)? (?:the |an? )?((?:[a-z_@0-9-]+ )?[a-z_@0-9-]+) (?:with|by|to|into|as) (?:the |an? )?([a-z_@0-9-]+(?: [a-z_@0-9-]+)?)",
            ),
        ),
    ]
});
