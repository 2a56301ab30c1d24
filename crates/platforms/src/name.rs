//! How people name what a host has: by a sign between project and number, or by the address in a browser.

/// Project and number of a request: `PROJECT`, `sign`, N, or an address with `in_address` between the two, whatever follows the number.
pub(crate) fn split<'t>(text: &'t str, sign: char, in_address: &str) -> Option<(&'t str, u64)> {
    let (project, number) = match text.split_once("://") {
        Some((_, address)) => address.split_once('/')?.1.split_once(in_address)?,
        None => text.split_once(sign)?,
    };
    Some((project, number.split(['/', '#', '?']).next()?.parse().ok()?))
}

/// Whether one part of a path is called so: nothing in it means anything in an address.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.chars().all(is_plain) && !name.chars().all(|c| c == '.')
}
