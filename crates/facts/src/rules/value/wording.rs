//! How sentences say that something has a value.

use std::sync::LazyLock;

use regex::Regex;

use crate::rules::phrase::pattern;

/// The first thing has the second one as its value.
pub static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let is = r"(?: (?:is|was|are|gets?|becomes?|being|has been|have been|will be))(?: now| still| currently| also)?(?: set| assigned| initiali[sz]ed| changed| bumped| raised| increased| reduced| lowered| decreased| updated| hard-?coded| defined| given| fixed)?(?: back)?(?: to| as| with| at| by default to)?(?: be)?(?: the value| a value of| the string| the number)?(?: of)?";
    let kind =
        "parameter|argument|option|property|field|flag|variable|attribute|setting|constant|key|prop|value|entry|column";
    vec![
        pattern(&format!(
            r"\b(?:value|default|defaults|default value|timeout|limit)(?: value)? (?:of|for) OBJ(?: [a-z]+)?{is} (@\d+)"
        )),
        pattern(
            r"(@\d+)(?: [a-z]+){0,2}(?: now| still)? (?:defaults?|falls? back|(?:is )?defaulted|(?:is )?hard-?coded) to (?:the (?:value|string|number) |a )?(@\d+)",
        ),
        pattern(r"(@\d+)[^@;.]{0,40}, (?:which )?default(?:s|ing) to (?:the (?:value|string) )?(@\d+)"),
        pattern(r"\bdefaults? OBJ to (@\d+)"),
        pattern(
            r"(@\d+)(?: [a-z]+)? (?:starts?|begins?|starts? out|is created|comes) (?:out )?(?:as|at|with) (?:an? )?(?:plain |simple |value of )?(@\d+)",
        ),
        pattern(&format!(r"(@\d+)(?: (?:{kind}|timeout|limit))?{is} (@\d+)")),
        pattern(&format!(
            r"\b(?:sets?|setting|assigns?|initiali[sz]es?|bumps?|raises?|lowers?|increases?|decreases?|reduces?|changes?|updates?|hard-?codes?|defines?|fix(?:es)?|limits?|caps?) OBJ(?: (?:{kind})| [a-z]+ type)? (?:to|as|at|with) (?:be |the string |the value )?(@\d+)"
        )),
        pattern(r"(@\d+) ?= ?(@\d+)"),
        pattern(&format!(
            r"(@\d+)(?: (?:{kind}))? (?:of|set to|with(?: a| the)?(?: default)? value(?: of)?|with(?: a| the)? default(?: of)?|whose(?: default)? value is) (@\d+)"
        )),
        pattern(&format!(
            r"\badds?(?: an?| the)?(?: new)?(?: [a-z]+)? (@\d+)(?: (?:{kind}))? (?:with|of|set to|defaulting to)(?: a| the)?(?: default)?(?: value)?(?: of)? (@\d+)"
        )),
    ]
});

/// What is named by words: "the default capacity is 256", "gets a timeout of 500 ms".
pub static NOUNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    vec![
        pattern(
            r"\b(?:the|default|maximum|max|minimum|min|new|initial) ((?:[a-z]+ ){0,2}[a-z]+) (?:is|becomes|defaults to|is now|is set to|is raised to|is lowered to|is reduced to|is increased to|is changed to|now defaults to|to|of) (?:now )?(@\d+)",
        ),
        pattern(
            r"\b(?:sets?|raises?|lowers?|increases?|reduces?|bumps?|changes?|limits?|caps?) (?:the )?((?:[a-z]+ ){0,2}[a-z]+) (?:to|at) (@\d+)",
        ),
        pattern(
            r"\b(?:a|an|the|with|its|to) ((?:[a-z]+ )?(?:timeout|limit|delay|interval|count|size|capacity|width|height|margin|threshold|retries|port|depth|length|priority|level|version|offset|margin|padding|radius|rate|weight)) (?:of|is|set to) (@\d+)",
        ),
    ]
});

/// The value was the second and became the third.
pub static CHANGED: LazyLock<Vec<(Regex, [usize; 3])>> = LazyLock::new(|| {
    vec![
        (pattern(r"(@\d+)[^@.;]{0,40}? from (?:the )?(@\d+)(?: [a-z]+)? (?:to|into) (?:the )?(@\d+)"), [1, 2, 3]),
        (pattern(r"(@\d+)[^@.;]{0,40}? to (@\d+)(?: [a-z]+)? from (@\d+)"), [1, 3, 2]),
        (pattern(r"(@\d+)[^@.;]{0,40}? (?:is|to) (@\d+)(?: [a-z]+)? (?:instead of|rather than|not) (@\d+)"), [1, 3, 2]),
    ]
});

/// Numbers that come and go, whatever has them: "from 8 to 16", "to 30 minutes, up from 15".
pub static NUMBERS: LazyLock<Vec<(Regex, [usize; 2])>> = LazyLock::new(|| {
    let verb = r"\b(?:bump\w*|rais\w+|lower\w*|increas\w+|decreas\w+|reduc\w+|chang\w+|halv\w+|doubl\w+|go(?:es)?|went|updat\w+|grows?|shrinks?|drops?|upgrad\w+|mov\w+|switch\w*|adjust\w*|set|extend\w*|shorten\w*)\b";
    vec![
        (pattern(&format!(r"{verb}[^;.]{{0,60}}? from (@\d+)(?: [a-z]+)? (?:to|into) (@\d+)")), [1, 2]),
        (pattern(r"(@\d+)(?: [a-z]+)?,? (?:up|down|raised|lowered|increased|reduced|changed) from (@\d+)"), [2, 1]),
        (
            pattern(&format!(r"{verb}[^;.]{{0,60}}? to (@\d+)(?: [a-z]+)? (?:from|instead of|rather than) (@\d+)")),
            [2, 1],
        ),
    ]
});

pub static SWITCHED: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let end = r"(?: by default)?(?:[.,;]|$| in | for )";
    let is = r"(@\d+)(?: [a-z]+)? is (?:now |still )?";
    vec![
        ("true", pattern(&format!(r"\b(?:enables?|turns? on|activates?) OBJ{end}"))),
        ("false", pattern(&format!(r"\b(?:disables?|turns? off|deactivates?) OBJ{end}"))),
        ("true", pattern(r"\b(?:turns?|turned|switch(?:es)?) OBJ on\b")),
        ("false", pattern(r"\b(?:turns?|turned|switch(?:es)?) OBJ off\b")),
        ("true", pattern(&format!(r"{is}(?:enabled|on|turned on|activated)(?: by default)?(?:[.,;]|$)"))),
        ("false", pattern(&format!(r"{is}(?:disabled|off|turned off|deactivated)(?: by default)?(?:[.,;]|$)"))),
    ]
});

pub static BEFORE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:was|were|previously|originally|formerly|used to|before|had been|old)\b"));

pub static NOT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|never|no longer|isn't|wasn't|doesn't|don't|if|when|unless|whether|instead|rather|until|neither|nor)\b",
    )
});

/// A text in what a thing says.
pub static SAYS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(@\d+)(?: [a-z]+)? (?:now |still )?(?:says|reads|contains|prints|logs|has the text) (@\d+)")
});
