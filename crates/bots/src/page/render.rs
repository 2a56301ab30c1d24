//! HTML of templates, in which every text is escaped, and the policy under which a page has its own style and scripts alone.

use std::sync::LazyLock;

use minijinja::{Environment, UndefinedBehavior, Value, context, value::Serde};
use serde::Serialize;
use veridiff_report::{
    findings::{TEXT_HTML, TEXT_SCRIPT, TEXT_STYLE},
    web::{BASE_SCRIPT, BASE_STYLE, escaped_json, policy, visible},
};
use veridiff_serve::{
    pages::{Ask, FORM_TOKEN, LOGIN, LOGOUT, Shown},
    refusal::Refusal,
};
use veridiff_text::chain::one_line;

use super::{AGAIN, FIGURES, JOBS, LABEL, LIST, filter::Filter};

const TEMPLATES: [(&str, &str); 8] = [
    ("frame.html", include_str!("templates/frame.html")),
    ("filters.html", include_str!("templates/filters.html")),
    ("list.html", include_str!("templates/list.html")),
    ("comment.html", include_str!("templates/comment.html")),
    ("jobs.html", include_str!("templates/jobs.html")),
    ("figures.html", include_str!("templates/figures.html")),
    ("chart.html", include_str!("templates/chart.html")),
    ("told.html", include_str!("templates/told.html")),
];

/// Before the page is drawn: the colours that were chosen last.
const FIRST_SCRIPT: &str = include_str!("templates/first.js");

/// What all pages have.
struct Kit {
    style: String,
    script: String,
    policy: String,
    environment: Environment<'static>,
}

static KIT: LazyLock<Kit> = LazyLock::new(|| {
    let style = [BASE_STYLE, TEXT_STYLE, include_str!("templates/page.css")].concat();
    let script = [BASE_SCRIPT, TEXT_SCRIPT, include_str!("templates/page.js")].concat();
    let policy = policy(&[&style], &[FIRST_SCRIPT, &script], "form-action 'self'");
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // characters that hide or turn the direction of writing are shown as escapes
    environment.add_filter("visible", |text: &str| visible(text).into_owned());
    environment.add_filter("exact", |text: &str| Value::from_safe_string(exact(text)));
    environment.add_filter("visible_lines", |text: &str| {
        let line = |line: &str| line.split('\t').map(|part| visible(part).into_owned()).collect::<Vec<_>>().join("\t");
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    });
    // JSON as it may stand in an element `script`
    environment.add_filter("json", |data: &str| Value::from_safe_string(escaped_json(data)));
    for (name, template) in TEMPLATES {
        // the name's ending turns escaping on
        environment.add_template(name, template).expect("a test renders every template");
    }
    Kit { style, script, policy, environment }
});

/// A text that stays as it is, in an attribute: what HTML reads, and what hides from a reader of the source, is written by number.
fn exact(text: &str) -> String {
    let is_plain = |c: char| c == ' ' || c.is_alphanumeric() || c.is_ascii_graphic() && !"<>&\"'".contains(c);
    text.chars().map(|c| if is_plain(c) { c.to_string() } else { format!("&#x{:x};", u32::from(c)) }).collect()
}

/// What stands around the content of a page.
#[derive(Debug, Serialize)]
pub(super) struct Frame<'a> {
    title: String,
    /// The paths of the other pages, their names, and whether this is that page.
    pages: Vec<(String, &'static str, bool)>,
    who: &'a str,
    is_logged_in: bool,
    form_token: &'a str,
}

impl<'a> Frame<'a> {
    /// For one who asks; other pages about comments have the same filter.
    pub fn of(ask: &Ask<'a>, title: &str, path: &str, filter: &Filter) -> Frame<'a> {
        let pages = [(LIST, "Comments"), (FIGURES, "Figures"), (JOBS, "Jobs")];
        let link = |place: &str| if place == JOBS { place.to_owned() } else { filter.link(place, &[]) };
        Frame {
            title: title.to_owned(),
            pages: pages.map(|(place, name)| (link(place), name, place == path)).into(),
            who: ask.who,
            is_logged_in: ask.is_logged_in,
            form_token: ask.form_token,
        }
    }
}

/// A page of a template.
pub(super) fn page(template: &str, data: &impl Serialize) -> Result<Shown, Refusal> {
    let Kit { style, script, policy, environment } = &*KIT;
    let rendered = environment.get_template(template).and_then(|template| {
        template.render(context! {
            style, script, first_script => FIRST_SCRIPT, text => TEXT_HTML, login => LOGIN, logout => LOGOUT, label => LABEL,
            again => AGAIN, token_field => FORM_TOKEN,
            page => Serde(data),
        })
    });
    match rendered {
        Ok(html) => Ok(Shown::Page { html, policy: policy.clone() }),
        Err(error) => {
            tracing::error!("a template fails: {}", one_line(&error));
            Err(Refusal::Fault)
        }
    }
}

/// A page for one who may see no other.
#[derive(Debug, Serialize)]
struct Told<'a> {
    frame: Option<Frame<'a>>,
    title: &'a str,
    says: Vec<String>,
    /// Where one goes on who logs in; none where that would not help.
    next: Option<&'a str>,
}

fn told(title: &str, says: Vec<String>, next: Option<&str>) -> Shown {
    let told = Told { frame: None, title, says, next };
    page("told.html", &told).unwrap_or_else(|_| Shown::Page { html: String::new(), policy: String::new() })
}

/// The page on which one logs in.
pub(super) fn login(next: &str, is_wrong: bool) -> Shown {
    let says = if is_wrong { vec!["This is no token of the service.".to_owned()] } else { Vec::new() };
    told("Log in", says, Some(next))
}

/// A page that says why something is refused.
pub(super) fn refused(refusal: &Refusal) -> Shown {
    // what programs can ask for helps no person
    let hint = refusal.hint().filter(|_| !matches!(refusal, Refusal::NotFound));
    told("That was refused", std::iter::once(one_line(refusal)).chain(hint).collect(), None)
}
