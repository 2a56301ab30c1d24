//! Pages as they are written, kept whole: a change of words is a change of those files.

use veridiff_report::pages::Book;

/// Whether Markdown, LaTeX and HTML of a page are those that are kept; the style of the page, which all pages share, left out.
#[track_caller]
pub fn are(name: &str, book: &Book) {
    let files = book.files().unwrap();
    for ending in ["md", "tex", "html"] {
        let is_it =
            |path: &std::path::Path| path.components().count() == 1 && path.extension().is_some_and(|e| e == ending);
        let file = files.iter().find(|file| is_it(&file.path)).unwrap_or_else(|| panic!("no {ending}"));
        let text = String::from_utf8(file.bytes.clone()).unwrap();
        let shown = match (text.find("<style"), text.find("</style>")) {
            (Some(start), Some(end)) => format!("{}{}", &text[..start], &text[end..]),
            _ => text,
        };
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("{name}_{ending}"), shown);
        });
    }
}
