//! A page in one file that fetches nothing and runs no script but its own.
//!
//! What a page shows may be hostile. It is in the page as JSON in which every character that could end the element or hide from a
//! reader of the source is an escape; the script puts it into the document as text, never as markup; and the policy allows that one
//! script and that one style sheet, by their hashes, and nothing from elsewhere. Who makes pages of its own elsewhere takes the same
//! parts: style, script, policy and escapes.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::hidden::{self, is_hidden};

/// The style that all pages begin with.
pub const BASE_STYLE: &str = include_str!("base.css");

/// The script that all pages begin with. It reads the JSON of the element `data`, and has the button `theme` change the colours.
pub const BASE_SCRIPT: &str = include_str!("base.js");

/// What a page is made of beside its data. Style and script begin with what all pages share.
pub(crate) struct Page {
    /// The document, with `{{policy}}`, `{{title}}`, `{{style}}`, `{{text}}` if it has one, `{{data}}` and `{{script}}`.
    pub template: &'static str,
    /// The elements of one text, where the template has a place for them.
    pub text: &'static str,
    /// Its style sheet.
    pub style: &'static str,
    /// Its script, which reads the data from the element `data`.
    pub script: &'static str,
}

impl Page {
    /// The page, whole: no other file belongs to it.
    pub fn with(&self, title: &str, data: &impl Serialize) -> String {
        let policy = policy(&[self.style], &[self.script], "form-action 'none'");
        let data = serde_json::to_string(data).expect("numbers and strings always serialise");
        filled(
            self.template,
            &[
                ("policy", &policy),
                ("title", &escaped_html(title)),
                ("style", self.style),
                ("text", self.text),
                ("data", &escaped_json(&data)),
                ("script", self.script),
            ],
        )
    }
}

/// A content security policy under which a page has these style sheets and scripts, by the hashes of their text, pictures that stand in
/// it, and nothing from elsewhere; `more` is what else it says, such as where forms may go.
pub fn policy(styles: &[&str], scripts: &[&str], more: &str) -> String {
    let hashes = |texts: &[&str]| texts.iter().map(|text| format!(" '{}'", hash(text))).collect::<String>();
    format!(
        "default-src 'none'; script-src{}; style-src{}; img-src data:; base-uri 'none'; {more}",
        hashes(scripts),
        hashes(styles)
    )
}

/// The text with every character that hides, or moves its neighbours, as an escape.
pub fn visible(text: &str) -> Cow<'_, str> {
    hidden::visible(text)
}

/// As a content security policy names an element's text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// The template with each `{{name}}` replaced; what is put in is not looked at again.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut page = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        page.push_str(values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value));
        page.push_str(rest);
    }
    page
}

fn escaped_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// JSON that may stand in a `script` element: characters that HTML reads and characters that hide are escapes. They occur in
/// strings only, where an escape means the same.
pub fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        if matches!(c, '<' | '>' | '&') || (is_hidden(c) && !c.is_ascii()) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_data_can_end_its_element_or_hide() {
        let hostile = "</script><!--<b>&\u{2028}\u{202e}\u{200b}\u{e0041}é👩\u{200d}💻\u{1b}\"\\\u{9b}";
        let json = escaped_json(&serde_json::to_string(hostile).unwrap());
        assert!(!json.contains(['<', '>', '&']) && !json.contains(is_hidden), "{json}");
        assert!(
            json.contains("\\u202e") && json.contains("\\udb40\\udc41") && json.contains("é👩\u{200d}💻"),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile, "and it says the same");
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        assert_eq!(filled("a{{x}}b{{y}}{{none}}", &[("x", "{{y}}"), ("y", "Y")]), "a{{y}}bY");
    }

    #[test]
    fn a_page_brings_its_own_style_and_script_only() {
        for Page { template, style, script, .. } in [crate::explain::PAGE, crate::findings::PAGE] {
            let names: Vec<&str> = template.split("{{").skip(1).map(|part| part.split_once("}}").unwrap().0).collect();
            let own: Vec<&str> = names.into_iter().filter(|name| *name != "text").collect();
            assert_eq!(own, ["policy", "title", "style", "data", "script"]);
            for own in [style, script] {
                let takes = ["</", "http", "@import", "url("];
                assert!(!takes.iter().any(|word| own.contains(word)));
            }
            assert!(!script.contains("innerHTML") && !script.contains("insertAdjacent") && !script.contains("eval("));
            assert!(!template.contains("http:") && !template.contains("https:") && !template.contains("style=\""));
        }
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
