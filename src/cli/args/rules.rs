//! Which rules are asked of a change, and which findings fail.

use std::str::FromStr;

use super::JUDGING;
use veridiff_facts::rules::{Choice, RULES, Ruling, is_called};
use veridiff_facts::{execution::VerdictFrom, finding::Finding, verdict::Verdict};
use veridiff_text::choice::did_you_mean;

/// Options that choose rules.
#[derive(Debug, Clone, clap::Args)]
pub struct RuleArgs {
    /// Ask only these rules of the change: codes (VD003), beginnings of codes or names (direction), with commas
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = rule, help_heading = JUDGING, hide_short_help = true)]
    select: Vec<String>,
    /// Leave these rules out
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = rule, help_heading = JUDGING, hide_short_help = true)]
    ignore: Vec<String>,
}

impl RuleArgs {
    /// The choice of rules.
    pub fn choice(&self) -> Choice {
        Choice { select: self.select.clone(), ignore: self.ignore.clone() }
    }
}

/// A name that stands for rules.
fn rule(name: &str) -> Result<String, String> {
    let name = name.trim();
    match Choice::new(vec![name.to_owned()], Vec::new()) {
        Ok(_) => Ok(name.to_owned()),
        Err(error) => {
            let guess = did_you_mean(name, RULES.iter().flat_map(|rule| [rule.code, rule.name]));
            Err(format!("{error}; {}", guess.unwrap_or_else(|| error.hint())))
        }
    }
}

/// From what on a text fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailOn {
    /// This verdict, or a worse one.
    Verdict(Verdict),
    /// A fact of one of these rules that does not hold.
    Rules(Vec<String>),
}

/// The verdicts that can fail.
const VERDICTS: [Verdict; 3] = [Verdict::Contradicted, Verdict::Unsupported, Verdict::Abstain];

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        for verdict in VERDICTS {
            if text == verdict.name() {
                return Ok(FailOn::Verdict(verdict));
            }
        }
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        match names.iter().find(|name| !RULES.iter().any(|rule| is_called(rule, name))) {
            None => Ok(FailOn::Rules(names)),
            Some(name) => {
                let known = VERDICTS.iter().map(|verdict| verdict.name());
                let known = known.chain(RULES.iter().flat_map(|rule| [rule.code, rule.name]));
                let guess = did_you_mean(name, known).map_or(String::new(), |guess| format!("; {guess}"));
                Err(format!(
                    "`{name}` is neither a verdict (contradicted, unsupported, abstain) nor a rule ({}){guess}",
                    RULES.iter().map(|rule| rule.code).collect::<Vec<_>>().join(", ")
                ))
            }
        }
    }
}

impl FailOn {
    /// Whether a finding fails.
    pub fn is_met(&self, finding: &Finding) -> bool {
        match self {
            FailOn::Verdict(limit) => finding.verdict >= Some(*limit),
            // what a run has taken back fails by no rule
            FailOn::Rules(_)
                if finding.verdict_from == Some(VerdictFrom::Execution)
                    && finding.verdict < Some(Verdict::Unsupported) =>
            {
                false
            }
            FailOn::Rules(names) => {
                let facts = finding.statements.iter().flat_map(|statement| &statement.facts);
                let mut broken = facts.filter(|fact| fact.ruling != Ruling::Holds);
                broken.any(|fact| {
                    let rule = RULES.iter().find(|rule| rule.code == fact.rule);
                    rule.is_some_and(|rule| names.iter().any(|name| is_called(rule, name)))
                })
            }
        }
    }
}
