//! Which comments are shown, as the query of an ordinary link: it can be shared, and needs no script.

use jiff::civil::Date;
use serde::Serialize;
use veridiff_serve::refusal::Refusal;

use super::{
    said::{Beside, Said, VERDICTS, verdict},
    when,
};

/// What comments without a verdict are called.
pub(super) const FAILED: &str = "failed";

/// What people may have said, with what a person reads.
pub(super) const LABELS: [(&str, &str); 4] =
    [("yes", "labelled"), ("no", "not labelled"), ("true", "called true"), ("false", "called false")];

/// What a verdict may be beside it.
pub(super) const BESIDE: [(&str, &str); 4] =
    [("no", "disagrees"), ("accused", "false accusation"), ("missed", "miss"), ("yes", "agrees")];

/// Which comments are shown. Where a field is empty it leaves nothing out.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Filter {
    pub verdict: String,
    pub repository: String,
    pub account: String,
    /// The first and the last day, in UTC.
    pub from: String,
    pub to: String,
    pub label: String,
    pub beside: String,
    #[serde(skip)]
    days: (Option<Date>, Option<Date>),
}

impl Filter {
    /// Reads the fields of a query; others are not looked at.
    ///
    /// # Errors
    /// [`Refusal::Shape`] for a value that a field cannot have.
    pub fn read(fields: &[(String, String)]) -> Result<Filter, Refusal> {
        let of = |name: &str| field(fields, name).to_owned();
        let day = |name: &str| match field(fields, name) {
            "" => Ok(None),
            text => when::read(text).map(Some).ok_or_else(|| wrong(name, "a day, such as 2026-11-23")),
        };
        let filter = Filter {
            verdict: of("verdict"),
            repository: of("repository"),
            account: of("account"),
            from: of("from"),
            to: of("to"),
            label: of("label"),
            beside: of("beside"),
            days: (day("from")?, day("to")?),
        };
        let is_one_of =
            |value: &str, known: &[(&str, &str)]| value.is_empty() || known.iter().any(|one| one.0 == value);
        if !(filter.verdict.is_empty() || filter.verdict == FAILED || verdict(&filter.verdict).is_some()) {
            let known: Vec<&str> = VERDICTS.iter().map(|verdict| verdict.name()).chain([FAILED]).collect();
            return Err(wrong("verdict", &format!("one of {}", known.join(", "))));
        }
        if !is_one_of(&filter.label, &LABELS) {
            return Err(wrong("label", "yes, no, true or false"));
        }
        if !is_one_of(&filter.beside, &BESIDE) {
            return Err(wrong("beside", "no, accused, missed or yes"));
        }
        Ok(filter)
    }

    /// Whether a comment is shown.
    pub fn has(&self, said: &Said) -> bool {
        let is = |wanted: &str, value: &str| wanted.is_empty() || wanted == value;
        let label = matches!(
            (self.label.as_str(), said.label),
            ("", _) | ("yes", Some(_)) | ("no", None) | ("true", Some((0, _))) | ("false", Some((1, _)))
        );
        let beside = match (self.beside.as_str(), said.beside()) {
            ("", _) => true,
            ("no", Some(beside)) => beside != Beside::Agrees,
            ("accused", beside) => beside == Some(Beside::FalseAccusation),
            ("missed", beside) => beside == Some(Beside::Miss),
            ("yes", beside) => beside == Some(Beside::Agrees),
            _ => false,
        };
        let (from, to) = self.days;
        let day = when::day(said.came.at);
        is(&self.verdict, said.verdict.map_or(FAILED, |verdict| verdict.name()))
            && is(&self.repository, &said.came.repository)
            && is(&self.account, &said.came.author)
            && from.is_none_or(|from| from <= day)
            && to.is_none_or(|to| day <= to)
            && label
            && beside
    }

    /// A link to a path with this filter and more fields, of which empty ones are left out.
    pub fn link(&self, path: &str, more: &[(&str, &str)]) -> String {
        let own = [
            ("verdict", &self.verdict),
            ("repository", &self.repository),
            ("account", &self.account),
            ("from", &self.from),
            ("to", &self.to),
            ("label", &self.label),
            ("beside", &self.beside),
        ];
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(more.iter().copied().chain(own).filter(|(_, value)| !value.is_empty()));
        let query = query.finish();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }

    /// Whether it leaves nothing out.
    pub fn is_empty(&self) -> bool {
        *self == Filter::default()
    }
}

/// The value of a field; empty where there is none.
pub(super) fn field<'f>(fields: &'f [(String, String)], name: &str) -> &'f str {
    fields.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
}

fn wrong(name: &str, expected: &str) -> Refusal {
    Refusal::Shape(format!("the field `{name}` is not {expected}"))
}

#[cfg(test)]
mod tests {
    use veridiff_facts::verdict::Verdict;

    use super::*;
    use crate::store::Came;

    fn read(query: &str) -> Result<Filter, Refusal> {
        let fields: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Filter::read(&fields)
    }

    fn said(verdict: Option<Verdict>, label: Option<u8>) -> Said {
        let came = Came {
            at: 1_795_622_400.0,
            platform: "github".to_owned(),
            repository: "a/b".to_owned(),
            number: 7,
            comment: "1".to_owned(),
            author: "bot".to_owned(),
            verdict: verdict.map(|verdict| verdict.name().to_owned()),
            p: None,
            unlike: None,
            feedback: Vec::new(),
        };
        Said { came, verdict, label: label.map(|label| (label, "page")) }
    }

    #[test]
    fn a_link_leads_to_the_same_comments() {
        let query = "account=a%26b%3D%3Cc%3E&from=2026-11-01&label=yes&beside=no&verdict=clear&other=1";
        let filter = read(query).unwrap();
        let link = filter.link("/", &[("page", "2"), ("last", "")]);
        assert!(link.starts_with("/?page=2&verdict=clear&account=a%26b%3D%3Cc%3E"), "{link}");
        assert_eq!(read(link.split_once('?').unwrap().1).unwrap(), filter);
        assert_eq!((read("").unwrap().link("/", &[]), read("").unwrap().is_empty()), ("/".to_owned(), true));
    }

    #[test]
    fn each_field_leaves_out_what_it_says() {
        use Verdict::{Abstain, Clear, Contradicted};
        let has = |query: &str, said: &Said| read(query).unwrap().has(said);
        for (query, verdict, label, expected) in [
            ("", None, None, true),
            ("verdict=failed", None, None, true),
            ("verdict=failed", Some(Clear), None, false),
            ("verdict=contradicted", Some(Contradicted), None, true),
            ("repository=a%2Fb&account=bot", Some(Clear), None, true),
            ("repository=a", Some(Clear), None, false),
            ("account=other", Some(Clear), None, false),
            ("from=2026-11-25&to=2026-11-25", Some(Clear), None, true),
            ("from=2026-11-26", Some(Clear), None, false),
            ("to=2026-11-24", Some(Clear), None, false),
            ("label=yes", Some(Clear), None, false),
            ("label=no", Some(Clear), None, true),
            ("label=true", Some(Clear), Some(0), true),
            ("label=false", Some(Clear), Some(0), false),
            ("beside=missed", Some(Clear), Some(1), true),
            ("beside=no", Some(Clear), Some(1), true),
            ("beside=accused", Some(Clear), Some(1), false),
            ("beside=accused", Some(Contradicted), Some(0), true),
            ("beside=yes", Some(Contradicted), Some(1), true),
            ("beside=no", Some(Abstain), Some(1), false),
            ("beside=no", Some(Contradicted), None, false),
        ] {
            assert_eq!(has(query, &said(verdict, label)), expected, "{query} {verdict:?} {label:?}");
        }
        for query in ["verdict=x", "label=maybe", "beside=x", "from=x", "to=2026-02-30"] {
            assert_eq!(read(query).unwrap_err().code(), "shape", "{query}");
        }
    }
}
