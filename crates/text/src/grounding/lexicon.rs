//! Which words say something about a change, and which are the words of every review.

use std::{collections::HashSet, sync::LazyLock};

/// Words of grammar, and of talk about nothing in particular: they ground nothing.
const STOP: &str = "
a about above after again against all already also although always am an and another any anyone anything anyway are aren
around as aside at away back be became because become been before being below best better between both but by came can
cannot come could couldn did didn different do does doesn doing done don down due during e.g each either else enough
especially etc even ever every everyone everything exactly few first for former from fully further get gets getting give
given go goes going good got great had hadn has hasn have haven having he hence her here hers him his how however i i.e
if in indeed instead into is isn it its itself just keep know last later least less let like likely ll look looks lot
made make makes making many may maybe me mean means might mine more moreover most much must my myself near need needed
needs neither never next no nobody none nor not nothing now of off often oh ok okay on once one ones only onto or other
others otherwise our ours out over own part per perhaps please possibly potentially pretty previously probably quite
rather re really related same say says second see seem seems several shall she should shouldn simple simply since so some
someone something somewhere sometimes soon still such sure take takes than thank thanks that the their them themselves
then there therefore these they thing things think this those though through thus to together too toward towards twice
two three under unless until up upon us used useful usually ve versus very via want was wasn way we well went were weren what
whatever when where whereas wherever whether which while who whole whom whose why will with within without won would
wouldn yes yet you your yours yourself
";

/// Words of programming and reviewing in general: what they name is in almost every change.
const COMMON: &str = "
accept access achieve actual add added addition additional adding adds adjust affect affected affects align allow allows
alternative api app application apply approach appropriate argument arguments array assign assigned assignment assume
assuming attribute author avoid aware bad based base behavior behaviour bit block body boolean branch break bug bugs build
call called calling calls case cases catch cause causes change changed changes changing check checked checking checks
clarify clarity class classes clean cleaner clear clearer clearly code codebase coding comment comments commit common
compare comparison complete complex complexity compatible concern concise condition conditional conditions configuration
confuse confusing confusion consider consistency consistent constant contain contains content context convention
conventions copy correct correctly create created creates current currently data debug declare declared default define
defined definition delete deleted depend dependencies dependency depending describe description descriptive design
developer developers difference directly document documentation documented doc docs docstring duplicate easier easily
easy effect efficient element empty enhance ensure ensures ensuring environment error errors example exception existing
expect expected explain explaining explanation explicit explicitly express expression extra fail failed fails false
feature field file files fine fix fixed fixes follow following follows form format formatting forward function
functionality functions general generate handle handled handles handling happen hard help helpful helps hint idea
identify ignore implement implementation implemented import imported importing imports improve improved improvement
improvements improves improving include included includes including inconsistent incorrect incorrectly indentation
indicate information initial input inside instance intended intent intention interface intention introduce introduced
involve involves issue issues item items job key keyword kind language large length level library line lines list local
log logging logic long longer loop maintain maintainability maintainable maintenance meaning meaningful method methods
missing mistake modification modified modify module name named names naming necessary new nit note null number object
objects old operation operator option optional options order original output outside parameter parameters pass passed
passes passing path pattern pep8 performance place point position possible potential practice practices prefer prevent
previous print problem process program programming project properly properties property provide provided provides
purpose purposes put question raise range read readability readable reader reason reasoning reasons recommend reduce
redundant refactor refer reference references remain remove removal removed removes removing rename renamed repetition
replace replaced report request require required requirement requirements requires result results return returned
returning returns reuse review reviewer right run running safe scenario scope section self separate set sets setting
show shows side similar simplified simplify situation small solution source space spacing specific specifically
specified specify standard start state statement statements step string strings structure style suggest suggested
suggestion suggestions support switch syntax system team test testing tests text throw todo true try type types
typo unclear undefined understand understandable understanding unexpected unit unnecessary unrelated unused update
updated updates updating usage use user users uses using valid validate validation value values variable
variables version whitespace work worked working works worth write writing written wrong
";

fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

static STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(STOP));
static COMMON_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| set(COMMON));

/// Whether a lower-case word says nothing by itself.
pub fn is_stop(word: &str) -> bool {
    word.len() < 2 || STOP_WORDS.contains(word)
}

static COMMON_KEYS: LazyLock<HashSet<String>> = LazyLock::new(|| COMMON.split_whitespace().map(stem).collect());

/// Whether a key, as [`stem`] makes them, is that of a word of programming and reviewing in general.
pub fn is_common_key(key: &str) -> bool {
    COMMON_KEYS.contains(key)
}

/// Whether a lower-case word is one of programming and reviewing in general.
pub fn is_common(word: &str) -> bool {
    COMMON_WORDS.contains(word)
}

/// A word without the endings of English inflection, in lower case: `Sorted`, `sorting` and `sorts` become `sort`. It is a
/// key to compare by, not a word.
pub fn stem(word: &str) -> String {
    let mut word = word.to_lowercase();
    if !word.is_ascii() {
        return word;
    }
    for (ending, put, least) in
        [("ies", "y", 5), ("sses", "ss", 6), ("xes", "x", 5), ("ches", "ch", 6), ("shes", "sh", 6), ("s", "", 4)]
    {
        if word.len() >= least && word.ends_with(ending) && !(ending == "s" && word.ends_with("ss")) {
            word.truncate(word.len() - ending.len());
            word.push_str(put);
            break;
        }
    }
    for ending in ["ing", "ed"] {
        let Some(rest) = word.strip_suffix(ending) else { continue };
        if rest.len() >= 3 && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            let bytes = rest.as_bytes();
            let doubled = bytes.len() > 3
                && bytes[bytes.len() - 1] == bytes[bytes.len() - 2]
                && !b"aeiousl".contains(&bytes[bytes.len() - 1]);
            word.truncate(rest.len() - usize::from(doubled));
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_meet_in_one_key() {
        for family in [
            &["sort", "sorts", "sorted", "Sorting"][..],
            &["query", "queries"],
            &["remove", "removed", "removes", "removing"],
            &["map", "mapping", "mapped", "maps"],
            &["class", "classes"],
            &["box", "boxes"],
            &["call", "calls", "called", "calling"],
        ] {
            let keys: HashSet<String> = family.iter().map(|word| stem(word)).collect();
            assert_eq!(keys.len(), 1, "{family:?}: {keys:?}");
        }
        // too short to be inflected, and other scripts, stay
        assert_eq!(
            ["is", "as", "bed", "ring", "über", "данные"].map(stem),
            ["is", "as", "bed", "ring", "über", "данные"]
        );
    }

    #[test]
    fn no_word_is_both() {
        let both: Vec<_> = STOP_WORDS.intersection(&COMMON_WORDS).collect();
        assert!(both.is_empty(), "{both:?}");
        assert!(is_stop("the") && is_stop("x") && !is_stop("scratch"));
        assert!(is_common("function") && !is_common("scratch"));
    }
}
