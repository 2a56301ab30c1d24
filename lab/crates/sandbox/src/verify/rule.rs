//! What follows from what was observed. Nothing here runs or reads anything.

use serde::{Deserialize, Serialize};

/// What a test ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It reached its end and found nothing wrong.
    Pass,
    /// It found something wrong, or the program ended where it should have answered.
    Fail,
    /// It could not be told: a value of no plain type, a sandbox that failed, a word that was not the one expected.
    Error,
    /// The program used up its time of the processor twice.
    Timeout,
    /// It had too much memory.
    Memory,
    /// It wrote too much.
    OutputLimit,
    /// A signal ended it.
    Crash,
    /// It was never reached. Never a pass.
    NotRun,
}

/// Whether a test holds of a program, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// It does, each time.
    Yes,
    /// It does not, each time.
    No,
    /// It differs from time to time, or could not be told.
    Unknown,
}

/// A test's end under one program, over all repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What it ended with the first time.
    pub mark: Mark,
    /// The line that failed, or what the program said.
    pub detail: String,
    /// Whether another time it ended differently.
    pub flaky: bool,
}

impl Seen {
    /// Whether the test holds.
    pub fn holds(&self) -> Holds {
        match self.mark {
            _ if self.flaky => Holds::Unknown,
            Mark::Pass => Holds::Yes,
            Mark::Error => Holds::Unknown,
            Mark::Fail | Mark::Timeout | Mark::Memory | Mark::OutputLimit | Mark::Crash | Mark::NotRun => Holds::No,
        }
    }
}

/// How far a suite is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// It came with the task, and decides.
    Reference,
    /// An example of the requirement; it decides too.
    Example,
    /// It came with the comment, and never decides alone.
    Proposed,
    /// Somebody made it up beside, and it never decides alone.
    Augmented,
}

impl Trust {
    /// Whether a failure of it is a failure of the program.
    pub fn decides(self) -> bool {
        matches!(self, Trust::Reference | Trust::Example)
    }
}

/// One test under both programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// The suite that it is of.
    pub suite: String,
    /// How far that is trusted.
    pub trust: Trust,
    /// Under the program that is judged.
    pub before: Seen,
    /// Under the fix; none where there is none that runs.
    pub after: Option<Seen>,
}

/// Whether there is a fix to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixState {
    /// There is.
    Runs,
    /// None was given.
    None,
    /// It is the program itself, but for comments and blanks.
    Identical,
    /// It cannot be loaded, for a reason.
    NotRunnable(String),
}

/// All that was observed of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The fix.
    pub fix: FixState,
    /// The tests.
    pub tests: Vec<Test>,
    /// Inputs on which both programs gave a value.
    pub inputs_compared: usize,
    /// Inputs on which they gave different ones.
    pub n_differs: usize,
}

/// What a text says of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Says {
    /// That it has a defect.
    #[default]
    Defect,
    /// That it meets its requirement.
    Conforms,
}

/// Whether execution supports what a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// It does.
    Supported,
    /// It refutes it.
    Unsupported,
    /// It does not tell.
    Abstain,
}

/// What the fix does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fix {
    /// What failed passes, and nothing else changes.
    Repairs,
    /// Some of what failed passes.
    Partial,
    /// Some of what failed passes, and some of what passed fails.
    Mixed,
    /// Some of what passed fails.
    Regresses,
    /// Nothing that was tried tells it from the program.
    Neutral,
    /// It passes the same tests, and gives other values.
    ChangesBehaviour,
    /// What failed still fails.
    Ineffective,
    /// It is the program.
    Identical,
    /// It cannot be run.
    NotRunnable,
    /// There is none.
    None,
}

/// What is concluded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// Whether the text's claim is supported.
    pub claim: Claim,
    /// What the fix does.
    pub fix: Fix,
    /// Which case of the paper it is, from 1 to 4.
    pub case: Option<u8>,
    /// Why, in words.
    pub why: String,
}

/// How conclusions are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Only what execution shows counts.
    #[default]
    Strict,
    /// As the paper's filter, to the letter.
    Paper,
    /// The program alone under the reference tests.
    TestsOnly,
}

/// What a rule may be told beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Inputs that must have been compared before two programs count as the same.
    pub min_inputs: usize,
    /// Whether passing the suite is enough where too few inputs were compared.
    pub trust_suite: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { min_inputs: 20, trust_suite: false }
    }
}

impl Rule {
    /// Draws the conclusion.
    pub fn decide(self, says: Says, observed: &Observed, settings: Settings) -> Conclusion {
        match (self, says) {
            (Rule::Strict, Says::Defect) => strict(observed, settings),
            (Rule::Strict, Says::Conforms) => conforms(observed, settings),
            (Rule::Paper, Says::Defect) => paper(observed),
            (Rule::TestsOnly, Says::Defect) => tests_only(observed),
            // both of them leave a yes as it is
            (Rule::Paper | Rule::TestsOnly, Says::Conforms) => {
                let found = tests_only(observed);
                let claim = match (self, found.claim) {
                    (Rule::TestsOnly, Claim::Supported) => Claim::Unsupported,
                    _ => Claim::Supported,
                };
                Conclusion { claim, why: "a judgement that the program is right is kept".into(), ..found }
            }
        }
    }
}

fn conclude(claim: Claim, fix: Fix, case: Option<u8>, why: impl Into<String>) -> Conclusion {
    Conclusion { claim, fix, case, why: why.into() }
}

/// How many tests go from what to what; what is unknown is taken as it is told.
#[derive(Debug, Default)]
struct Moves {
    fail_to_pass: usize,
    pass_to_fail: usize,
    fail_to_fail: usize,
}

fn moves(observed: &Observed, unknown_before: bool, unknown_after: bool) -> Moves {
    let mut moves = Moves::default();
    for test in observed.tests.iter().filter(|test| test.trust.decides()) {
        let known = |holds: Holds, unknown: bool| match holds {
            Holds::Yes => true,
            Holds::No => false,
            Holds::Unknown => unknown,
        };
        let before = known(test.before.holds(), unknown_before);
        let after = known(test.after.as_ref().map_or(Holds::Unknown, Seen::holds), unknown_after);
        match (before, after) {
            (false, true) => moves.fail_to_pass += 1,
            (true, false) => moves.pass_to_fail += 1,
            (false, false) => moves.fail_to_fail += 1,
            (true, true) => {}
        }
    }
    moves
}

fn strict(observed: &Observed, settings: Settings) -> Conclusion {
    let fix = match &observed.fix {
        FixState::Runs => None,
        FixState::None => Some((Fix::None, "no fix was given, so there is nothing to compare with".to_owned())),
        FixState::Identical => Some((Fix::Identical, "the fix is the program itself".to_owned())),
        FixState::NotRunnable(why) => Some((Fix::NotRunnable, format!("the fix cannot be run: {why}"))),
    };
    if let Some((fix, why)) = fix {
        return conclude(Claim::Abstain, fix, None, why);
    }
    if !observed.tests.iter().any(|test| test.trust.decides()) {
        return conclude(Claim::Abstain, Fix::Neutral, None, "no test that decides was run");
    }
    // every way in which what is unknown could have ended must lead to the same row
    let possible = [(true, true), (true, false), (false, true), (false, false)]
        .map(|(before, after)| row(&moves(observed, before, after), observed, settings));
    let first = possible[0].clone();
    if possible.iter().all(|other| (other.claim, other.fix) == (first.claim, first.fix)) {
        return first;
    }
    conclude(
        Claim::Abstain,
        first.fix,
        None,
        "a test that ends differently from time to time, or could not be run, decides here",
    )
}

/// Failing tests that pass now, counted.
fn passing(n: usize) -> String {
    if n == 1 { "1 failing test passes".to_owned() } else { format!("{n} failing tests pass") }
}

/// The row of the table.
fn row(moves: &Moves, observed: &Observed, settings: Settings) -> Conclusion {
    let Moves { fail_to_pass, pass_to_fail, fail_to_fail } = *moves;
    let (compared, differs) = (observed.inputs_compared, observed.n_differs);
    match () {
        () if fail_to_pass > 0 && pass_to_fail > 0 => conclude(
            Claim::Supported,
            Fix::Mixed,
            None,
            format!("{} with the fix, and {pass_to_fail} that passed fail", passing(fail_to_pass)),
        ),
        () if fail_to_pass > 0 => {
            let fix = if fail_to_fail > 0 { Fix::Partial } else { Fix::Repairs };
            conclude(Claim::Supported, fix, Some(4), format!("{} with the fix", passing(fail_to_pass)))
        }
        () if fail_to_fail > 0 => conclude(
            Claim::Abstain,
            Fix::Ineffective,
            Some(2),
            "the tests show a defect, and this fix touches none of it",
        ),
        () if pass_to_fail > 0 => conclude(
            Claim::Unsupported,
            Fix::Regresses,
            Some(3),
            format!("the program passes all tests, and {pass_to_fail} fail with the fix"),
        ),
        () if differs > 0 => conclude(
            Claim::Abstain,
            Fix::ChangesBehaviour,
            None,
            format!(
                "both pass all tests, and give different values on {differs} of {compared} inputs: which is right is not known"
            ),
        ),
        () if compared >= settings.min_inputs => conclude(
            Claim::Unsupported,
            Fix::Neutral,
            Some(1),
            format!("both pass all tests and give the same values on {compared} inputs"),
        ),
        () if settings.trust_suite => {
            conclude(Claim::Unsupported, Fix::Neutral, Some(1), "both pass all tests, which are trusted")
        }
        () => conclude(
            Claim::Abstain,
            Fix::Neutral,
            None,
            format!(
                "both pass all tests, and only {compared} inputs were compared of {} that are wanted",
                settings.min_inputs
            ),
        ),
    }
}

/// What is known of a program without its fix: whether it holds under all tests of some trust.
fn all_hold(observed: &Observed, of: impl Fn(&Test) -> bool, seen: impl Fn(&Test) -> Option<Holds>) -> Option<bool> {
    let ends: Vec<Holds> = observed.tests.iter().filter(|test| of(test)).filter_map(seen).collect();
    match () {
        () if ends.contains(&Holds::No) => Some(false),
        () if ends.contains(&Holds::Unknown) || ends.is_empty() => None,
        () => Some(true),
    }
}

fn before(test: &Test) -> Option<Holds> {
    Some(test.before.holds())
}

/// A fix plays no part in whether a program is right.
fn fix_of(observed: &Observed) -> Fix {
    match observed.fix {
        FixState::Runs => {
            let row = row(&moves(observed, true, true), observed, Settings::default());
            row.fix
        }
        FixState::None => Fix::None,
        FixState::Identical => Fix::Identical,
        FixState::NotRunnable(_) => Fix::NotRunnable,
    }
}

fn conforms(observed: &Observed, settings: Settings) -> Conclusion {
    let fix = fix_of(observed);
    match all_hold(observed, |test| test.trust.decides(), before) {
        Some(false) => conclude(Claim::Unsupported, fix, None, "a test that decides fails"),
        Some(true) if settings.trust_suite => {
            conclude(Claim::Supported, fix, None, "all tests pass, which are trusted")
        }
        Some(true) => {
            conclude(Claim::Abstain, fix, None, "all tests pass, which does not show that the program is right")
        }
        None => conclude(Claim::Abstain, fix, None, "a test ends differently from time to time, or none could be run"),
    }
}

fn tests_only(observed: &Observed) -> Conclusion {
    let fix = fix_of(observed);
    match all_hold(observed, |test| test.trust == Trust::Reference, before) {
        Some(true) => conclude(Claim::Unsupported, fix, None, "the program passes all reference tests"),
        Some(false) => conclude(Claim::Supported, fix, None, "the program fails a reference test"),
        None => {
            conclude(Claim::Abstain, fix, None, "the reference tests could not be run, or differ from time to time")
        }
    }
}

/// The filter as the paper prints it: a "no" with a fix is kept unless the two are the same or the fix breaks what passed. Passing is of the
/// reference tests and of those made up beside that expect something; what the four cases leave out keeps the judgement.
fn paper(observed: &Observed) -> Conclusion {
    let fix = fix_of(observed);
    if observed.fix == FixState::None {
        return conclude(Claim::Supported, fix, None, "a no without a fix stands");
    }
    let of = |test: &Test| matches!(test.trust, Trust::Reference | Trust::Augmented);
    let program = all_hold(observed, of, before).unwrap_or(false);
    let repaired =
        all_hold(observed, of, |test| Some(test.after.as_ref().map_or(Holds::No, Seen::holds))).unwrap_or(false);
    match (program, repaired) {
        (true, true) if observed.n_differs == 0 => {
            conclude(Claim::Unsupported, fix, Some(1), "both pass and behave alike: turned to yes")
        }
        (true, true) => conclude(Claim::Supported, fix, None, "both pass and differ, which no case covers: kept"),
        (false, false) => conclude(Claim::Supported, fix, Some(2), "both fail: kept"),
        (true, false) => {
            conclude(Claim::Unsupported, fix, Some(3), "the program passes and the fix fails: turned to yes")
        }
        (false, true) => conclude(Claim::Supported, fix, Some(4), "the program fails and the fix passes: kept"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(mark: Mark) -> Seen {
        Seen { mark, detail: String::new(), flaky: false }
    }

    fn observed(tests: &[(Mark, Mark)], compared: usize, differs: usize) -> Observed {
        let test = |(at, (before, after)): (usize, &(Mark, Mark))| Test {
            name: format!("t{at}"),
            suite: "ref".into(),
            trust: Trust::Reference,
            before: seen(*before),
            after: Some(seen(*after)),
        };
        Observed {
            fix: FixState::Runs,
            tests: tests.iter().enumerate().map(test).collect(),
            inputs_compared: compared,
            n_differs: differs,
        }
    }

    fn decide(rule: Rule, observed: &Observed) -> (Claim, Fix, Option<u8>) {
        let drawn = rule.decide(Says::Defect, observed, Settings::default());
        (drawn.claim, drawn.fix, drawn.case)
    }

    #[test]
    fn the_strict_table_row_by_row() {
        use Mark::{Error, Fail, Pass, Timeout};
        type Row<'a> = (&'a [(Mark, Mark)], usize, usize, Claim, Fix, Option<u8>);
        let rows: &[Row<'_>] = &[
            (&[(Fail, Pass), (Pass, Pass)], 0, 0, Claim::Supported, Fix::Repairs, Some(4)),
            (&[(Timeout, Pass)], 0, 0, Claim::Supported, Fix::Repairs, Some(4)),
            (&[(Fail, Pass), (Fail, Fail)], 0, 0, Claim::Supported, Fix::Partial, Some(4)),
            (&[(Fail, Pass), (Pass, Fail)], 0, 0, Claim::Supported, Fix::Mixed, None),
            (&[(Fail, Fail), (Pass, Pass)], 99, 0, Claim::Abstain, Fix::Ineffective, Some(2)),
            (&[(Pass, Fail)], 0, 0, Claim::Unsupported, Fix::Regresses, Some(3)),
            (&[(Pass, Pass)], 20, 0, Claim::Unsupported, Fix::Neutral, Some(1)),
            (&[(Pass, Pass)], 20, 1, Claim::Abstain, Fix::ChangesBehaviour, None),
            (&[(Pass, Pass)], 19, 0, Claim::Abstain, Fix::Neutral, None),
            // whether it passes with the fix decides, and is not known
            (&[(Fail, Error)], 0, 0, Claim::Abstain, Fix::Repairs, None),
            // one that is unknown decides nothing beside one that is known
            (&[(Fail, Pass), (Pass, Pass), (Error, Pass)], 0, 0, Claim::Supported, Fix::Repairs, Some(4)),
        ];
        for (tests, compared, differs, claim, fix, case) in rows {
            let got = decide(Rule::Strict, &observed(tests, *compared, *differs));
            assert_eq!(got, (*claim, *fix, *case), "{tests:?}, {differs} of {compared} differ");
        }
    }

    #[test]
    fn without_a_fix_that_runs_nothing_is_concluded() {
        for (state, fix) in [
            (FixState::None, Fix::None),
            (FixState::Identical, Fix::Identical),
            (FixState::NotRunnable("SyntaxError".into()), Fix::NotRunnable),
        ] {
            let seen = Observed { fix: state, ..observed(&[(Mark::Fail, Mark::Pass)], 0, 0) };
            assert_eq!(decide(Rule::Strict, &seen), (Claim::Abstain, fix, None));
        }
    }

    #[test]
    fn what_does_not_decide_never_decides() {
        let mut seen = observed(&[(Mark::Pass, Mark::Pass), (Mark::Fail, Mark::Pass)], 30, 0);
        seen.tests[1].trust = Trust::Proposed;
        assert_eq!(decide(Rule::Strict, &seen), (Claim::Unsupported, Fix::Neutral, Some(1)));
    }

    #[test]
    fn the_paper_s_four_cases_and_what_they_leave_out() {
        use Mark::{Fail, Pass};
        let of = |before, after, differs| decide(Rule::Paper, &observed(&[(before, after)], 50, differs));
        assert_eq!(of(Pass, Pass, 0), (Claim::Unsupported, Fix::Neutral, Some(1)));
        assert_eq!(of(Pass, Pass, 3).0, Claim::Supported);
        assert_eq!(of(Fail, Fail, 0), (Claim::Supported, Fix::Ineffective, Some(2)));
        assert_eq!(of(Pass, Fail, 0), (Claim::Unsupported, Fix::Regresses, Some(3)));
        assert_eq!(of(Fail, Pass, 0), (Claim::Supported, Fix::Repairs, Some(4)));
    }

    #[test]
    fn a_claim_that_the_program_is_right_is_turned_round() {
        let decide = |mark, trust_suite| {
            let settings = Settings { trust_suite, ..Settings::default() };
            Rule::Strict.decide(Says::Conforms, &observed(&[(mark, Mark::Pass)], 0, 0), settings).claim
        };
        assert_eq!(decide(Mark::Fail, false), Claim::Unsupported);
        assert_eq!(decide(Mark::Pass, false), Claim::Abstain);
        assert_eq!(decide(Mark::Pass, true), Claim::Supported);
    }
}
