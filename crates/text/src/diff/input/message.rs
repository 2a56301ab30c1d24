//! A commit's message, out of what stands around its change.

use super::lines::{Envelope, is_summary, pattern};

/// The message in the lines before a change; blank if they hold none. `envelope` is what they begin with, if that is known.
pub(super) fn message(lines: &[&str], envelope: Option<Envelope>) -> String {
    let text = match envelope {
        Some(Envelope::Commit) => of_commit(lines),
        Some(Envelope::Mail) => of_mail(lines),
        Some(Envelope::Mercurial) => joined(lines.iter().filter(|line| !line.starts_with('#'))),
        Some(Envelope::Tag) => String::new(),
        None if is_mail(lines) => of_mail(lines),
        None => joined(lines.iter().filter(|line| !is_summary(line) && **line != "---")),
    };
    text.trim_matches('\n').trim_end().to_owned()
}

fn joined<'l>(lines: impl Iterator<Item = &'l &'l str>) -> String {
    lines.copied().collect::<Vec<_>>().join("\n")
}

/// The lines behind the first blank one that are indented by four blanks.
fn of_commit(lines: &[&str]) -> String {
    let body = lines.iter().skip_while(|line| !line.is_empty()).skip(1);
    let indented = body.map_while(|line| if line.is_empty() { Some("") } else { line.strip_prefix("    ") });
    indented.collect::<Vec<_>>().join("\n")
}

/// Whether the first lines are those of a mail: fields up to a blank line, with a subject among them.
pub(super) fn is_mail(lines: &[&str]) -> bool {
    let mut fields = lines.iter().take_while(|line| !line.is_empty());
    let is_field = |line: &&str| pattern!(r"^(?:[A-Z][\w-]*:|\s)").is_match(line);
    fields.clone().all(is_field) && fields.any(|line| line.starts_with("Subject:"))
}

/// The subject without `[PATCH 1/2]`, and the body up to `---`.
fn of_mail(lines: &[&str]) -> String {
    let (fields, body) = lines.split_at(lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len()));
    let mut subject = String::new();
    let mut fields = fields.iter().skip_while(|line| !line.starts_with("Subject:"));
    if let Some(first) = fields.next() {
        subject.push_str(first.trim_start_matches("Subject:").trim());
        for folded in fields.take_while(|line| line.starts_with([' ', '\t'])) {
            subject.push(' ');
            subject.push_str(folded.trim());
        }
    }
    let subject = pattern!(r"^(?:\[[^\]]*\]\s*)+").replace(&subject, "");
    let ends = |line: &&&str| **line != "---" && **line != "-- ";
    let body = joined(body.iter().take_while(ends).filter(|line| !is_summary(line)));
    format!("{subject}\n\n{}", body.trim_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, envelope: Option<Envelope>) -> String {
        message(&text.lines().collect::<Vec<_>>(), envelope)
    }

    #[test]
    fn each_kind_keeps_the_message_and_nothing_else() {
        let commit = "commit 0123456\nAuthor: A <a@b>\nDate:   Mon\n\n    Say it\n\n    - once\n      more\n---\n a | 2 +-\n 1 file changed\n\n";
        assert_eq!(of(commit, Some(Envelope::Commit)), "Say it\n\n- once\n  more");
        let mail = "From 01 Mon\nFrom: A <a@b>\nDate: Mon\nSubject: [PATCH v2 1/2] Say it\n twice\n\nBody\n\nMore\n---\n a | 2 +-\n\n";
        assert_eq!(of(mail, Some(Envelope::Mail)), "Say it twice\n\nBody\n\nMore");
        let bare_mail = mail.split_once('\n').unwrap().1;
        assert_eq!(of(bare_mail, None), "Say it twice\n\nBody\n\nMore");
        let hg = "# HG changeset patch\n# User A\nSay it\n\nBody\n";
        assert_eq!(of(hg, Some(Envelope::Mercurial)), "Say it\n\nBody");
        assert_eq!(of("0123abc Say it\n---\n a.c | 2 +-\n", None), "0123abc Say it");
        assert_eq!(of("tag v1\nTagger: A\n\nFirst\n", Some(Envelope::Tag)), "");
    }
}
