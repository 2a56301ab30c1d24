//! An error with its causes, as text.

use std::error::Error;

/// The error and its causes in one line, the outermost first, joined by `: `.
pub fn one_line(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_in_the_same_line() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot read `x`")]
        struct Outer(#[source] std::io::Error);
        assert_eq!(one_line(&Outer(std::io::Error::other("no disk"))), "cannot read `x`: no disk");
        assert_eq!(one_line(&std::io::Error::other("alone")), "alone");
    }
}
