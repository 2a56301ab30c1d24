//! Which rules are asked.

use super::{RULES, Rule};

/// Rules by code, by the beginning of a code, or by name; all of them by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Only these; all where it is empty.
    pub select: Vec<String>,
    /// None of these.
    pub ignore: Vec<String>,
}

/// A name that no rule has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no rule is called `{name}`")]
pub struct UnknownRule {
    /// As it was given.
    pub name: String,
}

impl UnknownRule {
    /// The rules there are.
    pub fn hint(&self) -> String {
        let all: Vec<String> = RULES.iter().map(|rule| format!("{} ({})", rule.code, rule.name)).collect();
        format!("rules: {}; the beginning of a code stands for all that begin with it", all.join(", "))
    }
}

/// Whether a rule is meant by a code, the beginning of one, or a name.
pub fn is_called(rule: &Rule, name: &str) -> bool {
    (name.len() >= 2 && rule.code.to_lowercase().starts_with(&name.to_lowercase())) || rule.name == name
}

impl Choice {
    /// A choice by lists of codes and names.
    ///
    /// # Errors
    /// [`UnknownRule`] for the first name that stands for no rule.
    pub fn new(select: Vec<String>, ignore: Vec<String>) -> Result<Self, UnknownRule> {
        let is_unknown = |name: &&String| !RULES.iter().any(|rule| is_called(rule, name));
        match select.iter().chain(&ignore).find(is_unknown) {
            Some(name) => Err(UnknownRule { name: name.clone() }),
            None => Ok(Choice { select, ignore }),
        }
    }

    /// Whether a rule is asked.
    pub fn has(&self, rule: &Rule) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| is_called(rule, name));
        (self.select.is_empty() || is_in(&self.select)) && !is_in(&self.ignore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_chosen_by_code_and_name() {
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let chosen = |select: &[&str], ignore: &[&str]| -> Vec<&str> {
            let choice = Choice::new(of(select), of(ignore)).unwrap();
            RULES.iter().filter(|rule| choice.has(rule)).map(|rule| rule.code).collect()
        };
        assert_eq!(chosen(&[], &[]).len(), RULES.len());
        assert_eq!(chosen(&["VD003", "absent-number"], &[]), ["VD002", "VD003"]);
        assert_eq!(chosen(&["vd00"], &["VD001"])[0], "VD002");
        assert_eq!(Choice::new(of(&["VD9"]), Vec::new()).unwrap_err().name, "VD9");
        assert!(Choice::new(of(&["V"]), Vec::new()).is_err(), "too short to mean something");
    }
}
