//! A clause as the patterns of rules read it: its prose in lower case, what it names as `@0`, `@1`, ….

use std::ops::Range;

use crate::mention::Mention;

/// A part of a statement, ready for patterns.
#[derive(Debug, Clone)]
pub struct Clause<'t> {
    /// The whole text.
    pub text: &'t str,
    /// Its bytes in the text.
    pub span: Range<usize>,
    /// What it names.
    pub mentions: Vec<Mention>,
    /// The prose with single blanks, in lower case; a mention is `@` and its number.
    pub skeleton: String,
    /// For each byte of the skeleton at which something begins, the byte of the text.
    origins: Vec<(usize, usize)>,
}

impl<'t> Clause<'t> {
    /// A part of a text with those of its mentions that stand in it.
    pub fn new(text: &'t str, span: Range<usize>, all: &[Mention]) -> Self {
        let inside = all.iter().filter(|m| span.start <= m.outer.start && m.outer.end <= span.end);
        let mentions: Vec<Mention> = inside.cloned().collect();
        let (mut skeleton, mut origins) = (String::new(), Vec::new());
        let mut at = span.start;
        let mut next = mentions.iter().enumerate().peekable();
        while at < span.end {
            if let Some((number, mention)) = next.next_if(|(_, mention)| mention.outer.start <= at) {
                origins.push((skeleton.len(), mention.outer.start));
                skeleton.push('@');
                skeleton.push_str(&number.to_string());
                // `foo()` and what hangs on a name, so that it stays one word
                at = mention.outer.end.max(at);
                continue;
            }
            let Some(c) = text[at..].chars().next() else { break };
            origins.push((skeleton.len(), at));
            match c {
                '’' | '‘' => skeleton.push('\''),
                // what a user writes is no placeholder: the version of `vue@2` is no third thing that is named
                '@' => skeleton.push('＠'),
                '*' => {}
                _ if c.is_whitespace() => {
                    if !skeleton.ends_with(' ') && !skeleton.is_empty() {
                        skeleton.push(' ');
                    }
                }
                _ => skeleton.extend(c.to_lowercase()),
            }
            at += c.len_utf8();
        }
        Clause { text, span, mentions, skeleton, origins }
    }

    /// The bytes of the text behind some bytes of the skeleton.
    pub fn origin(&self, part: Range<usize>) -> Range<usize> {
        let at = |byte: usize| {
            let behind = self.origins.partition_point(|(skeleton, _)| *skeleton <= byte);
            behind.checked_sub(1).map_or(self.span.start, |index| self.origins[index].1)
        };
        let start = at(part.start);
        // the end is that of the last thing inside
        let last = at(part.end.saturating_sub(1).max(part.start));
        let end = self.mentions.iter().find(|m| m.outer.start == last).map_or_else(
            || last + self.text[last..].chars().next().map_or(0, char::len_utf8),
            |mention| mention.outer.end,
        );
        start..end.max(start)
    }

    /// The mention that `@N` stands for.
    pub fn mention(&self, placeholder: &str) -> Option<&Mention> {
        self.mentions.get(placeholder.trim_start_matches('@').parse::<usize>().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::mentions;

    #[test]
    fn an_at_of_the_text_is_no_placeholder() {
        let text = "Pin it @0 like a@1, not `b`";
        let all: Vec<Mention> =
            mentions(text, 0..text.len()).into_iter().filter(|mention| mention.code == "b").collect();
        let clause = Clause::new(text, 0..text.len(), &all);
        assert_eq!(clause.skeleton.matches('@').count(), 1, "{}", clause.skeleton);
        let at = clause.skeleton.find('＠').unwrap();
        assert_eq!(&text[clause.origin(at..at + '＠'.len_utf8())], "@");
    }

    #[test]
    fn a_skeleton_leads_back_to_the_text() {
        let text = "So:  **Adds** `max_size`\nto `Cache.get()` – not `ü`.";
        let all = mentions(text, 0..text.len());
        let clause = Clause::new(text, 0..text.len(), &all);
        assert_eq!(clause.skeleton, "so: adds @0 to @1 – not @2.");
        let part = clause.skeleton.find("adds @0").map(|at| at..at + 7).unwrap();
        assert_eq!(&text[clause.origin(part)], "Adds** `max_size`");
        let last = clause.skeleton.find("@2").map(|at| at..at + 2).unwrap();
        assert_eq!(&text[clause.origin(last)], "`ü`");
        assert_eq!(clause.mention("@1").unwrap().code, "Cache.get");
        assert!(clause.mention("@7").is_none());
    }
}
