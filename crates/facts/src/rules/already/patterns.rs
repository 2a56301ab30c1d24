//! What says that something is missing, unused, or has yet to be done.

use std::sync::LazyLock;

use regex::Regex;

use crate::rules::phrase::pattern;

/// What is said to be lacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// It is not defined, declared or imported.
    Definition,
    /// The same, said as what should be done.
    ToDefine,
    /// It is not imported.
    Import,
    /// It is not used at all.
    Use,
    /// It is not called.
    Call,
    /// There is no such entry, section, key or line.
    Entry,
    /// It should be taken away.
    Removal,
    /// The second thing should be used instead of the first, or the first be renamed to it.
    Exchange,
}

/// Claims of a lack.
pub static PATTERNS: LazyLock<Vec<(Lack, Regex)>> = LazyLock::new(|| {
    const AUX: &str =
        r"(?:is|are|seems|seem|appears|gets)(?: to be| to have been)?(?: also| still| currently| apparently)?";
    const BUT: &str = r"(?: (?:accepted|passed|set|defined|declared|imported|assigned|stored|computed|created|added|introduced|taken|initiali[sz]ed)(?: (?:here|in \S+))?,? (?:but|and)(?: is| are| then| it is| it's)?)?";
    const UNDEFINED: &str = r"(?:undefined|undeclared|not (?:yet |actually |being )?(?:defined|declared|imported|initiali[sz]ed)|never (?:defined|declared|imported|initiali[sz]ed))";
    const UNUSED: &str = r"(?:unused|dead(?: code| weight)?|ignored|never (?:actually |really )?(?:used|referenced|read|passed on|passed|needed|consumed|referred to)|not (?:actually |really |being |yet )?(?:used|referenced|read|passed on|consumed))";
    const NOTHING: &str = r"(?:nothing(?: else)?(?: here)?|no one|nobody|no code)";
    const IMPORT: &str = "(?:import|imports|import statement|include|use statement|require)";
    let texts = [
        (Lack::Definition, format!(r"(@\d+)(?: [a-z]+)? {AUX}{BUT} {UNDEFINED}\b")),
        (Lack::Definition, r"(@\d+)(?: [a-z]+)? (?:is|are|seems to be|appears to be)(?: still| also)? missing\b".to_owned()),
        (Lack::Definition, r"(@\d+)(?: [a-z]+)? (?:isn't|aren't|hasn't been|has not been|have not been|haven't been) (?:yet )?(?:defined|imported|declared|initiali[sz]ed)\b".to_owned()),
        (Lack::Definition, r"\bmissing (?:the |an? )?(?:definition|declaration|initiali[sz]ation)s?(?: statement)? (?:of|for) OBJ".to_owned()),
        (Lack::Definition, r"\bno (?:definition|declaration|initiali[sz]ation|implementation) (?:of|for) OBJ".to_owned()),
        (Lack::Definition, r"\bwithout (?:a |any |the )?(?:definition|declaration|initiali[sz]ation) (?:of|for) OBJ".to_owned()),
        (Lack::Import, format!(r"\b(?:no|missing|without|forgot|lacks|lacking|forgets)(?: (?:the|an?|any))? {IMPORT}s?(?: is)? (?:of|for) OBJ")),
        (Lack::Import, format!(r"\b(?:no|missing|without|forgot|lacks|lacking|forgets|add|adding|need|needs)(?: (?:the|an?|any))?(?: missing)? (@\d+) {IMPORT}\b")),
        (Lack::Import, format!(r"\b{IMPORT}s? (?:of|for) OBJ (?:is|are|seems to be) (?:missing|lacking|not there)\b")),
        (Lack::Import, format!(r"(@\d+) {IMPORT}s? (?:is|are|seems to be) (?:missing|lacking|not there|absent)\b")),
        (Lack::Import, format!(r"(@\d+)(?: [a-z]+)? (?:is|are) (?:used|called|referenced|needed)\b[^@.]*(?:@\d+[^@.]*)?\b(?:but|and|yet|while)\b[^@.]*\b(?:{IMPORT} is missing|(?:never|not) imported|isn't imported)\b")),
        (Lack::Import, r"(@\d+)(?: [a-z]+)? (?:should|must|needs to|has to|ought to) (?:also |first )?be (?:imported|included)\b".to_owned()),
        (Lack::Import, r"(@\d+)(?:,| with| but|,? and)? (?:there is )?(?:no|without an?|without any) import (?:of|for) (?:it|that)\b".to_owned()),
        (Lack::Import, r"(@\d+)(?: [a-z]+){0,2}, with no import of it\b".to_owned()),
        (Lack::ToDefine, r"^(?:please |also |and |don't forget to |remember to |you need to )*(?:import|define|declare) OBJ".to_owned()),
        (Lack::ToDefine, r"\b(?:should|must|need to|needs to|have to|has to|forgot to|forgets to|could|please|fails to) (?:also |first )?(?:import|define|declare) OBJ".to_owned()),
        (Lack::ToDefine, r"\b(?:consider|suggest|recommend) (?:importing|defining|declaring) OBJ".to_owned()),
        (Lack::Definition, r"\b(?:does not|doesn't|do not|don't|never|did not|didn't) (?:import|define|declare) OBJ".to_owned()),
        (Lack::Use, format!(r"(@\d+)(?: [a-z]+)? {AUX}{BUT} {UNUSED}\b")),
        (Lack::Use, r"(@\d+)(?: [a-z]+)? (?:isn't|aren't) (?:actually |really |yet )?(?:used|referenced|read|passed on|consumed)\b".to_owned()),
        (Lack::Use, r"\b(?:ignores|never uses|doesn't use|does not use|never reads) (?:the )?(?:new )?(@\d+)".to_owned()),
        (Lack::Use, r"\bunused (?:variable |parameter |argument |import |constant |function |method |field |type |class )?(@\d+)".to_owned()),
        (Lack::Use, format!(r"\b{NOTHING} (?:uses|reads|references|refers to|consumes|needs|depends on) (?:the )?(?:new )?(@\d+)")),
        (Lack::Use, format!(r"^(?:the |this |that |a |an )?(?:new )?(@\d+)(?: [a-z]+)?\b[^.]*[,;] {NOTHING} (?:uses|reads|references|refers to|calls|consumes|needs) it\b")),
        (Lack::Call, r"(@\d+)(?: [a-z]+)? (?:is|are|gets|seems to be) (?:(?:added|defined|introduced|created|declared|written),? but )?(?:never|not)(?: actually| ever)? (?:called|invoked|executed|run)\b".to_owned()),
        (Lack::Call, format!(r"\b(?:{NOTHING}|never|doesn't|does not) (?:calls?|invokes?) (?:the )?(?:new )?(@\d+)")),
        (Lack::Call, r"\bno (?:call|calls|caller|callers|use|usage|uses|user|users) (?:to|of|for) (?:the )?(@\d+)".to_owned()),
        (Lack::Entry, r"\b(?:there is no|there's no|no|lacks an?|lacks the|missing an?|missing the|missing) (@\d+) (?:section|entry|entries|key|field|column|line|directive|flag|option|header|marker|property|attribute|tag|variable|setting)\b".to_owned()),
        (Lack::Entry, r"(@\d+) (?:section|entry|key|field|column|line|directive|flag|option|header|marker|property|attribute|tag|variable|setting) (?:is|seems to be|appears to be) (?:still )?missing\b".to_owned()),
        (Lack::Removal, r"^(?:please |also |and |you can |you could |you should |i would |consider |nit: )*(?:remove|delete|drop|removing|deleting|dropping) (?:the )?(?:unused |redundant |unnecessary )?(@\d+)".to_owned()),
        (Lack::Removal, r"(@\d+)(?: [a-z]+)? (?:should|can|could|must|needs to|has to) (?:also )?be (?:removed|deleted|dropped)\b".to_owned()),
        (Lack::Exchange, r"^(?:please |also |and |you can |you could |you should |i would |consider |nit: |maybe )*(?:rename|change|replace|renaming|changing|replacing) OBJ (?:to|with|by|into) OBJ".to_owned()),
    ];
    texts.into_iter().map(|(lack, text)| (lack, pattern(&text))).collect()
});
