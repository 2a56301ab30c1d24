//! The tables of a study, from judged rows and, where fixes were run, from verified ones.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use veridiff_sandbox::verify::rule::Claim;

use super::{
    parse::{Answer, FixGiven, Said, fix_state},
    prompt::Mode,
    rates::{Counts, Flips, Judged, Share},
    table::Table,
    task::Truth,
};

/// A judged row: who said what of which program, with labels that others gave to the reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The task.
    pub task_id: String,
    /// Where it is from.
    pub dataset: String,
    /// Which of its programs.
    pub variant: String,
    /// What is known of it.
    pub truth: Truth,
    /// Who judged.
    pub judge: String,
    /// How it was asked.
    pub mode: Mode,
    /// The answer as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The verdict, in place of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Said>,
    /// The reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// The fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Which asking it is, where a judge was asked again with what had failed; the last counts.
    #[serde(default)]
    pub round: u32,
    /// The program, so that an answer can be parsed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The function that tests call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entry_point: String,
    /// Why a correct program was rejected, of the paper's twelve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the reasons agree with the verdict: `consistent`, `contradiction`, `unclear`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a1: Option<String>,
    /// Which way a contradiction goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a1_type: Option<String>,
    /// The words that decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a1_evidence: Option<String>,
    /// How sure whoever labelled it was, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a1_confidence: Option<f64>,
    /// Whether the reasons name the true kind of fault: `match`, `mismatch`, `not_mentioned`, `unclear`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a2_bug: Option<String>,
    /// Whether they name how it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a2_symptoms: Option<String>,
    /// The true kind of fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bug_type: Option<String>,
    /// How it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_symptoms: Option<String>,
    /// Which backend was asked for labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labelled_by: Option<String>,
}

impl Row {
    /// Fills the verdict, the reasons and the fix in from the answer.
    pub fn parse(&mut self) {
        if let (None, Some(response)) = (self.verdict, &self.response) {
            let answer = Answer::parse(response, &self.code, &self.entry_point);
            (self.verdict, self.rationale, self.fix) = (Some(answer.verdict), answer.rationale, answer.fix);
        }
    }

    /// What became of the fix.
    pub fn fix_state(&self) -> FixGiven {
        fix_state(self.fix.as_deref(), &self.code, &self.entry_point)
    }

    fn said(&self) -> Said {
        self.verdict.unwrap_or(Said::Unparsed)
    }

    /// The name of the case that verifies its fix.
    pub fn case_id(&self) -> String {
        format!("{}#{}#{}#{}", self.task_id, self.variant, self.judge, self.mode.name())
    }

    fn program(&self) -> (&str, &str, &str) {
        (&self.dataset, &self.task_id, &self.variant)
    }
}

/// The paper's reasons for rejecting a correct program.
pub const REASONS: [&str; 12] = [
    "Misread Spec",
    "Added Requirement",
    "Overthink Edge",
    "Assumed Type",
    "Imagined Runtime",
    "Performance Nitpick",
    "Readability Nitpick",
    "Precision Error",
    "Boundary Error",
    "Logic Error",
    "Vague Description",
    "Other",
];

fn percent(share: Share) -> String {
    match (share.percent(), share.interval()) {
        (Some(percent), Some((low, high))) => format!("{percent:.1} [{low:.1}, {high:.1}]"),
        _ => "-".to_owned(),
    }
}

/// What every rule concludes of a row whose fix was run.
pub type Rules = BTreeMap<String, Claim>;

/// All tables of a study. `verified` has what the rules conclude of a row's case, by its name.
pub fn tables(rows: &[Row], verified: &BTreeMap<String, Rules>) -> Vec<Table> {
    // the last round of each counts
    let mut last: BTreeMap<(String, u32), &Row> = BTreeMap::new();
    for row in rows {
        last.insert((format!("{}#{}", row.dataset, row.case_id()), row.round), row);
    }
    let mut latest: BTreeMap<String, &Row> = BTreeMap::new();
    for ((id, _), row) in last {
        latest.insert(id, row);
    }
    let rows: Vec<&Row> = latest.into_values().collect();
    let mut all = vec![rates(&rows), flips(&rows)];
    all.extend(
        [taxonomy(&rows), consistency(&rows), awareness(&rows)].into_iter().filter(|table| !table.rows.is_empty()),
    );
    if !verified.is_empty() {
        all.push(filtered(&rows, verified));
    }
    all
}

type Cell = (String, String, Mode);

fn cells<'a>(rows: &[&'a Row]) -> BTreeMap<Cell, Vec<&'a Row>> {
    let mut cells: BTreeMap<Cell, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        cells.entry((row.dataset.clone(), row.judge.clone(), row.mode)).or_default().push(row);
    }
    cells
}

fn counts(rows: &[&Row]) -> Counts {
    Counts::of(rows.iter().map(|row| Judged { truth: row.truth, said: row.said() }))
}

fn rates(rows: &[&Row]) -> Table {
    let heads = [
        "dataset",
        "judge",
        "mode",
        "FPR %",
        "FNR %",
        "n buggy",
        "n correct",
        "unparsed",
        "FPR bounds",
        "FNR bounds",
        "balanced accuracy %",
        "MCC",
    ];
    let mut table = Table::new("rates", "Accepted buggy programs (FPR) and rejected correct ones (FNR)", &heads);
    for ((dataset, judge, mode), rows) in cells(rows) {
        let counts = counts(&rows);
        let bounds = |shares: [Share; 2]| match shares.map(Share::percent) {
            [Some(low), Some(high)] => format!("{low:.1} to {high:.1}"),
            _ => "-".to_owned(),
        };
        table.rows.push(vec![
            dataset,
            judge,
            mode.name().into(),
            percent(counts.fpr()),
            percent(counts.fnr()),
            counts.fpr().n.to_string(),
            counts.fnr().n.to_string(),
            (counts.unparsed_buggy + counts.unparsed_correct).to_string(),
            bounds(counts.fpr_bounds()),
            bounds(counts.fnr_bounds()),
            counts.balanced_accuracy().map_or("-".into(), |value| format!("{value:.1}")),
            counts.matthews().map_or("-".into(), |value| format!("{value:.3}")),
        ]);
    }
    table
}

fn flips(rows: &[&Row]) -> Table {
    let heads =
        ["dataset", "judge", "from", "to", "truth", "flips %", "yes to no", "no to yes", "n", "p (McNemar, exact)"];
    let mut table = Table::new("flips", "Verdicts that change with the way of asking", &heads);
    let cells = cells(rows);
    let judges: BTreeSet<(&String, &String)> = cells.keys().map(|(dataset, judge, _)| (dataset, judge)).collect();
    for (dataset, judge) in judges {
        for (from, to) in [(Mode::Direct, Mode::Explain), (Mode::Direct, Mode::Full), (Mode::Explain, Mode::Full)] {
            let of = |mode| cells.get(&(dataset.clone(), judge.clone(), mode));
            let (Some(before), Some(after)) = (of(from), of(to)) else { continue };
            for is_correct in [true, false] {
                let after: BTreeMap<_, Said> = after.iter().map(|row| (row.program(), row.said())).collect();
                let pairs = before.iter().filter(|row| (row.truth == Truth::Correct) == is_correct);
                let flips = Flips::of(pairs.filter_map(|row| Some((row.said(), *after.get(&row.program())?))));
                table.rows.push(vec![
                    dataset.clone(),
                    judge.clone(),
                    from.name().into(),
                    to.name().into(),
                    if is_correct { "correct" } else { "buggy" }.into(),
                    percent(flips.share()),
                    flips.yes_to_no.to_string(),
                    flips.no_to_yes.to_string(),
                    flips.n.to_string(),
                    format!("{:.3}", flips.p()),
                ]);
            }
        }
    }
    table
}

fn taxonomy(rows: &[&Row]) -> Table {
    let mut table = Table::new(
        "taxonomy",
        "Why correct programs were rejected",
        &["judge", "mode", "reason", "share %", "count", "n"],
    );
    let rejected =
        rows.iter().filter(|row| row.truth == Truth::Correct && row.said() == Said::No && row.reason.is_some());
    let mut groups: BTreeMap<(&String, Mode), Vec<&str>> = BTreeMap::new();
    for row in rejected {
        let reason = row.reason.as_deref().unwrap_or_default();
        let known = REASONS.iter().find(|known| known.eq_ignore_ascii_case(reason)).copied().unwrap_or("Other");
        groups.entry((&row.judge, row.mode)).or_default().push(known);
    }
    for ((judge, mode), said) in groups {
        for reason in REASONS {
            let share = Share { count: said.iter().filter(|other| **other == reason).count(), n: said.len() };
            if share.count > 0 {
                let cells = [
                    judge.clone(),
                    mode.name().into(),
                    reason.into(),
                    percent(share),
                    share.count.to_string(),
                    share.n.to_string(),
                ];
                table.rows.push(cells.to_vec());
            }
        }
    }
    table
}

fn consistency(rows: &[&Row]) -> Table {
    let heads =
        ["judge", "mode", "inconsistent %", "contradiction", "unclear", "no, yet positive", "yes, yet negative", "n"];
    let mut table = Table::new("consistency", "A1: whether reasons agree with the verdict", &heads);
    let mut groups: BTreeMap<(&String, Mode), Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.a1.is_some()) {
        groups.entry((&row.judge, row.mode)).or_default().push(row);
    }
    for ((judge, mode), rows) in groups {
        let count = |label: &str| rows.iter().filter(|row| row.a1.as_deref() == Some(label)).count();
        let way = |label: &str| rows.iter().filter(|row| row.a1_type.as_deref() == Some(label)).count();
        let (contradiction, unclear) = (count("contradiction"), count("unclear"));
        table.rows.push(vec![
            judge.clone(),
            mode.name().into(),
            percent(Share { count: contradiction + unclear, n: rows.len() }),
            contradiction.to_string(),
            unclear.to_string(),
            way("NO_but_positive").to_string(),
            way("YES_but_negative").to_string(),
            rows.len().to_string(),
        ]);
    }
    table
}

fn awareness(rows: &[&Row]) -> Table {
    let heads =
        ["judge", "mode", "bug type", "names the fault %", "names how it shows %", "mismatch", "not mentioned", "n"];
    let mut table = Table::new("awareness", "A2: whether reasons name the true fault (buggy programs)", &heads);
    let mut groups: BTreeMap<(&String, Mode, String), Vec<&Row>> = BTreeMap::new();
    for row in
        rows.iter().filter(|row| row.truth != Truth::Correct && (row.a2_bug.is_some() || row.a2_symptoms.is_some()))
    {
        let kind = row.bug_type.clone().unwrap_or("not known".into());
        for kind in ["all".to_owned(), kind] {
            groups.entry((&row.judge, row.mode, kind)).or_default().push(row);
        }
    }
    for ((judge, mode, kind), rows) in groups {
        let bug = |label: &str| rows.iter().filter(|row| row.a2_bug.as_deref() == Some(label)).count();
        let share = |said: &dyn Fn(&Row) -> Option<String>| {
            let all: Vec<String> = rows.iter().filter_map(|row| said(row)).collect();
            percent(Share { count: all.iter().filter(|label| *label == "match").count(), n: all.len() })
        };
        table.rows.push(vec![
            judge.clone(),
            mode.name().into(),
            kind,
            share(&|row| row.a2_bug.clone()),
            share(&|row| row.a2_symptoms.clone()),
            bug("mismatch").to_string(),
            bug("not_mentioned").to_string(),
            rows.len().to_string(),
        ]);
    }
    table
}

/// What each rule leaves of the errors: a no whose claim is refuted becomes a yes.
fn filtered(rows: &[&Row], verified: &BTreeMap<String, Rules>) -> Table {
    let heads = ["dataset", "judge", "mode", "rule", "FPR %", "FNR %", "noes", "turned to yes", "abstains"];
    let mut table = Table::new("filter", "What the filter by execution leaves, by its rule", &heads);
    for ((dataset, judge, mode), rows) in cells(rows) {
        let rules: BTreeSet<&String> =
            rows.iter().filter_map(|row| verified.get(&row.case_id())).flat_map(BTreeMap::keys).collect();
        let mut add = |rule: &str, counts: Counts, noes: usize, turned: usize, abstains: usize| {
            table.rows.push(vec![
                dataset.clone(),
                judge.clone(),
                mode.name().into(),
                rule.into(),
                percent(counts.fpr()),
                percent(counts.fnr()),
                noes.to_string(),
                turned.to_string(),
                abstains.to_string(),
            ]);
        };
        let noes = rows.iter().filter(|row| row.said() == Said::No).count();
        add("none", counts(&rows), noes, 0, 0);
        for rule in rules {
            let (mut turned, mut abstains) = (0, 0);
            let judged = rows.iter().map(|row| {
                let claim = verified.get(&row.case_id()).and_then(|rules| rules.get(rule)).copied();
                let said = match (row.said(), claim) {
                    (Said::No, Some(Claim::Unsupported)) => {
                        turned += 1;
                        Said::Yes
                    }
                    (Said::No, Some(Claim::Abstain)) => {
                        abstains += 1;
                        Said::No
                    }
                    // the tests alone are a judge of their own, which needs no other's no
                    (Said::Yes, Some(Claim::Unsupported)) if rule == "tests-only" => Said::No,
                    (said, _) => said,
                };
                Judged { truth: row.truth, said }
            });
            let counts = Counts::of(judged.collect::<Vec<_>>());
            add(rule, counts, noes, turned, abstains);
        }
    }
    table
}

/// Whether a row reads as one, and which line does not.
///
/// # Errors
/// The line and what is wrong with it.
pub fn read_rows(text: &str) -> Result<Vec<Row>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let mut row: Row =
                serde_json::from_str(line).map_err(|error| format!("line {}: no judged row: {error}", at + 1))?;
            row.parse();
            Ok(row)
        })
        .collect()
}

/// What the rules conclude, by case, from the lines of `verify`.
pub fn read_verified(text: &str) -> BTreeMap<String, Rules> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    lines
        .filter_map(|line| Some((line["id"].as_str()?.to_owned(), serde_json::from_value(line["rules"].clone()).ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A judge that says no to everything, with programs of which each rule's conclusion is known.
    fn invented() -> (Vec<Row>, BTreeMap<String, Rules>) {
        let line = |task: usize, truth: &str| {
            format!(
                r#"{{"task_id":"T/{task}","dataset":"d","variant":"{truth}","truth":"{truth}","judge":"j","mode":"full","response":"No"}}"#
            )
        };
        let lines: Vec<String> = (0..4).flat_map(|task| [line(task, "correct"), line(task, "buggy")]).collect();
        let rows = read_rows(&lines.join("\n")).unwrap();
        // by the paper's rule: of the correct, two flipped by case 1, one by case 3, one kept; of the buggy one flipped
        let claim = |task: usize, truth: &str, paper: Claim, tests: Claim| {
            let rules = BTreeMap::from([("paper".to_owned(), paper), ("tests-only".to_owned(), tests)]);
            (format!("T/{task}#{truth}#j#full"), rules)
        };
        use Claim::{Supported, Unsupported};
        let verified = (0..4).flat_map(|task| {
            let paper = if task < 3 { Unsupported } else { Supported };
            let hidden = if task == 0 { Unsupported } else { Supported };
            [claim(task, "correct", paper, Unsupported), claim(task, "buggy", hidden, Supported)]
        });
        (rows, verified.collect())
    }

    #[test]
    fn the_filter_s_table_is_that_counted_by_hand() {
        let (rows, verified) = invented();
        let tables = tables(&rows, &verified);
        let filter = tables.iter().find(|table| table.name == "filter").unwrap();
        let cells: Vec<[&str; 5]> = filter
            .rows
            .iter()
            .map(|row| {
                [&row[3][..], row[4].split(' ').next().unwrap(), row[5].split(' ').next().unwrap(), &row[6], &row[7]]
            })
            .collect();
        assert_eq!(
            cells,
            [
                ["none", "0.0", "100.0", "8", "0"],
                ["paper", "25.0", "25.0", "8", "4"],
                ["tests-only", "0.0", "0.0", "8", "4"],
            ]
        );
    }

    #[test]
    fn a_later_round_counts_and_the_formats_hold_what_needs_escaping() {
        let row = |round: u32, said: &str| {
            format!(
                r#"{{"task_id":"T","dataset":"d_1","variant":"v","truth":"correct","judge":"a|b","mode":"full","round":{round},"verdict":"{said}"}}"#
            )
        };
        let rows = read_rows(&format!("{}\n{}", row(1, "yes"), row(0, "no"))).unwrap();
        let rates = &tables(&rows, &BTreeMap::new())[0];
        assert_eq!(rates.rows[0][4].split(' ').next(), Some("0.0"));
        assert!(rates.markdown().contains("a\\|b") && rates.latex().contains("d\\_1"));
        assert!(rates.csv().lines().nth(1).unwrap().contains("\"0.0 [0.0, 79.3]\""), "{}", rates.csv());
        assert!(read_rows("\n{}").unwrap_err().starts_with("line 2: no judged row"));
    }
}
